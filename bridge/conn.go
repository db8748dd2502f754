package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"brainbox/bridge/wire"
	"brainbox/gate/prompt"
	"brainbox/internal/strictjson"
)

// flush is how long a connection that is being closed has to read its last answers.
const flush = time.Second

// largeFrame is from how many bytes on a frame is decoded with few others at a time.
const largeFrame = 64 << 10

// conn is one connection. Its reader's goroutine serves it.
type conn struct {
	s    *Server
	nc   net.Conn
	role wire.Role
	peer Peer
	r    *wire.Reader
	out  *outbox

	ctx    context.Context // of its calls
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // calls, and the stream of events

	proved    bool // a user interface that has; under the server's lock
	inherited bool // several programs have it, one after the other

	// of the reader's goroutine
	greeted   bool
	nonce     [wire.NonceSize]byte
	forbidden int
	lane      *lane // since it was admitted

	mu         sync.Mutex
	client     string
	flights    map[string]*flight
	subscribed bool
	detached   bool // the connection is over
	attachment *prompt.Attachment
}

// flight is one call in flight.
type flight struct {
	cancel context.CancelCauseFunc
	weight int64
}

func (s *Server) newConn(ctx context.Context, nc net.Conn, role wire.Role, peer Peer) *conn {
	c := &conn{
		s: s, nc: nc, role: role, peer: peer, out: newOutbox(&s.l), flights: map[string]*flight{},
		r: wire.NewReader(nc, wire.ReaderOptions{Frame: s.l.Frame, Idle: s.l.FrameIdle}),
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	return c
}

// serve serves the connection until it is over, with all that it began.
func (c *conn) serve() {
	defer c.s.leave(c)
	defer context.AfterFunc(c.ctx, c.closeRead)()
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write()
	}()
	if c.loop() {
		_ = c.nc.SetWriteDeadline(time.Now().Add(flush))
		c.out.close()
	} else if context.Cause(c.ctx) != nil { // ended by us: its calls still answer
		c.ended()
	} else {
		c.out.drop()
	}
	c.cancel(errGone)
	select {
	case <-written:
	case <-time.After(flush):
	}
	_ = c.nc.Close()
	<-written
	c.detach()
	c.wg.Wait()
}

// closeRead ends the reader, for good on a Unix socket. What is to be written still is.
func (c *conn) closeRead() {
	if half, ok := c.nc.(interface{ CloseRead() error }); ok {
		_ = half.CloseRead()
		return
	}
	_ = c.nc.SetReadDeadline(time.Unix(1, 0))
}

// ended waits until the calls whose context ended have answered, and lets their answers
// be written.
func (c *conn) ended() {
	answered := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(flush):
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(flush))
	c.out.close()
}

// write writes what waits, until the end or an error.
func (c *conn) write() {
	for {
		frame, ok := c.out.take()
		if !ok {
			return
		}
		if c.role == wire.Agent && c.ctx.Err() == nil {
			_ = c.nc.SetWriteDeadline(time.Now().Add(c.s.l.WriteStall))
		}
		if _, err := c.nc.Write(frame); err != nil {
			c.out.drop()
			_ = c.nc.Close() // ends the reader
			return
		}
	}
}

// loop reads until the connection is over, and reports whether what is queued is still
// to be written.
func (c *conn) loop() (last bool) {
	if c.role == wire.UI {
		_, _ = rand.Read(c.nonce[:]) // never fails
		c.send(wire.Nonce(c.nonce, time.Now()))
	}
	if !c.inherited {
		c.r.Until(time.Now().Add(c.s.l.Hello))
	}
	// What a peer does not read keeps it from sending more: only answers of calls that are
	// in flight come on top.
	for c.out.wait(c.ctx, c.s.l.QueueFrames) && c.ctx.Err() == nil {
		line, err := c.r.Next()
		if err != nil && !wire.Recoverable(err) {
			return c.over(err)
		}
		var m wire.Message
		var weight int64
		if err == nil {
			m, weight, err = c.s.decode(line)
		}
		c.lane.pace.wait(c.ctx, weight)
		if err != nil {
			if !c.fail(m.ID, wire.Refusal(err)) {
				return false
			}
			continue
		}
		if more, last := c.handle(&m, weight); !more {
			return last
		}
	}
	return false
}

// over tells the end of a stream.
func (c *conn) over(err error) (last bool) {
	if c.ctx.Err() != nil || errors.Is(err, io.EOF) {
		return false
	}
	c.s.log.Info("connection closed", "role", c.role.String(), "pid", c.peer.PID, "reason", strictjson.Escape(err.Error()))
	if errors.Is(err, wire.ErrTooLarge) {
		return c.fail("", wire.Refusal(err))
	}
	return false
}

// decode reads a message. Its weight is about what it takes in memory: a value is much
// larger than its text. A mark may as well stand in a text; more values than are read
// there are not.
func (s *Server) decode(line []byte) (wire.Message, int64, error) {
	const perValue = 128
	values := 0
	for _, mark := range []string{",", "[", "{"} {
		values += bytes.Count(line, []byte(mark))
	}
	weight := int64(len(line)) + perValue*int64(min(values, strictjson.DefaultValues))
	if len(line) > largeFrame {
		s.heavy <- struct{}{}
		defer func() { <-s.heavy }()
	}
	m, err := wire.DecodeRequest(line)
	return m, weight, err
}

// send queues a message. false is the end of the connection: the peer does not read.
func (c *conn) send(m *wire.Message) bool { return c.queue(m.Append(nil)) }

func (c *conn) queue(frame []byte) bool {
	if c.out.put(frame) {
		return true
	}
	c.out.mu.Lock()
	closed := c.out.closed
	c.out.mu.Unlock()
	if !closed {
		c.s.log.Warn("slow reader closed", "role", c.role.String(), "pid", c.peer.PID)
		c.out.drop()
		c.cancel(errGone)
		_ = c.nc.Close()
	}
	return false
}

func (c *conn) fail(id string, e *wire.Error) bool {
	return c.send(&wire.Message{Kind: wire.Failure, ID: id, Err: e})
}

func (c *conn) answer(id string, v *strictjson.Value) bool {
	return c.send(&wire.Message{Kind: wire.Result, ID: id, Result: v})
}

// handle deals with one message. more is whether to go on, last whether what is queued
// is to be written otherwise.
func (c *conn) handle(m *wire.Message, weight int64) (more, last bool) {
	if !c.greeted || c.inherited && m.Method == wire.MethodHello {
		return c.hello(m)
	}
	known, allowed := wire.Allowed(m.Method, c.role)
	switch {
	case !known:
		return c.fail(m.ID, &wire.Error{Code: wire.CodeMethodUnknown, Message: "there is no such method"}), false
	case !allowed:
		c.forbidden++
		ok := c.fail(m.ID, &wire.Error{Code: wire.CodeRoleForbidden, Message: "a method of the other role"})
		return ok && c.forbidden < c.s.l.Forbidden, ok
	case m.Method == wire.MethodHello:
		return c.fail(m.ID, &wire.Error{Code: wire.CodeFieldInvalid, Message: "hello was said"}), false
	case m.Method == wire.MethodPing:
		return c.ping(m), false
	case m.Method == wire.MethodCancel:
		return c.cancelCall(m), false
	}
	if e := c.start(m, weight); e != nil {
		return c.fail(m.ID, wire.Refusal(e)), false
	}
	return true, false
}
