package publish

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"brainbox/proxy/pipe"
)

const (
	// maxConns bounds the connections of one listener at a time. The next ones wait in the
	// listener's queue (listen(2)).
	maxConns = 256
	// dialTime bounds the connecting. Loopback answers at once; a program whose own queue is
	// full does not (tcp(7), tcp_abort_on_overflow).
	dialTime = 10 * time.Second
)

// Serve joins each connection to host with one made by dial, until ctx ends; then it closes
// host and every connection, waits for all of them, and returns nil. If the program does not
// listen the connection is reset. The error is that host can accept no more.
func Serve(ctx context.Context, host net.Listener, dial func(context.Context) (net.Conn, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = host.Close() })
	defer stop()
	places := make(chan struct{}, maxConns)
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		client, err := pipe.Accept(ctx, host)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("publish: accept: %w", err)
		}
		running.Go(func() {
			defer func() { <-places }()
			join(ctx, client, dial)
		})
	}
}

// join connects into the program and copies until both have ended.
func join(ctx context.Context, client net.Conn, dial func(context.Context) (net.Conn, error)) {
	dialCtx, cancel := context.WithTimeout(ctx, dialTime)
	program, err := dial(dialCtx)
	cancel()
	if err != nil {
		pipe.Reset(client) // as a port that nobody listens on
		return
	}
	pipe.Both(ctx, client, program)
}
