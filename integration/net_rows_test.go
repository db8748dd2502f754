package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMatrixNetwork(t *testing.T) {
	real, control := runRows(t, slices.Concat(tcpRows(), ownNetwork(packetRows()), familyRows(), unixRows()))
	if got := real.net.got.Load(); got != 0 {
		t.Errorf("%d connections or messages arrived outside", got)
	}
	// The controls did arrive: the listeners count.
	waitFor(t, "what the controls sent", func() bool { return control.net.got.Load() >= 12 })
}

// socket opens a socket; connect to an address with it is the next call.
func socket(family, kind, protocol int) string {
	return call(unix.SYS_SOCKET, family, kind, protocol)
}

// sendTo sends one byte to an address.
func sendTo(address string) string { return call(unix.SYS_SENDTO, "$1", "s:x", 1, 0, address, "#") }

func connect(address string) string { return call(unix.SYS_CONNECT, "$1", address, "#") }

// tcpRows is NW-01 to NW-05 and NW-09 to NW-13.
func tcpRows() []row {
	return slices.Concat(ownNetwork(connectRows()), ownNetwork(fastOpenRows()), ownNetwork(listenRows()))
}

// ownNetwork are rows of protocols that isolation namespaces grants in a network of the
// program's own: nobody answers there, and what the listeners outside count has to stay 0.
func ownNetwork(rows []row) []row {
	for i := range rows {
		switch r := &rows[i]; {
		case strings.Contains(r.name, "MPTCP"), strings.HasPrefix(r.name, "SCTP"), strings.HasPrefix(r.name, "SMC"),
			strings.HasPrefix(r.name, "raw"), strings.HasPrefix(r.name, "UDP-Lite"):
		default:
			r.ns = append(errnos("ECONNREFUSED", "EBADF", "ENETUNREACH", "EACCES"), "ok")
		}
	}
	return rows
}

