package proxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"brainbox/proxy/allow"
)

// Resolver finds the addresses of a name.
type Resolver = func(ctx context.Context, name string) ([]netip.Addr, error)

// HostResolver asks the host's resolvers for the addresses of a name, A and AAAA, with Go's
// own resolver. The name is asked for with a dot at the end, so that no search list of
// resolv.conf(5) makes another one of it. server is the DNS server to ask, ADDR:PORT; with
// "" those of /etc/resolv.conf are asked, as it is; or as it was when HostResolver was called,
// if this process may not read it any more. /etc/hosts counts before either.
func HostResolver(server string) Resolver { return hostResolver(server, ".") }

// HostSearch is a HostResolver for what the operator named: with the search list, as every
// program of the host asks.
func HostSearch(server string) Resolver { return hostResolver(server, "") }

func hostResolver(server, behind string) Resolver {
	r := &net.Resolver{PreferGo: true}
	if server == "" {
		r.Dial = remembering(nameServers(resolvConf), resolvConfForbidden, dialServer)
	} else {
		to, err := netip.ParseAddrPort(server)
		if err != nil {
			err = fmt.Errorf("proxy: resolver %q: want ADDR:PORT", server)
			return func(context.Context, string) ([]netip.Addr, error) { return nil, err }
		}
		r.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialServer(ctx, network, to.String())
		}
	}
	return func(ctx context.Context, name string) ([]netip.Addr, error) {
		return r.LookupNetIP(ctx, "ip", name+behind)
	}
}

// resolve asks once. Waiting for a turn is a part of its time.
func (s *Server) resolve(ctx context.Context, by Resolver, name string) ([]netip.Addr, allow.Reason) {
	bounded, cancel := context.WithTimeout(ctx, s.config.Limits.Lookup)
	defer cancel()
	select {
	case s.lookups <- struct{}{}:
		defer func() { <-s.lookups }()
	case <-bounded.Done():
		if ctx.Err() != nil {
			return nil, allow.Gone
		}
		return nil, allow.Busy
	}
	answers, err := by(bounded, name)
	switch {
	case ctx.Err() != nil:
		return nil, allow.Gone
	case err != nil || len(answers) == 0:
		return nil, allow.Unresolved
	}
	return answers, ""
}
