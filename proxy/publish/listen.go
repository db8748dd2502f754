package publish

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// loopbacks are the addresses of the host's side and of the program's side, in the order in
// which they are tried.
var loopbacks = [...]netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// Listen listens on a port of the host's loopback, IPv4 and IPv6. On a host without IPv6 it
// is IPv4 alone. If one of the two is taken it is an error and neither is bound: `localhost`
// would lead to one server or the other, as the client likes.
func Listen(port uint16) ([]net.Listener, error) {
	if port == 0 {
		return nil, errors.New("publish: port 0 is none: name the port that the program listens on")
	}
	var bound []net.Listener
	for _, addr := range loopbacks {
		listener, err := net.Listen("tcp", netip.AddrPortFrom(addr, port).String())
		if err != nil && addr.Is6() && noFamily(err) {
			continue
		}
		if err != nil {
			for _, other := range bound {
				_ = other.Close() // nobody has connected, and the error to tell is the first
			}
			return nil, explain(addr, port, err)
		}
		bound = append(bound, listener)
	}
	return slices.Clip(bound), nil
}

// noFamily is what bind(2) and socket(2) say on a host without IPv6, and on one where the
// loopback has no ::1 (net.ipv6.conf.lo.disable_ipv6).
func noFamily(err error) bool {
	return errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

// explain adds the way out.
func explain(addr netip.Addr, port uint16, err error) error {
	at := netip.AddrPortFrom(addr, port)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("publish: %s of this machine is taken: end what listens there, "+
			"or let the program listen on another port and publish that: %w", at, syscall.EADDRINUSE)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("publish: %s is a privileged port: let the program listen on one from 1024 up "+
			"and publish that (net.ipv4.ip_unprivileged_port_start): %w", at, syscall.EACCES)
	}
	return fmt.Errorf("publish: %w", err)
}

// Loopback returns what [Serve] connects with: to a port of the program's loopback, IPv4
// first and then IPv6, by a function that connects inside the program's namespace.
func Loopback(port uint16, dial func(context.Context, netip.AddrPort) (net.Conn, error)) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var tried []error
		for _, addr := range loopbacks {
			conn, err := dial(ctx, netip.AddrPortFrom(addr, port))
			if err == nil {
				return conn, nil
			}
			tried = append(tried, err)
		}
		return nil, errors.Join(tried...)
	}
}