// connectRows are connections.
func connectRows() []row {
	refused := errnos("EPERM", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT")
	const stream, v4, v6 = unix.SOCK_STREAM, unix.AF_INET, unix.AF_INET6
	return []row{
		{
			id: "NW-01", name: "TCP connect v4",
			attempt: then(socket(v4, stream, 0), connect("in4:{TCP4}")), want: refused,
		},
		{
			id: "NW-01", name: "TCP connect v6",
			attempt: then(socket(v6, stream, 0), connect("in6:{TCP6}")), want: refused,
		},
		{
			id: "NW-01", name: "TCP connect v4 with flags",
			attempt: then(socket(v4, stream|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP), connect("in4:{TCP4}")),
			want:    refused,
		},
		{
			id: "NW-02", name: "mapped v4 over v6",
			attempt: then(socket(v6, stream, 0), connect("in6:{MAPPED}")), want: refused, prepare: mapped,
		},
		{
			id: "NW-03", name: "MPTCP connect",
			attempt: then(socket(v4, stream, 262), connect("in4:{TCP4}")), want: refused,
		},
	}
}

// fastOpenRows are data in the first packet.
func fastOpenRows() []row {
	refused := errnos("EPERM", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT")
	const stream, v4 = unix.SOCK_STREAM, unix.AF_INET
	const fastOpen = unix.MSG_FASTOPEN
	send := func(address string) string {
		return call(unix.SYS_SENDTO, "$1", "s:x", 1, fastOpen, address, "#")
	}
	return []row{
		{
			id: "NW-04", name: "sendto fast open",
			attempt: then(socket(v4, stream, 0), send("in4:{TCP4}")), want: refused,
		},
		{
			id: "NW-04", name: "sendto fast open of an open socket",
			attempt: call(unix.SYS_SENDTO, 9999, "s:x", 1, fastOpen, 0, 0), want: errnos("EPERM"), differs: true,
		},
		{
			id: "NW-04", name: "sendto fast open with a high bit",
			attempt: call(unix.SYS_SENDTO, 9999, "s:x", 1, fmt.Sprint(uint64(fastOpen|1<<40)), 0, 0),
			want:    errnos("EPERM"), differs: true,
		},
		{
			id: "NW-04", name: "sendmsg fast open",
			attempt: then(socket(v4, stream, 0), call(unix.SYS_SENDMSG, "$1", "msg:in4:{TCP4}|x", fastOpen)),
			want:    refused,
		},
		{
			id: "NW-04", name: "sendmsg fast open of an open socket",
			attempt: call(unix.SYS_SENDMSG, 9999, 0, fastOpen), want: errnos("EPERM"), differs: true,
		},
		{
			id: "NW-04", name: "sendmmsg fast open of an open socket",
			attempt: call(unix.SYS_SENDMMSG, 9999, 0, 1, fastOpen), want: errnos("EPERM"), differs: true,
		},
		{
			id: "NW-05", name: "TCP_FASTOPEN_CONNECT",
			attempt: then(
				socket(v4, stream, 0),
				call(unix.SYS_SETSOCKOPT, "$1", unix.IPPROTO_TCP, 30, "u32:1", 4),
				connect("in4:{TCP4}"),
			),
			want: refused,
		},
	}
}

// listenRows are ports of the own, and other protocols.
func listenRows() []row {
	refused := errnos("EPERM", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT")
	const stream, v4 = unix.SOCK_STREAM, unix.AF_INET
	bind := func(address string) string { return call(unix.SYS_BIND, "$1", address, "#") }
	return []row{
		{id: "NW-09", name: "TCP bind", attempt: then(socket(v4, stream, 0), bind("in4:127.0.0.1:0")), want: refused},
		{
			id: "NW-10", name: "listen without bind",
			attempt: then(socket(v4, stream, 0), call(unix.SYS_LISTEN, "$1", 1)), want: refused,
		},
		{
			id: "NW-11", name: "MPTCP listen",
			attempt: then(socket(v4, stream, 262), bind("in4:127.0.0.1:0"), call(unix.SYS_LISTEN, "$1", 1)),
			want:    refused,
		},
		{id: "NW-13", name: "SCTP", attempt: socket(v4, stream, 132), want: refused, inside: "status Seccomp"},
		{id: "NW-13", name: "SMC", attempt: socket(43, stream, 0), want: refused, inside: "status Seccomp"},
	}
}

// mapped names the TCP listener as a v6 socket reaches it.
func mapped(_ *testing.T, w *world) {
	w.vars["MAPPED"] = "[::ffff:127.0.0.1]" + w.net.vars["TCP4"][len("127.0.0.1"):]
}

// packetRows is NW-06, NW-07 and NW-12.
func packetRows() []row {
	refused := errnos("EPERM", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT")
	const v4, v6, dgram, raw = unix.AF_INET, unix.AF_INET6, unix.SOCK_DGRAM, unix.SOCK_RAW
	return []row{
		{id: "NW-06", name: "UDP v4", attempt: then(socket(v4, dgram, 0), sendTo("in4:{UDP4}")), want: refused},
		{id: "NW-06", name: "UDP v6", attempt: then(socket(v6, dgram, 0), sendTo("in6:{UDP6}")), want: refused},
		{
			id: "NW-06", name: "UDP connected",
			attempt: then(
				socket(v4, dgram|unix.SOCK_NONBLOCK, 17),
				connect("in4:{UDP4}"),
				call(unix.SYS_SENDTO, "$1", "s:x", 1, 0, 0, 0),
			),
			want: refused,
		},
		{id: "NW-06", name: "UDP-Lite", attempt: socket(v4, dgram, 136), want: refused, inside: "status Seccomp"},
		{id: "NW-12", name: "raw", attempt: socket(v4, raw, 1), want: refused, root: true},
		{id: "NW-12", name: "raw packet", attempt: socket(unix.AF_PACKET, raw, 0), want: refused, root: true},
		{id: "NW-12", name: "ICMP datagram", attempt: socket(v4, dgram, 1), want: refused, inside: "status Seccomp"},
	}
}

// familyRows is IP-18 and IP-19: every family that is not granted.
func familyRows() []row {
	var rows []row
	for family := 0; family <= 46; family++ {
		if family == unix.AF_UNIX || family == unix.AF_INET || family == unix.AF_INET6 {
			continue
		}
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			r := row{
				id: "IP-18", name: fmt.Sprintf("family %d type %d", family, kind), attempt: socket(family, kind, 0),
				want: errnos("EPERM", "EAFNOSUPPORT"), inside: "status Seccomp",
			}
			if family == unix.AF_NETLINK { // of the program's own network, and protocol 0 alone: IP-19
				r.ns = append(errnos("ESOCKTNOSUPPORT"), "ok")
			}
			rows = append(rows, r)
		}
	}
	rows = append(rows, row{
		id: "IP-18", name: "AF_VSOCK against outside", attempt: socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		want: errnos("EPERM", "EAFNOSUPPORT"),
	})
	for _, protocol := range []int{0, 4, 9, 12, 15, 16} { // ROUTE, SOCK_DIAG, AUDIT, NETFILTER, KOBJECT_UEVENT, GENERIC
		r := row{
			id: "IP-19", name: fmt.Sprint("netlink protocol ", protocol),
			attempt: socket(unix.AF_NETLINK, unix.SOCK_RAW, protocol),
			want:    errnos("EPERM", "EAFNOSUPPORT"), differs: true,
		}
		if protocol == unix.NETLINK_ROUTE { // of the program's own network
			r.ns = []string{"ok"}
		}
		rows = append(rows, r)
	}
	return rows
}

// unixRows is area I.
func unixRows() []row { return slices.Concat(pathRows(), pairRows()) }

// pathRows are sockets with a name.
func pathRows() []row {
	eperm := errnos("EPERM", "EACCES", "EAFNOSUPPORT")
	const un, stream, dgram, seq = unix.AF_UNIX, unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET
	try := func(id, name string, kind int, use string) row {
		return row{
			id: id, name: name, attempt: then(socket(un, kind, 0), use), want: eperm,
			ns: append(last(1, "ECONNREFUSED", "ENOENT"), eperm...), // nobody of that name is there
		}
	}
	return []row{
		try("IP-01", "abstract stream", stream, connect("ab:{ABSTRACT}")),
		try("IP-02", "abstract datagram", dgram, sendTo("ab:{ABSTRACTDGRAM}")),
		try("IP-03", "stream by path", stream, connect("un:{UNIX}")),
		try("IP-04", "datagram by path", dgram, sendTo("un:{DGRAM}")),
		try("IP-04", "seqpacket by path", seq, connect("un:{SEQPACKET}")),
	}
}

// pairRows is IP-17 and IP-21: a pair of sockets works, and is no way to a name.
func pairRows() []row {
	refused := []string{"EPERM", "EACCES", "EAFNOSUPPORT", "ESOCKTNOSUPPORT"}
	const un, stream, dgram, seq, raw = unix.AF_UNIX, unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET, unix.SOCK_RAW
	// The descriptors of a pair are not known to the attempt: the first free number is
	// found by opening something.
	pair := func(kind any, use string) string {
		free := then(openat("/", unix.O_PATH), call(unix.SYS_CLOSE, "$1"))
		return then(free, call(unix.SYS_SOCKETPAIR, un, kind, 0, "buf:8"), use)
	}
	write := call(unix.SYS_WRITE, "$1", "s:x", 1)
	works := func(name, attempt string) row {
		return row{id: "IP-17", name: name + " works", attempt: attempt, want: []string{"ok"}}
	}
	reaches := func(name string, kind any) row {
		want := last(2, refused...)
		if byPath() { // pairs of every kind are made, and Landlock asks where they send to
			want = last(3, "EACCES")
		}
		return row{id: "IP-21", name: name, attempt: pair(kind, sendTo("un:{DGRAM}")), want: want}
	}
	wide := reaches("datagram pair with a high bit", high(dgram))
	wide.control = pair(dgram, sendTo("un:{DGRAM}"))
	return []row{
		works("stream pair", pair(stream, write)),
		works("seqpacket pair", pair(seq, write)),
		works("pipe", call(unix.SYS_PIPE2, "buf:8", 0)),
		works("eventfd", call(unix.SYS_EVENTFD2, 0, 0)),
		reaches("datagram pair", dgram),
		reaches("raw pair", raw),
		reaches("datagram pair with flags", dgram|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK),
		wide,
		{
			id: "IP-21", name: "stream pair reaches no path", inside: pair(stream, write),
			attempt: pair(stream, sendTo("un:{UNIX}")), want: errnos("EISCONN", "EOPNOTSUPP", "EPERM"),
		},
	}
}
