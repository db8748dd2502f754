package proxy

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// origin is a server on loopback with a log of what reached it.
type origin struct {
	net.Listener
	mu    sync.Mutex
	conns int
	got   bytes.Buffer
	work  sync.WaitGroup
}

// newOrigin serves each connection with serve; nil is an echo that ends when it is told to.
func newOrigin(t testing.TB, serve func(*net.TCPConn)) *origin {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{Listener: l}
	if serve == nil {
		serve = func(c *net.TCPConn) { _, _ = io.Copy(c, io.TeeReader(c, o)) }
	}
	o.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			o.mu.Lock()
			o.conns++
			o.mu.Unlock()
			o.work.Go(func() {
				defer c.Close()
				serve(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		o.work.Wait()
	})
	return o
}

func (o *origin) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.got.Write(p)
}

func (o *origin) log() (conns int, got string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.conns, o.got.String()
}

func (o *origin) addrPort() netip.AddrPort { return o.Addr().(*net.TCPAddr).AddrPort() }

// at has a public address stand for the origin.
func (w *world) at(a netip.Addr, port uint16, o *origin) {
	w.stands[netip.AddrPortFrom(a, port)] = o.Addr().String()
}
