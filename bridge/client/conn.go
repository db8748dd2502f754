package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// ErrClosed says that the host is gone, or that the client was closed.
var ErrClosed = errors.New("the bridge is closed")

const (
	// writeWait bounds one frame to a host that does not read.
	writeWait = 10 * time.Second
	// lastWord is how long a call that was cancelled waits for what became of it.
	lastWord = time.Second
	// closingWait is how long a reader has to come to the end of a stream that is closed.
	closingWait = 200 * time.Millisecond
	// keptBuffer is how large a frame the connection keeps the memory of, in bytes.
	keptBuffer = 64 << 10
)

// conn carries concurrent calls over one stream.
type conn struct {
	f     *os.File
	fd    int    // the inherited descriptor, 0: none
	name  string // of this connection, in its ids
	event func(*wire.Message)

	writing sync.Mutex
	out     []byte // under writing

	mu      sync.Mutex
	next    uint64
	waiting map[string]chan answer
	err     error         // why it is closed; set before done is closed
	done    chan struct{} // no answer comes any more
}

// answer is what the host said about one call.
type answer struct {
	result *strictjson.Value
	err    *wire.Error
}

// newConn starts to read. On a stream that others used before, what is left of their
// frames is not for us: ids begin with a name that is new for every connection.
func newConn(f *os.File, fd int, event func(*wire.Message)) *conn {
	c := &conn{f: f, fd: fd, name: newName(), event: event, waiting: map[string]chan answer{}, done: make(chan struct{})}
	go c.read()
	return c
}

// call asks once. The error is a *wire.Error of the host's, [ErrClosed] with its reason,
// or the context's.
func (c *conn) call(ctx context.Context, method string, params *strictjson.Value) (*strictjson.Value, error) {
	if ctx.Err() != nil { // what is not sent has no effect
		return nil, context.Cause(ctx)
	}
	id, ch, err := c.register()
	if err != nil {
		return nil, err
	}
	defer c.forget(id)
	if err := c.write(&wire.Message{Kind: wire.Request, ID: id, Method: method, Params: params}); err != nil {
		return nil, err
	}
	select {
	case a := <-ch:
		return a.both()
	case <-c.done:
		return c.last(ch)
	case <-ctx.Done():
	}
	return c.cancelled(ctx, id, ch)
}

// cancelled tells the host, and gives it a moment to say what became of the call: it may
// have happened.
func (c *conn) cancelled(ctx context.Context, id string, ch <-chan answer) (*strictjson.Value, error) {
	params := strictjson.Object(strictjson.Pair("id", strictjson.Text(id)))
	if err := c.write(&wire.Message{Kind: wire.Notification, Method: wire.MethodCancel, Params: &params}); err != nil {
		return nil, context.Cause(ctx)
	}
	end := time.NewTimer(lastWord)
	defer end.Stop()
	select {
	case a := <-ch:
		if a.err != nil && a.err.Code == wire.CodeCancelled {
			return nil, context.Cause(ctx)
		}
		return a.both()
	case <-c.done:
	case <-end.C:
	}
	return nil, context.Cause(ctx)
}

func (a answer) both() (*strictjson.Value, error) {
	if a.err != nil {
		return nil, a.err
	}
	return a.result, nil
}

// last takes an answer that came just before the end.
func (c *conn) last(ch <-chan answer) (*strictjson.Value, error) {
	select {
	case a := <-ch:
		return a.both()
	default:
		return nil, c.reason()
	}
}

func (c *conn) register() (string, chan answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return "", nil, c.err
	}
	c.next++
	id := c.name + "-" + strconv.FormatUint(c.next, 36)
	ch := make(chan answer, 1)
	c.waiting[id] = ch
	return id, ch, nil
}

func (c *conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// write sends one frame. A frame that was sent in part ends the connection.
func (c *conn) write(m *wire.Message) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.out = m.Append(c.out[:0])
	if len(c.out) > wire.MaxFrame {
		c.out = nil
		return &wire.Error{Code: wire.CodeFrameTooLarge, Message: fmt.Sprintf("a call has at most %d bytes", wire.MaxFrame)}
	}
	return c.send(c.out)
}

// feed ends a frame that somebody else may have begun. An empty line is nothing.
func (c *conn) feed() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.send([]byte("\n"))
}

// send writes bytes; the caller has the lock.
func (c *conn) send(b []byte) error {
	err := c.f.SetWriteDeadline(time.Now().Add(writeWait))
	if err == nil {
		_, err = c.f.Write(b)
	}
	if cap(c.out) > keptBuffer {
		c.out = nil
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EPIPE) {
		// The host has closed. If it said why, that is still to be read.
		select {
		case <-c.done:
		case <-time.After(closingWait):
		}
	}
	c.close(err)
	return c.reason()
}

// read gives answers to those who wait, until the stream ends.
func (c *conn) read() {
	r := wire.NewReader(c.f, wire.ReaderOptions{})
	for {
		line, err := r.Next()
		if err == nil {
			err = c.take(line)
		}
		if err != nil && (c.fd == 0 || !wire.Recoverable(err)) {
			c.close(err)
			return
		}
	}
}

// take reads one frame. The error ends the connection. On a descriptor that others used
// before, what cannot be read is the rest of an answer to one that ended: the next line is
// whole.
func (c *conn) take(line []byte) error {
	m, err := wire.DecodeReply(line)
	switch {
	case m.ID != "" && err != nil:
		c.deliver(m.ID, answer{err: &wire.Error{Code: wire.CodeInternal, Message: "the host's answer cannot be read"}})
	case m.ID != "":
		c.deliver(m.ID, answer{result: m.Result, err: m.Err})
	case c.fd > 0 && (err != nil || m.Kind == wire.Failure):
	case err != nil:
		return fmt.Errorf("the host's frame: %w", err)
	case m.Kind == wire.Failure:
		return m.Err // it could not read what we sent, or ends the connection
	case c.event != nil:
		c.event(&m)
	}
	return nil
}

// deliver drops the answer to a call that nobody waits for.
func (c *conn) deliver(id string, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.waiting[id]; ch != nil {
		delete(c.waiting, id)
		ch <- a
	}
}

func (c *conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// close ends the connection once; the first reason stays.
func (c *conn) close(why error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = ErrClosed
		if why != nil && !errors.Is(why, ErrClosed) {
			c.err = fmt.Errorf("%w: %w", ErrClosed, why)
		}
	}
	c.mu.Unlock()
	if !first {
		return
	}
	_ = c.f.Close()
	if c.fd > 0 {
		releaseFD(c.fd)
	}
	close(c.done)
}
