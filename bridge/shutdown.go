package bridge

import (
	"context"
	"errors"
	"time"
)

// Shutdown ends the session (section E.8): new calls are refused, pending prompts are
// settled as nobody's answer, calls in flight get [Limits.Grace], then their contexts end.
// It closes the broker and ends the gate. It returns when all connections are gone, or
// when ctx ends: then with its error, and what still runs is told to stop.
func (s *Server) Shutdown(ctx context.Context) error {
	quiet := s.close()
	if s.c.Broker != nil {
		s.c.Broker.Close()
	}
	s.c.Gate.End()
	grace := time.NewTimer(s.l.Grace)
	defer grace.Stop()
	select {
	case <-quiet:
	case <-grace.C:
	case <-ctx.Done():
	}
	for _, c := range s.all() {
		c.cancel(errShutdown)
	}
	gone := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close is [Server.Shutdown] without any grace.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// close refuses what comes from now on, and returns what is closed once nothing is in
// flight.
func (s *Server) close() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for l := range s.listeners {
		_ = l.Close()
	}
	clear(s.listeners)
	quiet := make(chan struct{})
	if s.flights == 0 || s.quiet != nil { // a second call waits for its context only
		if s.flights == 0 {
			close(quiet)
		}
		return quiet
	}
	s.quiet = quiet
	return quiet
}

func (s *Server) all() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		out = append(out, c)
	}
	return out
}
