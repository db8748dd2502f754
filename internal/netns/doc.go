// Package netns makes sockets in the network namespace of a program that runs in one of its
// own, from outside: for whoever owns the program's user namespace, without a process inside.
//
//	request.Namespaces.Network = func(user, net int) error {
//		ns := netns.NS{User: user, Net: net}
//		fds, err := ns.Sockets(netns.Routing(), netns.TCP4())
//		…
//		six, err := netns.Up(fds[0])
//		err = netns.Listen(fds[1], &unix.SockaddrInet4{Port: 1023, Addr: [4]byte{127, 0, 0, 1}})
//		…
//	}
//
// What is done with a socket needs no process inside either: the kernel asks its caller for
// capabilities over the namespace that the socket is of, and the owner of a user namespace
// has them all (user_namespaces(7)).
//
// After [Up] every address is the program's own: a connection to any of them reaches
// whoever listens there, or is refused at once.
//
// # Limits
//
// The source of a connection to an IPv4 address is that very address, as on a loopback: a
// client whose port happens to be the one it dials meets itself. To an IPv6 address other
// than ::1 it is ::1.
//
// A program that has bound a port of all addresses (0.0.0.0, ::) keeps Listen from that port
// of any (EADDRINUSE), and the other way round; below 1024 it cannot.
package netns
