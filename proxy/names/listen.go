package names

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"

	"golang.org/x/net/dns/dnsmessage"
)

// failure is an address and port that can't be listened at.
type failure struct {
	at     netip.AddrPort
	reason allow.Reason
}

// bind makes what listeners of a family are missing for a name. If there is at least one the
// reply is its address; a kernel without IPv6 (ipv6.disable=1) has no data of it.
func (s *Server) bind(ctx context.Context, e *entry, f family) reply {
	e.binding.Lock()
	defer e.binding.Unlock()
	addr := address(f, e.number)
	ports := s.config.Rules.Ports(e.host)
	var failed []failure
	for _, port := range ports {
		at := netip.AddrPortFrom(addr, port)
		err := s.open(ctx, e, at)
		if noIPv6(at.Addr(), err) {
			return reply{}
		}
		if err != nil {
			failed = append(failed, failure{at, reasonOf(err)})
		}
	}
	if len(failed) > 0 && len(failed) == len(ports) { // one question, one record
		s.missing(e, failed[0])
		return reply{code: dnsmessage.RCodeServerFailure}
	}
	for _, one := range failed {
		if !e.told[one.at] {
			e.told[one.at] = true
			s.missing(e, one)
		}
	}
	return reply{addr: addr}
}

// noIPv6 is what socket(2) says where there is none.
func noIPv6(addr netip.Addr, err error) bool {
	return addr.Is6() && errors.Is(err, syscall.EAFNOSUPPORT)
}

// missing records a port that can't be listened on, which the rules do not know about.
func (s *Server) missing(e *entry, f failure) {
	query := allow.Query{Host: e.host, Port: f.at.Port(), Path: allow.Lookup}
	s.config.Record(query, allow.Verdict{Reason: f.reason, Name: e.host, Rule: -1})
}

// reasonOf says why there is no listener: the program has taken the port, or something of this
// side has run out, descriptors for one.
func reasonOf(err error) allow.Reason {
	if errors.Is(err, syscall.EADDRINUSE) {
		return allow.PortTaken
	}
	return allow.Busy
}

// open makes one listener and accepts from it, if there is none yet.
func (s *Server) open(ctx context.Context, e *entry, at netip.AddrPort) error {
	if s.table.listens(e, at) {
		return nil
	}
	if !s.table.reserve() {
		return errors.New("as many sockets as may be are listening")
	}
	listener, err := s.config.Sockets.Listen(at)
	if err != nil {
		s.table.giveBack()
		return err
	}
	return s.table.keep(e, at, listener, func() {
		s.running.Go(func() { s.accept(ctx, e, at.Port(), listener) })
	})
}

// accept takes connections until the listener is closed. The listener is bound to one address,
// so the local address of what it accepts is known without getsockname(2).
func (s *Server) accept(ctx context.Context, e *entry, port uint16, listener net.Listener) {
	for {
		conn, err := pipe.Accept(ctx, listener)
		if err != nil {
			return
		}
		query := allow.Query{Host: e.host, Port: port, Path: allow.Direct}
		s.table.connect(e)
		s.running.Go(func() {
			defer s.table.release(e)
			defer conn.Close()
			s.config.Carry(ctx, conn, query)
		})
	}
}

// Literals listens at every listed address that can be listened at, of IPv6 where there is
// IPv6, before the program runs
// and could take a port. The error names the address. Serve may run already; when it ends it
// closes what was opened here.
func (s *Server) Literals(ctx context.Context) error {
	for _, literal := range s.config.Rules.Literals() {
		at := netip.AddrPortFrom(literal.Addr().Unmap().WithZone(""), literal.Port())
		if !listenable(at.Addr()) {
			continue
		}
		e := newEntry(at.Addr().String())
		s.table.pin(e)
		if err := s.open(ctx, e, at); err != nil && !noIPv6(at.Addr(), err) {
			return fmt.Errorf("names: listen at the listed address %s: %w", at, err)
		}
	}
	return nil
}

// listenable is false for the program's own loopback and for what bind(2) refuses.
func listenable(addr netip.Addr) bool {
	return !addr.IsLoopback() && !addr.IsUnspecified() && !addr.IsMulticast() &&
		(addr.Is4() || !addr.IsLinkLocalUnicast())
}
