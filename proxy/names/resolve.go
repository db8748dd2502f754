package names

import (
	"context"
	"net/netip"
	"strings"

	"brainbox/proxy/allow"

	"golang.org/x/net/dns/dnsmessage"
)

// answer is the whole of the resolver for one message: what goes back, or nil.
func (s *Server) answer(ctx context.Context, msg []byte) []byte {
	q, ok := parse(msg)
	if !ok {
		return nil
	}
	r := reply{code: q.wrong}
	if q.wrong == dnsmessage.RCodeSuccess {
		asked := q.asked[0]
		r = s.resolve(ctx, strings.TrimSuffix(asked.Name.String(), "."), asked.Type)
	}
	packed, err := q.pack(r)
	if err != nil {
		return nil // a name that can be read and not be written again
	}
	return packed
}

// resolve answers one question about a name, which has no dot at its end.
func (s *Server) resolve(ctx context.Context, host string, kind dnsmessage.Type) reply {
	lower := strings.ToLower(host)
	if lower == "localhost" || strings.HasSuffix(lower, ".localhost") {
		return loopback(kind)
	}
	if addr, ok := pointed(lower); ok && own(addr) {
		return s.reverse(addr, kind)
	}
	query := allow.Query{Host: host, Path: allow.Lookup}
	verdict := s.config.Rules.Decide(query)
	if !verdict.Allowed() {
		s.config.Record(query, verdict)
		return reply{code: denial(host)}
	}
	if verdict.Addr.IsValid() {
		return reply{code: dnsmessage.RCodeNameError} // an address has no name in the DNS
	}
	if kind == dnsmessage.TypeA {
		return s.forward(ctx, verdict.Name, v4)
	}
	if kind == dnsmessage.TypeAAAA {
		return s.forward(ctx, verdict.Name, v6)
	}
	return reply{}
}

// forward gives the address of a name that is allowed, once it is listened at.
func (s *Server) forward(ctx context.Context, name string, f family) reply {
	e := s.table.use(name)
	if e == nil {
		s.config.Record(allow.Query{Host: name, Path: allow.Lookup}, allow.Verdict{Reason: allow.Busy, Name: name, Rule: -1})
		return reply{code: dnsmessage.RCodeServerFailure}
	}
	defer s.table.release(e)
	return s.bind(ctx, e, f)
}

var loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// loopback answers for localhost and the names below it (RFC 6761, section 6.3).
func loopback(kind dnsmessage.Type) reply {
	if kind == dnsmessage.TypeA {
		return reply{addr: loopback4}
	}
	if kind == dnsmessage.TypeAAAA {
		return reply{addr: netip.IPv6Loopback()}
	}
	return reply{}
}

// own is what this resolver alone knows about: the loopback and the pools. The names of other
// addresses are decided about as any name.
func own(addr netip.Addr) bool {
	return addr.IsLoopback() || pool4.Contains(addr) || pool6.Contains(addr)
}

// reverse answers for an address that is own.
func (s *Server) reverse(addr netip.Addr, kind dnsmessage.Type) reply {
	name, ok := s.table.holder(addr)
	if addr == loopback4 || addr == netip.IPv6Loopback() {
		name, ok = "localhost", true
	}
	switch {
	case !ok:
		return reply{code: dnsmessage.RCodeNameError}
	case kind != dnsmessage.TypePTR:
		return reply{}
	}
	return reply{name: name}
}

// denial is how a name that is not allowed is answered: it does not exist, which no client asks
// twice. The root does, and what has bytes of no host name is refused.
func denial(host string) dnsmessage.RCode {
	for _, c := range []byte(host) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return dnsmessage.RCodeRefused
		}
	}
	if host == "" {
		return dnsmessage.RCodeRefused
	}
	return dnsmessage.RCodeNameError
}
