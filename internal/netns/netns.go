package netns

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

// NS is a network namespace, with the user namespace that owns it.
type NS struct{ User, Net int } // descriptors of /proc/PID/ns/user and /proc/PID/ns/net

// Socket is one to be made: its arguments of socket(2), SOCK_CLOEXEC|SOCK_NONBLOCK are added.
type Socket struct{ Domain, Type, Protocol int }

// TCP4 is a stream socket of IPv4.
func TCP4() Socket { return Socket{unix.AF_INET, unix.SOCK_STREAM, 0} }

// TCP6 is one of IPv6.
func TCP6() Socket { return Socket{unix.AF_INET6, unix.SOCK_STREAM, 0} }

// UDP4 is a datagram socket of IPv4.
func UDP4() Socket { return Socket{unix.AF_INET, unix.SOCK_DGRAM, 0} }

// UDP6 is one of IPv6.
func UDP6() Socket { return Socket{unix.AF_INET6, unix.SOCK_DGRAM, 0} }

// Routing is what [Up] takes.
func Routing() Socket { return Socket{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE} }

// Sockets makes sockets in ns, all of them or none. They are the caller's, close-on-exec,
// and do not block. No process and no thread of the caller is in ns afterwards. Only the
// owner of ns.User may (see [spawn.Sockets]).
func (ns NS) Sockets(want ...Socket) ([]int, error) {
	list := make([][3]int, 0, len(want))
	for _, s := range want {
		list = append(list, [3]int{s.Domain, s.Type, s.Protocol})
	}
	fds, err := spawn.Sockets(ns.User, ns.Net, list)
	if err != nil {
		return nil, fmt.Errorf("netns: %w", err)
	}
	return fds, nil
}

// backlog is how many connections may wait for an accept(2), of the 4096 that the kernel
// allows (listen(2), Linux 5.4).
const backlog = 1024

// Listen binds a socket of ns to addr, and listens where its type has that. The caller needs
// no capability of his own for a port below 1024 (capabilities(7)): who owns the user
// namespace of a socket has them all for it.
//
// Nobody in there can share what is bound, nor take it: SO_REUSEPORT is off, and so is
// SO_REUSEADDR of a datagram socket, with which the last to bind gets the datagrams
// (socket(7)). A stream socket has it, for what is left of old connections; with one that
// listens nobody can share an address in spite of it.
//
// An IPv6 socket is for IPv6 alone, and its address needs not be one of an interface
// (IPV6_FREEBIND, Linux 4.15): the route of [Up] leads there.
//
// What a TCP socket accepts sends as fast as it is read: loopback has nothing to estimate, and
// the pacing of a host's BBR takes a fourth of the throughput there. reno paces nothing and is in
// every kernel (TCP_CONGESTION, tcp(7)); what is accepted inherits it.
func Listen(fd int, addr unix.Sockaddr) error {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return os.NewSyscallError("getsockopt SO_TYPE", err)
	}
	stream := kind == unix.SOCK_STREAM
	_, six := addr.(*unix.SockaddrInet6)
	for _, o := range []struct {
		wanted      bool
		level, name int
		text        string
	}{
		{stream, unix.SOL_SOCKET, unix.SO_REUSEADDR, "SO_REUSEADDR"},
		{six, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, "IPV6_V6ONLY"},
		{six, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, "IPV6_FREEBIND"},
	} {
		if !o.wanted {
			continue
		}
		if err := unix.SetsockoptInt(fd, o.level, o.name, 1); err != nil {
			return os.NewSyscallError("setsockopt "+o.text, err)
		}
	}
	if err := unix.Bind(fd, addr); err != nil {
		return os.NewSyscallError("bind", err)
	}
	if !stream {
		return nil
	}
	_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno") // without it, it is slower
	return os.NewSyscallError("listen", unix.Listen(fd, backlog))
}
