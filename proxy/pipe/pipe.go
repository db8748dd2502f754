package pipe

import (
	"context"
	"io"
	"net"
	"time"
)

// lastWords is how long Both waits, when it is to end, for what b has said.
const lastWords = 400 * time.Millisecond

// Both copies from a to b and from b to a, and returns the bytes of each way. It returns when
// both ways have ended, or one of them with an error, or ctx; then both connections are
// closed. If b is at its end when ctx ends, what it has said is passed on before, if that
// takes no longer than a moment. It runs one goroutine, which has ended when it returns.
func Both(ctx context.Context, a, b net.Conn) (toB, toA int64) {
	said := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { endBoth(a, b, said) })
	defer stop()
	go func() {
		defer close(said)
		toA = cutOff(a, b)
	}()
	toB = cutOff(b, a)
	<-said
	_ = a.Close() // closed already after an error
	_ = b.Close()
	return toB, toA
}

// endBoth closes both: with a reset where something is missing.
func endBoth(a, b net.Conn, said <-chan struct{}) {
	late := time.NewTimer(lastWords)
	defer late.Stop()
	select {
	case <-said:
		_ = a.Close() // what waits to be sent is sent
		_ = b.Close()
	case <-late.C:
		Reset(a)
		Reset(b)
	}
}

// cutOff is Copy, and ends both connections where it fails: at least one of the two is gone,
// and nothing that the other still sends can be delivered.
func cutOff(dst, src net.Conn) int64 {
	n, err := Copy(dst, src, nil)
	if err != nil {
		Reset(dst)
		Reset(src)
	}
	return n
}

// Copy writes first, which was read from src already, and all that follows until src has
// ended, and passes that on. It returns the bytes that were written. An error is of either
// side, and leaves both open.
func Copy(dst, src net.Conn, first []byte) (int64, error) {
	var count int64
	if len(first) > 0 {
		n, err := dst.Write(first)
		count = int64(n)
		if err != nil {
			return count, err
		}
	}
	n, err := io.Copy(dst, src)
	count += n
	if err != nil {
		return count, err
	}
	return count, CloseWrite(dst)
}

// CloseWrite tells the other side that nothing follows. Where a connection has no halves the
// end of one is the end.
func CloseWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Reset closes a connection so that the other side sees an error and not an end: of TCP, with
// RST (SO_LINGER with a time of zero, socket(7)). What waits to be sent is thrown away.
func Reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // closed already: there is nothing left to lose
	}
	_ = c.Close()
}
