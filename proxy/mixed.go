package proxy

import (
	"context"
	"io"
	"net"
	"time"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"
)

// ServeProxy serves HTTP and SOCKS5 on one listener, told apart by the first byte. It closes
// l, and returns when l or the server was closed. Connections that are open then go on
// until the server's Close.
func (s *Server) ServeProxy(l net.Listener) {
	defer l.Close()
	if !s.hold(l) {
		return
	}
	defer s.release(l)
	clients := make(chan struct{}, s.config.Limits.Connections)
	for {
		conn, err := pipe.Accept(context.Background(), l)
		if err != nil {
			return
		}
		s.admitClient(conn, clients)
	}
}

// admitClient serves one connection on its own goroutine, if there is room for it. Who comes
// too many is told at once, in HTTP: to wait for the first byte would take room as well.
func (s *Server) admitClient(conn net.Conn, clients chan struct{}) {
	select {
	case clients <- struct{}{}:
	default:
		s.turnAway(allow.Request, allow.Busy)
		_, _ = conn.Write(busyAnswer)
		_ = conn.Close()
		return
	}
	if !s.hold(conn) {
		_ = conn.Close()
		return
	}
	go func() {
		defer s.release(conn)
		defer func() { <-clients }()
		defer conn.Close()
		s.serveClient(conn)
	}()
}

// serveClient looks at the first byte: the version of SOCKS, or the first letter of a method.
// One deadline covers everything up to the end of the first request.
func (s *Server) serveClient(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(s.config.Limits.Head))
	var first [1]byte
	if _, err := io.ReadFull(conn, first[:]); err != nil {
		return
	}
	switch first[0] {
	case socksVersion:
		s.serveSocks(context.Background(), conn)
	case 4: // SOCKS4 has no way to say that it is not spoken
		s.turnAway(allow.Socks, allow.Malformed)
	default:
		s.serveHTTP(context.Background(), conn, first[0])
	}
}
