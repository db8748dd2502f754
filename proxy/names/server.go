package names

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"brainbox/proxy/pipe"
)

const (
	// workers read the resolver's datagrams. As many questions are answered at a time; the
	// next ones wait in the socket's buffer, which the kernel bounds, and drops.
	workers = 8
	// longest is the longest question that is read, in bytes. One name with EDNS needs under
	// 400.
	longest = 4096
	// patience bounds how long a client of the resolver by TCP may be idle, or take for one
	// question or one answer (RFC 7766, section 6.2.3, asks for a few seconds).
	patience = 10 * time.Second
	// pause is waited after a read that failed for a passing reason.
	pause = 10 * time.Millisecond
)

// Server is the resolver and the listeners of one run.
type Server struct {
	config  Config
	table   *table
	running sync.WaitGroup
}

// New returns a server that listens nowhere yet.
func New(config Config) (*Server, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	config.Limits = config.Limits.filled()
	return &Server{config: config, table: newTable(config.Limits, config.Rules.Literals())}, nil
}

// Serve answers questions on udp and on what tcp accepts until ctx ends, or one of the two
// fails. It closes both, and every listener, and returns when all that it started has ended,
// calls of Carry included; they are given a context that ends as well. The error is nil if ctx
// has ended. Serve is called once.
func (s *Server) Serve(ctx context.Context, udp net.PacketConn, tcp net.Listener) error {
	inner, cancel := context.WithCancelCause(ctx)
	for range workers {
		s.running.Go(func() { cancel(s.datagrams(inner, udp)) })
	}
	s.running.Go(func() { cancel(s.streams(inner, tcp)) })
	<-inner.Done()
	_ = udp.Close() // wakes who reads
	_ = tcp.Close()
	s.table.close()
	s.running.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("names: %w", context.Cause(inner))
}

// datagrams answers questions of one socket, one after the other.
func (s *Server) datagrams(ctx context.Context, udp net.PacketConn) error {
	buffer := make([]byte, longest)
	for {
		n, from, err := udp.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil {
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if packed := s.answer(ctx, buffer[:n]); packed != nil {
			_, _ = udp.WriteTo(packed, from) // who asked has gone, or asks again
		}
	}
}

// streams accepts clients by TCP. Who comes when there are as many as may be waits in the
// listener's queue.
func (s *Server) streams(ctx context.Context, tcp net.Listener) error {
	places := make(chan struct{}, s.config.Limits.Clients)
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		conn, err := pipe.Accept(ctx, tcp)
		if err != nil {
			return err
		}
		s.running.Go(func() {
			defer func() { <-places }()
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			defer conn.Close()
			s.stream(ctx, conn)
		})
	}
}

// stream answers the questions of one client in their order, each with its length in front
// (RFC 1035, section 4.2.2). An error ends it: nobody is left to be told.
func (s *Server) stream(ctx context.Context, conn net.Conn) {
	buffer := make([]byte, longest)
	for conn.SetDeadline(time.Now().Add(patience)) == nil {
		if _, err := io.ReadFull(conn, buffer[:2]); err != nil {
			return
		}
		length := int(binary.BigEndian.Uint16(buffer))
		if length > len(buffer) {
			return
		}
		if _, err := io.ReadFull(conn, buffer[:length]); err != nil {
			return
		}
		packed := s.answer(ctx, buffer[:length])
		if packed == nil {
			return
		}
		framed := append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)
		if _, err := conn.Write(framed); err != nil {
			return
		}
	}
}
