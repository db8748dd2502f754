package launcher

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/seccomp"
)

// SocketCall is a call of socket(2) or socketpair(2) as [Operation.Call] names it, by what a
// filter decides from: "socket(AF_UNIX)", "socket(AF_INET, SOCK_DGRAM)". The kind SOCK_STREAM
// is left out, and so is the protocol that goes without saying.
func SocketCall(name string, args [6]uint64) string {
	family, kind, protocol := int(int32(args[0])), int(int32(args[1]))&^socketFlags, int(int32(args[2]))
	t := name + "(" + wordOf(socketFamilies(), family)
	usual := protocol == 0 || family == unix.AF_UNIX ||
		kind == unix.SOCK_STREAM && protocol == unix.IPPROTO_TCP || kind == unix.SOCK_DGRAM && protocol == unix.IPPROTO_UDP
	if kind != unix.SOCK_STREAM || !usual {
		t += ", " + wordOf(socketKinds(), kind)
	}
	if !usual {
		t += ", " + wordOf(socketProtocols(family), protocol)
	}
	return t + ")"
}

// socketFlags may be given with a kind (socket(2)).
const socketFlags = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC

// socketCall is such a call, read again.
type socketCall struct {
	name                   string
	family, kind, protocol int
}

// parseSocketCall reads what [SocketCall] writes.
func parseSocketCall(text string) (socketCall, bool) {
	name, rest, ok := strings.Cut(text, "(")
	list, closed := strings.CutSuffix(rest, ")")
	s := socketCall{name: name, kind: unix.SOCK_STREAM}
	words := strings.Split(list, ",")
	if !ok || !closed || name != "socket" && name != "socketpair" || len(words) > 3 {
		return s, false
	}
	if s.family, ok = numberOf(socketFamilies(), words[0]); !ok {
		return s, false
	}
	if len(words) > 1 {
		if s.kind, ok = numberOf(socketKinds(), words[1]); !ok {
			return s, false
		}
	}
	if len(words) > 2 {
		s.protocol, ok = numberOf(socketProtocols(s.family), words[2])
	}
	return s, ok
}

func wordOf(words map[int]string, n int) string {
	if w := words[n]; w != "" {
		return w
	}
	return strconv.Itoa(n)
}

