package seccomp

import (
	"errors"
	"fmt"
)

// Network says which sockets of the Internet families a filter lets a program
// make. The zero value is none.
type Network uint8

// The networks. In all of them MPTCP, SCTP, raw sockets and every family that
// is not named are refused.
const (
	// NetNone refuses socket(AF_INET) and socket(AF_INET6).
	NetNone Network = iota
	// NetPorts allows TCP, whose ports Landlock rules.
	NetPorts
	// NetPortsDNS allows UDP too, which no Landlock rule covers below ABI 10.
	NetPortsDNS
	// NetHost allows TCP, UDP, ICMP datagrams and NETLINK_ROUTE, TCP fast open
	// and listen.
	NetHost
)

// Options selects a variant of the default filter. The zero value is the
// strictest; each field that is set widens it in the way it says, but for
// KeepsRoot, which narrows it further, and for what UnixBroker says of connect.
type Options struct {
	// Network is which Internet sockets may be made. Zero means none.
	Network Network
	// Listen allows listen(2) with NetPorts and NetPortsDNS, where a listen
	// without bind would otherwise open a port that no Landlock rule names.
	// Without it Unix sockets can not listen there either: listen does not show
	// the family. With it, listen without bind opens a port of the kernel's choice.
	// NetHost always allows it, NetNone when Unix sockets are open or brokered.
	Listen bool
	// UnixSockets allows socket(AF_UNIX) and datagram socket pairs. False
	// refuses both; stream and seqpacket pairs are always allowed.
	UnixSockets bool
	// KeepsRoot is for a program that keeps user id 0: creating a set-id file by
	// open, openat and creat is refused, and openat2 does not exist.
	KeepsRoot bool
	// Namespaces is for a program in IPC, mount and user namespaces of its own,
	// and with NetNone a network namespace too. It allows System V IPC, POSIX
	// message queues, setting extended attributes, Unix sockets, and with
	// NetNone NETLINK_ROUTE.
	Namespaces bool
	// Debug allows ptrace and its companions, which Landlock keeps inside the
	// domain.
	Debug bool
	// UnixBroker allows stream and seqpacket Unix sockets, and hands every
	// connect(2), of whatever family, to the notification listener: the filter sees
	// a number of a descriptor and an address of memory, neither of which tells what
	// is connected to what. Without a listener connect fails with ENOSYS. Where
	// UnixSockets or Namespaces open Unix sockets anyway it changes nothing.
	UnixBroker bool
}

// optionCount is the number of different Options.
const optionCount = 1 << 8

var errNetwork = errors.New("unknown network option")

// index returns the position of o among all options.
func (o Options) index() (int, error) {
	if o.Network > NetHost {
		return 0, fmt.Errorf("seccomp: %w %d", errNetwork, o.Network)
	}
	i := int(o.Network)
	for bit, set := range [...]bool{o.Listen, o.UnixSockets, o.KeepsRoot, o.Namespaces, o.Debug, o.UnixBroker} {
		if set {
			i |= 4 << bit
		}
	}
	return i, nil
}

// AllOptions returns every variant of the default filter, in the order of the
// checked-in programs.
func AllOptions() []Options {
	all := make([]Options, optionCount)
	for i := range all {
		bit := func(n int) bool { return i&(4<<n) != 0 }
		all[i] = Options{
			Network: Network(i & 3), Listen: bit(0), UnixSockets: bit(1),
			KeepsRoot: bit(2), Namespaces: bit(3), Debug: bit(4), UnixBroker: bit(5),
		}
	}
	return all
}
