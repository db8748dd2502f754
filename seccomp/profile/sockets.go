package profile

import (
	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Families, types and protocols (linux/socket.h, linux/net.h, linux/in.h).
const (
	afUnix    = 1
	afInet    = 2
	afInet6   = 10
	afNetlink = 16
	lastAF    = 46

	sockStream    = 1
	sockDgram     = 2
	sockSeqpacket = 5
	sockTypeMask  = 0xf // the rest of the argument is SOCK_CLOEXEC and SOCK_NONBLOCK

	ipprotoICMP   = 1
	ipprotoTCP    = 6
	ipprotoUDP    = 17
	ipprotoICMPv6 = 58
	netlinkRoute  = 0

	msgFastopen = 0x20000000
)

func socketGroups() []Group {
	return []Group{{
		Name: "sockets", Calls: []string{"socket"}, rules: socketRules,
		Does: "by family, type and protocol: see Sockets below",
		Why:  "VSOCK, ALG, PACKET, XDP, MPTCP, SCTP and raw sockets pass every Landlock rule",
	}, {
		Name: "socket pairs", Calls: []string{"socketpair"}, rules: pairRules,
		Does: "AF_UNIX SOCK_STREAM and SOCK_SEQPACKET allowed, other types EPERM unless UnixSockets or Namespaces; " +
			"other families EAFNOSUPPORT",
		Why: "a datagram pair reaches any socket file",
	}, {
		Name: "listen", Calls: []string{"listen"}, rules: unless(mayListen, eperm),
		Does: "EPERM; allowed with NetHost, with Listen, and with NetNone where Unix sockets are, or UnixBroker",
		Why:  "listen without bind opens a port that no Landlock rule names",
	}, {
		Name: "bind", Calls: []string{"bind"}, rules: unless(mayBind, eperm),
		Does: "EPERM with NetNone where Unix sockets are refused too, and not brokered", Why: "nothing is left to bind",
	}, {
		Name: "connect", Calls: []string{"connect"}, rules: connectRules,
		Does: "allowed; with UnixBroker, and neither UnixSockets nor Namespaces, notified",
		Why:  "the broker connects to listed sockets, and to TCP by port, in the program's stead",
	}, {
		Name: "TCP fast open", Calls: []string{"sendto", "sendmmsg"}, rules: fastopenRules(3),
		Does: "EPERM with MSG_FASTOPEN; allowed with NetHost", Why: "it connects past the Landlock rule for connect",
	}, {
		Name: "TCP fast open by sendmsg", Calls: []string{"sendmsg"}, rules: fastopenRules(2),
		Does: "EPERM with MSG_FASTOPEN; allowed with NetHost", Why: "as sendto",
	}}
}

func unixSockets(o seccomp.Options) bool { return o.UnixSockets || o.Namespaces }

// broker reports whether connect is judged by another process.
func broker(o seccomp.Options) bool { return o.UnixBroker && !unixSockets(o) }

func connectRules(calls []string, o seccomp.Options) []specs.LinuxSyscall {
	if broker(o) {
		return always(notify)(calls, o)
	}
	return always(allow)(calls, o)
}

// netlink is for a network namespace of the program's own, and for the host's
// when all of it is open. With NetPorts the host's is used in either isolation.
func netlink(o seccomp.Options) bool {
	return o.Network == seccomp.NetHost || o.Network == seccomp.NetNone && o.Namespaces
}

func mayListen(o seccomp.Options) bool {
	switch o.Network {
	case seccomp.NetHost:
		return true
	case seccomp.NetNone:
		return unixSockets(o) || broker(o)
	default:
		return o.Listen
	}
}

func mayBind(o seccomp.Options) bool {
	return o.Network != seccomp.NetNone || unixSockets(o) || broker(o)
}

func fastopenRules(flags uint) ruler {
	return func(calls []string, o seccomp.Options) []specs.LinuxSyscall {
		if o.Network == seccomp.NetHost {
			return always(allow)(calls, o)
		}
		return anyBit(flags, msgFastopen)(calls, o)
	}
}

// protocols returns what a family may be used for: protocols by socket type.
func protocols(family uint32, n seccomp.Network) map[uint32][]uint32 {
	icmp := uint32(ipprotoICMP)
	if family == afInet6 {
		icmp = ipprotoICMPv6
	}
	tcp := []uint32{0, ipprotoTCP}
	switch n {
	case seccomp.NetPorts:
		return map[uint32][]uint32{sockStream: tcp}
	case seccomp.NetPortsDNS:
		return map[uint32][]uint32{sockStream: tcp, sockDgram: {0, ipprotoUDP}}
	case seccomp.NetHost:
		return map[uint32][]uint32{sockStream: tcp, sockDgram: {0, icmp, ipprotoUDP}}
	default:
		return nil
	}
}

func socketRules(calls []string, o seccomp.Options) []specs.LinuxSyscall {
	var rules []specs.LinuxSyscall
	for family := range uint32(lastAF + 1) {
		is := whole(0, family)
		switch family {
		case afUnix:
			rules = append(rules, unixRules(calls, o, is)...)
		case afInet, afInet6:
			rules = append(rules, inetRules(calls, family, o.Network)...)
		case afNetlink:
			if netlink(o) {
				rules = append(rules, wholeRules(calls, 2, []uint32{netlinkRoute}, is)...)
				continue
			}
			rules = append(rules, rule(calls, eperm, is))
		default:
			rules = append(rules, rule(calls, eafnosupport, is))
		}
	}
	return rules
}

// unixRules judges socket(AF_UNIX). A datagram socket reaches any path without connect, and
// SOCK_RAW is one by another name (unix(7)).
func unixRules(calls []string, o seccomp.Options, is specs.LinuxSeccompArg) []specs.LinuxSyscall {
	switch {
	case unixSockets(o):
		return []specs.LinuxSyscall{rule(calls, allow, is)}
	case broker(o):
		types := []uint32{sockStream, sockSeqpacket}
		return valueRules(calls, 1, sockTypeMask, types, allow, eperm, is)
	default:
		return []specs.LinuxSyscall{rule(calls, eperm, is)}
	}
}

func inetRules(calls []string, family uint32, n seccomp.Network) []specs.LinuxSyscall {
	is := whole(0, family)
	byType := protocols(family, n)
	if byType == nil {
		return []specs.LinuxSyscall{rule(calls, eperm, is)}
	}
	var rules []specs.LinuxSyscall
	var types []uint32
	for _, t := range []uint32{sockStream, sockDgram} {
		if byType[t] == nil {
			continue
		}
		types = append(types, t)
		rules = append(rules, wholeRules(calls, 2, byType[t], is, masked(1, sockTypeMask, t))...)
	}
	for _, b := range others(sockTypeMask, types) {
		rules = append(rules, rule(calls, eperm, is, masked(1, b.mask, b.value)))
	}
	return rules
}

// wholeRules allows the listed values of an int argument and answers EPERM to
// the others, under the conditions before.
func wholeRules(calls []string, arg uint, values []uint32, before ...specs.LinuxSeccompArg) []specs.LinuxSyscall {
	return valueRules(calls, arg, 1<<32-1, values, allow, eperm, before...)
}

func pairRules(calls []string, o seccomp.Options) []specs.LinuxSyscall {
	var rules []specs.LinuxSyscall
	for family := range uint32(lastAF + 1) {
		is := whole(0, family)
		switch {
		case family != afUnix:
			rules = append(rules, rule(calls, eafnosupport, is))
		case unixSockets(o):
			rules = append(rules, rule(calls, allow, is))
		default:
			types := []uint32{sockStream, sockSeqpacket}
			rules = append(rules, valueRules(calls, 1, sockTypeMask, types, allow, eperm, is)...)
		}
	}
	return rules
}
