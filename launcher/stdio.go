package launcher

import (
	"golang.org/x/sys/unix"
)

// checkStdio refuses a standard descriptor that would be a grant which no clause knows of:
// a folder, from which the program could change what lies in it by fchmod(2) and its
// like, and a socket that can still choose whom it talks to.
func checkStdio(fds [3]int) error {
	names := [3]string{"standard input", "standard output", "standard error"}
	for i, fd := range fds {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil {
			continue // closed: the program has it closed too
		}
		why := ""
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			why = "a folder"
		case unix.S_IFSOCK:
			why = openSocket(fd)
		}
		if why != "" {
			return &Refusal{
				Status: StatusRefused, Message: names[i] + " is " + why,
				Hint: "give the program a file, a pipe, a terminal or a connected stream socket",
			}
		}
	}
	return nil
}

// openSocket says why a socket reaches more than one peer, "" if it does not. The filter
// refuses to make such sockets and cannot refuse to use one: a datagram socket, connected
// or not, sends to whatever address sendto(2) names; a stream socket without a peer
// connects to any path, or takes connections.
func openSocket(fd int) string {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET {
		return "a datagram, raw or netlink socket"
	}
	if _, err := unix.Getpeername(fd); err != nil {
		return "a socket that is not connected"
	}
	return ""
}
