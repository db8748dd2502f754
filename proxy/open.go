package proxy

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"brainbox/proxy/allow"
)

// refusal is why a program gets no connection. The decision is recorded already.
type refusal struct {
	reason allow.Reason
	name   string // as Event.Host has it
	port   uint16
}

// open decides about q, resolves its name once, checks every answer, and dials one of the
// checked addresses. ctx is for the opening alone. Exactly one of the two is returned, and
// a passage has to be carried or ended by whoever gets it. Nothing is sent to the origin.
func (s *Server) open(ctx context.Context, q allow.Query) (*passage, *refusal) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newPassage(s, q, cancel)
	if !s.hold(p) {
		return nil, &refusal{allow.Gone, p.event.Host, q.Port} // closed: nobody reads a record
	}
	conn, reason := s.reach(ctx, p, q)
	if reason == "" && !p.opened(conn) {
		reason = allow.Gone
	}
	if reason != "" {
		p.refuse(reason)
		return nil, &refusal{reason, p.event.Host, q.Port}
	}
	return p, nil
}

// reach is open without the records.
func (s *Server) reach(ctx context.Context, p *passage, q allow.Query) (net.Conn, allow.Reason) {
	v := s.config.Rules.Decide(q)
	p.learn(v)
	if !v.Allowed() {
		return nil, cmp.Or(v.Reason, allow.NotListed)
	}
	if !p.take() {
		return nil, allow.Busy
	}
	if ctx.Err() != nil { // nobody is there to be answered
		return nil, allow.Gone
	}
	if v.Addr.IsValid() && s.config.Own(netip.AddrPortFrom(v.Addr, q.Port)) {
		return nil, allow.Itself
	}
	switch {
	case s.upstream != nil && q.Path == allow.Request: // gets the whole URL: many refuse CONNECT to port 80
		return s.dialUpstream(ctx, p)
	case s.upstream != nil:
		return s.connectUpstream(ctx, p, v.Name, q.Port)
	}
	addrs := []netip.Addr{v.Addr} // a listed one
	if !v.Addr.IsValid() {
		answers, reason := s.resolve(ctx, s.config.Resolve, v.Name)
		if reason != "" {
			return nil, reason
		}
		if addrs, reason = s.check(answers, q.Port); reason != "" {
			return nil, reason
		}
	}
	return s.dial(ctx, p, addrs, q.Port)
}

// check refuses a name for any one of its answers, also one that would never be dialled: a
// name with a private address among public ones is on its way to rebinding. It returns the
// addresses as they are dialled.
func (s *Server) check(answers []netip.Addr, port uint16) ([]netip.Addr, allow.Reason) {
	if len(answers) == 0 {
		return nil, allow.Unresolved
	}
	checked := make([]netip.Addr, 0, len(answers))
	for _, a := range answers {
		if !a.IsValid() || a.Zone() != "" {
			return nil, allow.Private
		}
		a = a.Unmap()
		if s.config.Own(netip.AddrPortFrom(a, port)) {
			return nil, allow.Itself
		}
		if reason := s.config.Rules.Address(a, port); reason != "" {
			return nil, reason
		}
		checked = append(checked, a)
	}
	return checked, ""
}

// patience is how long an address may keep the next one waiting: time for one lost SYN,
// which is sent again after a second (tcp(7), RFC 6298).
const patience = 2 * time.Second

// dial tries the addresses in their order; the last one may take all the time that is left.
func (s *Server) dial(ctx context.Context, p *passage, addrs []netip.Addr, port uint16) (net.Conn, allow.Reason) {
	bounded, cancel := context.WithTimeout(ctx, s.config.Limits.Dial)
	defer cancel()
	for i, a := range addrs {
		to := netip.AddrPortFrom(a, port)
		p.event.Address = to
		conn, err := s.dialOne(bounded, to, i == len(addrs)-1)
		if err == nil {
			return conn, ""
		}
		if ctx.Err() != nil {
			return nil, allow.Gone
		}
		if exhausted(err) {
			return nil, allow.Busy
		}
		if bounded.Err() != nil {
			break
		}
	}
	return nil, allow.Unreachable
}

// exhausted has the errors that say something about this side: no descriptor or memory is free.
func exhausted(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (s *Server) dialOne(ctx context.Context, to netip.AddrPort, last bool) (net.Conn, error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	return s.config.Dial(ctx, to)
}

// keepAlive finds out about a peer that is gone without a word: there is no bound on how
// long a connection may be idle.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 9}

func dialTCP(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	return d.DialContext(ctx, "tcp", to.String())
}
