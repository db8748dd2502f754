package names

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"brainbox/proxy/allow"
)

// Sockets makes sockets inside the program's network namespace.
type Sockets interface {
	// Listen makes a listening TCP socket bound to addr, of one family alone. The error is
	// EAFNOSUPPORT for IPv6 where there is none. It is called from many goroutines.
	Listen(addr netip.AddrPort) (net.Listener, error)
}

// Limits bound what a program can make this process hold. Zero means the value that is named.
type Limits struct {
	Names   int // names that have addresses at a time: 1024
	Sockets int // listening sockets at a time, those of listed addresses included: see mostSockets
	Clients int // connections to the resolver by TCP at a time: 32
}

// Config is what a Server works with. Sockets, Carry and Record must be set.
type Config struct {
	Rules   *allow.Rules // nil: no name exists
	Sockets Sockets
	// Carry takes a connection that was accepted for a name or a listed address, and returns
	// when it is over. It ends with ctx, decides, and bounds how many it carries at a time: a
	// name says here only who was meant.
	Carry func(ctx context.Context, client net.Conn, q allow.Query)
	// Record is told of each question that is refused, and of each port that can't be
	// listened on. It is called from many goroutines, and holds up the program while it runs.
	Record func(allow.Query, allow.Verdict)
	Limits Limits
}

func (l Limits) filled() Limits {
	fill := func(v *int, standard int) {
		if *v <= 0 {
			*v = standard
		}
	}
	fill(&l.Names, 1024)
	fill(&l.Sockets, mostSockets())
	fill(&l.Clients, 32)
	return l
}

// mostSockets is 2048, of some 10 KiB each with what the kernel holds for them, and never more
// than a quarter of the descriptors that this process may have: the rest is for connections.
func mostSockets() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return 256 // a quarter of the least that is common
	}
	return int(min(files.Cur/4, 2048))
}

func (c *Config) check() error {
	if c.Sockets == nil || c.Carry == nil || c.Record == nil {
		return errors.New("names: internal error: a config without sockets, carry or record")
	}
	return nil
}
