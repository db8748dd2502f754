package proxy

import (
	"context"
	"errors"
	"net"
	"time"

	"brainbox/proxy/allow"
)

// serveSocks serves one client of SOCKS5, whose first byte has been read. Its own word for
// a refusal is one byte; the reason is in the records.
func (s *Server) serveSocks(ctx context.Context, conn net.Conn) {
	defer linger(conn)
	if err := readGreeting(conn); err != nil {
		if errors.Is(err, errSocksMethod) {
			s.turnAway(allow.Socks, allow.Malformed)
			_, _ = conn.Write([]byte{socksVersion, socksNoMethod})
		}
		return
	}
	if _, err := conn.Write([]byte{socksVersion, socksNoAuth}); err != nil {
		return
	}
	host, port, err := readSocks(conn)
	if code := socksError(0); errors.As(err, &code) {
		s.turnAway(allow.Socks, allow.Malformed)
		socksReply(conn, byte(code))
	}
	if err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	watched, stop := watch(ctx, conn)
	p, no := s.open(watched, allow.Query{Host: host, Port: port, Path: allow.Socks})
	stop()
	if no != nil {
		socksReply(conn, socksCode(no.reason))
		return
	}
	socksReply(conn, socksOK)
	p.carry(conn, nil)
}

// socksReply answers a request. The address that was bound here is nobody's business, and
// RFC 1928 has no other way to say so than zeros. A write that fails is followed by a read
// that does.
func socksReply(conn net.Conn, code byte) {
	_, _ = conn.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
}

// socksCode is the nearest that SOCKS5 can say.
func socksCode(r allow.Reason) byte {
	switch r {
	case allow.Malformed, allow.Busy, allow.Gone:
		return socksFailed
	case allow.Unresolved:
		return socksUnreachable
	case allow.Unreachable:
		return socksRefused
	default:
		return socksNotAllowed
	}
}
