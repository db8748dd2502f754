package launcher

import (
	"golang.org/x/sys/unix"

	"brainbox/landlock"
	"brainbox/seccomp"
)

// reconnect says how far a socket of the Internet leads that the program is handed. Its connection
// is no bound: connect(2) with AF_UNSPEC undoes it, and the next one leads wherever the program
// wants, in the network where the socket was made.
type reconnect uint8

const (
	reconnectAnywhere reconnect = iota // anywhere: none is handed over
	reconnectByPort                    // Landlock decides by the port, of TCP and nothing else
	reconnectOpen                      // the network is the host's, as declared
)

// reconnects says what holds a socket that the program is handed.
func (p *Plan) reconnects(f *Facts) reconnect {
	switch {
	case p.OwnNetwork: // a handed socket is of another one, and Landlock leaves TCP alone
		return reconnectAnywhere
	case p.Seccomp.Network == seccomp.NetHost:
		return reconnectOpen
	case p.Seccomp.Network == seccomp.NetNone && f.Landlock.Used() < landlock.TCP.ABI():
		return reconnectAnywhere // the filter refuses to make a socket, and not to connect one
	}
	return reconnectByPort
}

// checkHanded refuses descriptors that would be a grant which no clause knows of: the standard
// ones and those that are passed beside them.
func (p *Plan) checkHanded(f *Facts, stdio [3]int, pass []Pass) error {
	held := p.reconnects(f)
	if err := checkStdio(stdio, held); err != nil {
		return err
	}
	for _, x := range pass {
		if err := checkHandedFD("descriptor "+itoa(x.From), x.From, held); err != nil {
			return err
		}
	}
	return nil
}

// checkStdio refuses a standard descriptor that would be a grant which no clause knows of:
// a folder, from which the program could change what lies in it by fchmod(2) and its
// like, and a socket that can still choose whom it talks to.
func checkStdio(fds [3]int, held reconnect) error {
	for i, name := range [...]string{"standard input", "standard output", "standard error"} {
		if err := checkHandedFD(name, fds[i], held); err != nil {
			return err
		}
	}
	return nil
}

func checkHandedFD(name string, fd int, held reconnect) error {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return nil // closed: the program has it closed too
	}
	why := ""
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		why = "a folder"
	case unix.S_IFSOCK:
		why = openSocket(fd, held)
	}
	if why == "" {
		return nil
	}
	return &Refusal{
		Status: StatusRefused, Message: name + " is " + why,
		Hint: "give the program a file, a pipe, a terminal or a connected Unix socket, such as cat | brainbox … | cat",
	}
}

// openSocket says why a socket reaches more than one peer, "" if it does not. The filter
// refuses to make such sockets and cannot refuse to use one: a datagram socket, connected
// or not, sends to whatever address sendto(2) names; a stream socket without a peer
// connects to any path, or takes connections; and one of the Internet can get rid of its peer.
func openSocket(fd int, held reconnect) string {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET {
		return "a datagram, raw or netlink socket"
	}
	if _, err := unix.Getpeername(fd); err != nil {
		return "a socket that is not connected"
	}
	family, err1 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	protocol, err2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	switch {
	case err1 != nil || err2 != nil:
		return "a socket of an unknown kind"
	case family == unix.AF_UNIX, held == reconnectOpen:
	case held == reconnectByPort && protocol == unix.IPPROTO_TCP && (family == unix.AF_INET || family == unix.AF_INET6):
	default:
		return "a socket of the host's network, which the program could connect anew, to any address"
	}
	return ""
}
