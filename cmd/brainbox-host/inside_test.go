package main

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// bound is a socket with a port of a loopback address that it has alone.
func bound(t *testing.T, addr netip.Addr) (fd int, at netip.AddrPort) {
	t.Helper()
	family := unix.AF_INET
	if addr.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if addr.Is6() && errors.Is(err, unix.EAFNOSUPPORT) {
		t.Skip("needs: IPv6") // gating: internal/needs has no word for it
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, sockaddr(netip.AddrPortFrom(addr, 0))); err != nil {
		unix.Close(fd)
		if addr.Is6() && errors.Is(err, unix.EADDRNOTAVAIL) {
			t.Skip("needs: IPv6") // gating: internal/needs has no word for it
		}
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		return fd, netip.AddrPortFrom(addr, uint16(name.Port))
	case *unix.SockaddrInet6:
		return fd, netip.AddrPortFrom(addr, uint16(name.Port))
	}
	t.Fatalf("bound to %v", name)
	return -1, at
}

// A connection to a port that nobody listens on is refused, also when the kernel chooses that
// port for its other end and it would meet itself.
func TestNoConnectionMeetsItself(t *testing.T) {
	for _, addr := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		t.Run(addr.String(), func(t *testing.T) {
			fd, at := bound(t, addr)
			in := &inside{make: func(bool) ([]int, error) { return []int{fd}, nil }}
			if conn, err := in.dial(t.Context(), at); !errors.Is(err, unix.ECONNREFUSED) {
				t.Errorf("to nobody: %v, %v", conn, err)
			}
			l, err := net.Listen("tcp", netip.AddrPortFrom(addr, 0).String())
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			fd, _ = bound(t, addr)
			conn, err := in.dial(t.Context(), l.Addr().(*net.TCPAddr).AddrPort())
			if err != nil {
				t.Fatalf("to who listens: %v", err)
			}
			_ = conn.Close()
		})
	}
}
