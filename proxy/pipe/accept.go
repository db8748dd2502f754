package pipe

import (
	"context"
	"errors"
	"net"
	"time"
)

// acceptPause is waited after an accept that failed for a passing reason.
const acceptPause = 50 * time.Millisecond

// Accept waits for a connection. What passes is waited out: no free descriptor (EMFILE), no
// memory, a client that has gone again (ECONNABORTED, accept(2)). The error is that ctx has
// ended or the listener is closed; ctx alone does not wake it, closing the listener does.
func Accept(ctx context.Context, listener net.Listener) (net.Conn, error) {
	for {
		conn, err := listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return conn, err
		}
		select {
		case <-time.After(acceptPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