func numberOf(words map[int]string, text string) (int, bool) {
	text = strings.TrimSpace(text)
	for n, w := range words {
		if w == text {
			return n, true
		}
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil
}

func socketFamilies() map[int]string {
	return map[int]string{
		unix.AF_UNIX: "AF_UNIX", unix.AF_INET: "AF_INET", unix.AF_INET6: "AF_INET6", unix.AF_NETLINK: "AF_NETLINK",
		unix.AF_PACKET: "AF_PACKET", unix.AF_VSOCK: "AF_VSOCK", unix.AF_ALG: "AF_ALG", unix.AF_BLUETOOTH: "AF_BLUETOOTH",
		unix.AF_CAN: "AF_CAN", unix.AF_XDP: "AF_XDP", unix.AF_KEY: "AF_KEY", unix.AF_RDS: "AF_RDS",
		unix.AF_TIPC: "AF_TIPC", unix.AF_QIPCRTR: "AF_QIPCRTR", unix.AF_SMC: "AF_SMC", unix.AF_UNSPEC: "AF_UNSPEC",
	}
}

func socketKinds() map[int]string {
	return map[int]string{
		unix.SOCK_STREAM: "SOCK_STREAM", unix.SOCK_DGRAM: "SOCK_DGRAM", unix.SOCK_RAW: "SOCK_RAW",
		unix.SOCK_SEQPACKET: "SOCK_SEQPACKET", unix.SOCK_RDM: "SOCK_RDM", unix.SOCK_PACKET: "SOCK_PACKET",
	}
}

// socketProtocols are those that have a name where they are asked for.
func socketProtocols(family int) map[int]string {
	if family != unix.AF_INET && family != unix.AF_INET6 {
		return nil
	}
	return map[int]string{
		unix.IPPROTO_TCP: "IPPROTO_TCP", unix.IPPROTO_UDP: "IPPROTO_UDP", unix.IPPROTO_ICMP: "IPPROTO_ICMP",
		unix.IPPROTO_ICMPV6: "IPPROTO_ICMPV6", unix.IPPROTO_SCTP: "IPPROTO_SCTP", unix.IPPROTO_MPTCP: "IPPROTO_MPTCP",
		unix.IPPROTO_UDPLITE: "IPPROTO_UDPLITE",
	}
}

// isInternet reports whether a network mode decides about the family.
func (s *socketCall) isInternet() bool { return s.family == unix.AF_INET || s.family == unix.AF_INET6 }

// in is what a filter answers.
func (s *socketCall) in(p seccomp.Program) seccomp.Action {
	arch, err := seccomp.AuditArch(runtime.GOARCH)
	nr, ok := seccomp.Number(runtime.GOARCH, s.name)
	if err != nil || !ok {
		return seccomp.KillProcess
	}
	args := [6]uint64{uint64(s.family), uint64(s.kind), uint64(s.protocol)}
	return p.Eval(seccomp.Data{Nr: nr, Arch: arch, Args: args})
}

// judgeSocket answers for a socket by its family, kind and protocol.
func (c *calls) judgeSocket(s *socketCall, text string) Judgement {
	g := Judgement{Clause: "seccomp"}
	c.load()
	if c.err != nil {
		g.Reason = c.err.Error()
		return g
	}
	if len(c.filter) == 0 {
		g.Verdict, g.Reason = Allowed, "seccomp = none: every system call is open"
		return g
	}
	a := s.in(c.filter)
	if a == seccomp.Allow || a == seccomp.Log {
		g.Verdict, g.Reason = Allowed, "seccomp allows "+text
		return g
	}
	g.Verdict, g.Reason = Refused, "seccomp refuses "+text
	if e, ok := a.Errno(); ok {
		g.Errno = syscall.Errno(e)
	}
	switch {
	case s.family == unix.AF_UNIX && !c.plan.Seccomp.UnixBroker:
		g.Reason += ": no socket by path is listed"
	case s.isInternet() && c.plan.Seccomp.Network == seccomp.NetNone && !c.plan.NoFilter && len(c.plan.Filter) == 0:
		g.Reason += ": the network mode is none"
	}
	return g
}

// socketCallRemedy tries the options of the filter that might open it, the narrowest first.
// The call says neither the path of a socket nor the name or port of a host: so does the note.
func (j *Judge) socketCallRemedy(s *socketCall) Remedy {
	const byName = "--isolation namespaces --net proxy --allow-host NAME"
	none := j.plan.Seccomp.Network == seccomp.NetNone
	network := func(n seccomp.Network) bool {
		return j.plan.Seccomp.Network < n && j.opens(s, func(o *seccomp.Options) { o.Network = n })
	}
	switch {
	case s.isInternet() && s.protocol == unix.IPPROTO_MPTCP:
		return Remedy{Note: "no network mode opens it; who asks for it takes TCP instead, as a rule"}
	case s.family == unix.AF_UNIX && j.opens(s, func(o *seccomp.Options) { o.UnixBroker = true }):
		return Remedy{Flag: "--unix PATH", Note: "PATH is the socket that it wants, which this call does not say; the C library asks for nscd so, and does without"}
	case s.family == unix.AF_UNIX && j.opens(s, func(o *seccomp.Options) { o.Namespaces = true }):
		return Remedy{Flag: "--isolation namespaces", Note: "it has Unix sockets of every kind, and of the host's those that --unix lists"}
	case network(seccomp.NetPorts):
		return Remedy{
			Flag: "--net ports --connect-tcp PORT",
			Note: "PORT is the one that it wants, which this call does not say; for a host by its name: " + byName,
		}
	case network(seccomp.NetPortsDNS) && none:
		return Remedy{
			Flag: byName,
			Note: "if it looks a name up; which name it is this call does not say; or --net ports --dns host, which opens UDP",
		}
	case network(seccomp.NetPortsDNS):
		return Remedy{Flag: "--dns host", Note: "it opens UDP; for a host by its name: " + byName}
	case network(seccomp.NetHost):
		return Remedy{Flag: "--net host", Note: "it opens the host's whole network; most programs do without; --isolation namespaces has a network of the program's own"}
	}
	return filterRemedy(s.name)
}

// opens reports whether the default filter lets a socket be made if one of its options is changed.
func (j *Judge) opens(s *socketCall, change func(*seccomp.Options)) bool {
	if j.plan.NoFilter || len(j.plan.Filter) > 0 {
		return false
	}
	o := j.plan.Seccomp
	change(&o)
	p, err := seccomp.Default(o)
	return err == nil && s.in(p) == seccomp.Allow
}

// debugOpens reports whether the option debug of the filter opens a call.
func (j *Judge) debugOpens(name string) bool {
	if j.plan.NoFilter || len(j.plan.Filter) > 0 || j.plan.Seccomp.Debug {
		return false
	}
	o := j.plan.Seccomp
	o.Debug = true
	p, err := seccomp.Default(o)
	if err != nil {
		return false
	}
	v, err := seccomp.Explain(p, name)
	return err == nil && v.Allowed()
}

// filterRemedy is the way to a call that no option opens.
func filterRemedy(name string) Remedy {
	return Remedy{Flag: "--seccomp FILE", Note: "FILE is an OCI profile of your own that allows " + name}
}
