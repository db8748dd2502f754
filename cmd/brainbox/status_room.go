package main

import "golang.org/x/sys/unix"

// crowded reports whether more than half of what the kernel keeps for the reader is taken.
// Events of the network, whose number the program chooses, are not written then, so that the
// last line of the run has room: a reader may begin when the run has ended. A file has room.
func (s *statusLines) crowded() bool {
	size, errSize := unix.FcntlInt(uintptr(s.fd), unix.F_GETPIPE_SZ, 0) // Linux 2.6.35
	unread, errUnread := unix.IoctlGetInt(s.fd, unix.TIOCINQ)           // FIONREAD (pipe(7)), at either end
	if s.socket {
		size, errSize = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
		unread, errUnread = unix.IoctlGetInt(s.fd, unix.TIOCOUTQ) // SIOCOUTQ (unix(7)): with what the kernel has around it
	}
	return errSize == nil && errUnread == nil && unread > size/2
}
