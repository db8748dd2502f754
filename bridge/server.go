package bridge

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"brainbox/bridge/tool"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// Why a call's context ends; see [context.Cause].
var (
	errGone      = errors.New("bridge: the caller is gone")
	errCancelled = errors.New("bridge: cancelled by the caller")
	errShutdown  = errors.New("bridge: shutting down")
)

// Server answers for one session. All methods may be called by several goroutines.
type Server struct {
	c       Config
	l       Limits
	log     *slog.Logger
	tools   map[string]tool.Tool
	replays replays
	heavy   chan struct{} // large frames are decoded two at a time
	alone   chan struct{} // the lock of hosts that have none

	wg sync.WaitGroup // connections; added to under mu while closing is false

	mu        sync.Mutex
	closing   bool
	listeners map[net.Listener]bool
	conns     map[*conn]bool
	agents    int
	uis       int           // that have proved it
	unproved  []*conn       // user interfaces that have not, the oldest first
	lanes     []*lane       // of agents that may still come
	flights   int           // of all
	places    int           // of them, those of agents
	weight    int64         // of these
	quiet     chan struct{} // closed when closing and nothing is in flight; nil: not closing

	halted atomic.Bool
}

// Halt has every later call refused, for as long as the server lives: for hosts that cannot
// write down what is done. Calls that are being carried out end as they do.
func (s *Server) Halt() { s.halted.Store(true) }

// New makes a server.
func New(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	tools, err := c.table()
	if err != nil {
		return nil, err
	}
	s := &Server{
		c: c, l: c.Limits.fill(), log: c.Log, tools: tools, heavy: make(chan struct{}, 2), alone: make(chan struct{}, 1),
		listeners: map[net.Listener]bool{}, conns: map[*conn]bool{},
	}
	s.replays.most = s.l.Replays
	for range s.l.AgentConns {
		s.lanes = append(s.lanes, newLane(&s.l))
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// ErrClosed is what serving returns once the server shuts down.
var ErrClosed = errors.New("bridge: closed")

// ServeAgent accepts agents until ctx ends, which ends their connections too, or the
// server shuts down: then the error is ErrClosed. It closes l.
func (s *Server) ServeAgent(ctx context.Context, l net.Listener) error {
	return s.accept(ctx, l, wire.Agent)
}

// ServeUI is [Server.ServeAgent] for user interfaces.
func (s *Server) ServeUI(ctx context.Context, l net.Listener) error {
	if s.c.Key == (wire.Key{}) {
		return errors.Join(errors.New("bridge: no key for user interfaces"), l.Close())
	}
	return s.accept(ctx, l, wire.UI)
}

// ServeConn serves one agent at a connection that it was given, such as one end of a
// socketpair: who holds the other end has it from the caller, so that no peer is judged.
// It returns when the connection is over, and closes it.
//
// Programs of the sandbox use it one after the other (package bridge/client), whenever they
// come: hello has no time, and each of them says it.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn) error {
	c := s.newConn(ctx, nc, wire.Agent, Peer{PIDFD: -1})
	c.inherited = true
	if err := s.admit(c); err != nil {
		s.turnAway(nc, err)
		return err
	}
	c.serve()
	return nil
}

func (s *Server) accept(ctx context.Context, l net.Listener, role wire.Role) error {
	if !s.listen(l) {
		return errors.Join(ErrClosed, l.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			s.take(ctx, nc, role)
		case ctx.Err() != nil:
			s.forget(l)
			return ctx.Err()
		case errors.Is(err, net.ErrClosed):
			s.forget(l)
			return ErrClosed
		default: // out of descriptors: those who are served go on
			s.log.Warn("accept failed", "role", role.String(), "error", err)
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}

func (s *Server) listen(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.listeners[l] = true
	}
	return !s.closing
}

func (s *Server) forget(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

// take judges who came, and serves it.
func (s *Server) take(ctx context.Context, nc net.Conn, role wire.Role) {
	peer, err := s.judge(nc, role)
	if err != nil {
		s.log.Warn("peer refused", "role", role.String(), "pid", peer.PID, "uid", peer.UID, "reason", strictjson.Escape(err.Error()))
		_ = nc.Close()
		return
	}
	c := s.newConn(ctx, nc, role, peer)
	if err := s.admit(c); err != nil {
		s.turnAway(nc, err)
		return
	}
	s.log.Info("connected", "role", role.String(), "pid", peer.PID, "uid", peer.UID)
	go c.serve()
}

// judge tells who a peer is, and refuses one that may not come.
func (s *Server) judge(nc net.Conn, role wire.Role) (Peer, error) {
	none := Peer{PIDFD: -1}
	unixConn, ok := nc.(*net.UnixConn)
	if !ok {
		return none, errors.New("not a Unix socket")
	}
	peer, err := peerOf(unixConn)
	if err != nil {
		return none, err
	}
	defer peer.close()
	if !s.c.uidAllowed(role, peer.UID) {
		err = errors.New("another user")
	} else if role == wire.UI && s.c.RefuseUI != nil {
		err = s.c.RefuseUI(peer)
	}
	peer.close()
	return peer, err
}

// admit counts a connection, or says why it cannot be served.
func (s *Server) admit(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return &wire.Error{Code: wire.CodeShuttingDown, Message: "the session is over"}
	case c.role == wire.UI:
		s.knock(c)
	case s.agents >= s.l.AgentConns:
		return errTooMany
	default:
		s.agents++
		c.lane, s.lanes = s.lanes[0], s.lanes[1:]
	}
	s.conns[c] = true
	s.wg.Add(1)
	return nil
}

// turnAway tells a connection why it is closed at once. What a new one is sent fits into
// its buffer.
func (s *Server) turnAway(nc net.Conn, err error) {
	m := wire.Message{Kind: wire.Failure, Err: wire.Refusal(err)}
	_ = nc.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = nc.Write(m.Append(nil))
	_ = nc.Close()
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if c.role == wire.UI {
		s.unlist(c)
	} else {
		s.agents--
		s.lanes = append(s.lanes, c.lane)
	}
	s.wg.Done()
}

// enter counts a call, or says why it cannot be made now. The bounds are for agents: who
// fills them must not keep an operator from an answer, whose calls take no time.
func (s *Server) enter(role wire.Role, weight int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return &wire.Error{Code: wire.CodeShuttingDown, Message: "the session is over"}
	case role == wire.UI:
		s.flights++
		return nil
	case s.places >= s.l.InFlightTotal || s.weight+weight > s.l.InFlightBytes:
		return &wire.Error{Code: wire.CodeOverloaded, Message: "too many calls are in flight"}
	}
	s.flights, s.places, s.weight = s.flights+1, s.places+1, s.weight+weight
	return nil
}

func (s *Server) exit(role wire.Role, weight int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flights--
	if role != wire.UI {
		s.places, s.weight = s.places-1, s.weight-weight
	}
	if s.quiet != nil && s.flights == 0 {
		close(s.quiet)
		s.quiet = nil
	}
}
