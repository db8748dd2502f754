package launcher

import (
	"golang.org/x/sys/unix"
)

// checkStdio refuses a standard descriptor that would be a grant which no clause knows of:
// a folder, from which the program could change what lies in it by fchmod(2) and its
// like, and a Unix datagram socket, which sends to any path that sendto(2) names.
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
			family, ferr := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
			kind, kerr := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
			if ferr != nil || kerr != nil || family == unix.AF_UNIX && kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET {
				why = "a Unix datagram socket"
			}
		}
		if why != "" {
			return &Refusal{
				Status: StatusRefused, Message: names[i] + " is " + why,
				Hint: "give the program a file, a pipe, a terminal or a stream socket",
			}
		}
	}
	return nil
}
