package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"brainbox/bridge/wire"
)

// Client is a connection to a bridge, for any number of goroutines.
type Client struct {
	conn    *conn
	welcome wire.Welcome
	session string
}

// Open connects and says hello. A host that has no place left is asked again until
// [Options.Wait] is over: nothing was called yet. Where there is no bridge, or it is gone,
// the error is for [Unavailable] to put into words; nothing is ever done here instead of
// there.
func Open(ctx context.Context, o Options) (*Client, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(o.Wait)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		c, err := o.open(ctx)
		var told *wire.Error
		if err == nil || !errors.As(err, &told) || told.Code != wire.CodeOverloaded || time.Now().After(end) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

func (o Options) open(ctx context.Context) (*Client, error) {
	f, fd, err := o.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &Client{conn: newConn(f, fd, nil)}
	if fd > 0 {
		// Whoever had the stream before may have ended within a frame.
		if err := c.conn.feed(); err != nil {
			return nil, err
		}
	}
	if c.welcome, err = c.conn.hello(ctx, wire.Hello{Protocol: wire.Protocol, Client: o.Name}, o.Wait); err != nil {
		c.conn.close(nil)
		return nil, err
	}
	c.session = o.Session
	if c.session == "" {
		c.session = c.welcome.Session
	}
	return c, nil
}

func (o Options) dial(ctx context.Context) (f *os.File, fd int, err error) {
	if o.Socket != "" {
		f, err = dialPath(o.Socket, o.Wait)
		return f, 0, err
	}
	f, err = takeFD(ctx, o.FD, o.Wait)
	return f, o.FD, err
}

// hello is the first call of every connection.
func (c *conn) hello(ctx context.Context, h wire.Hello, wait time.Duration) (wire.Welcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errNoHello)
	defer cancel()
	result, err := c.call(ctx, wire.MethodHello, h.Value())
	if err != nil {
		return wire.Welcome{}, fmt.Errorf("hello: %w", err)
	}
	return wire.ReadWelcome(result)
}

var errNoHello = errors.New("the host gave no answer in time")

// Session is what the calls name.
func (c *Client) Session() string { return c.session }

// Tools are the tools that the bridge offers, by name; nil when the host does not say.
func (c *Client) Tools() []string { return c.welcome.Capabilities.Tools }

// Roots are the folders that may be written through the bridge: where each name is.
func (c *Client) Roots() []wire.Root { return c.welcome.Capabilities.Roots }

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.conn.done }

// Ping asks whether the host answers.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.conn.call(ctx, wire.MethodPing, nil)
	return err
}

// Close ends the connection. Calls that wait end with [ErrClosed].
func (c *Client) Close() error {
	c.conn.close(nil)
	return nil
}

// newName is a name that no other connection of the session has.
func newName() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
