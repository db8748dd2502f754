package proxy

import (
	"context"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// unwatched is how long an opening goes without somebody who waits for the program's end: most
// are over by then, and to wait takes a goroutine, which is time that connections wait.
const unwatched = 10 * time.Millisecond

// watch returns a context that ends when the program gives up the connection, before
// anything was let through: so no name is resolved and no address dialled for nobody. It
// reads nothing. stop has to be called once, before c is read from.
//
// A reset is giving up. So is an orderly end with nothing before it; one that follows bytes
// nobody has read yet is a client that has said all it has to say.
func watch(ctx context.Context, c net.Conn) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancel(ctx)
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return watched, cancel
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return watched, cancel
	}
	left := false
	if err := raw.Control(func(fd uintptr) { left = gone(fd) }); err != nil || left {
		cancel()
		return watched, cancel
	}
	over := make(chan struct{})
	late := time.AfterFunc(unwatched, func() {
		defer close(over)
		// Returns when gone says so, or for the deadline that stop sets, or closed.
		if err := raw.Read(gone); err == nil {
			cancel()
		}
	})
	return watched, func() {
		if !late.Stop() {
			_ = c.SetReadDeadline(time.Unix(1, 0))
			<-over
			_ = c.SetReadDeadline(time.Time{})
		}
		cancel()
	}
}

// gone reports whether the peer of a TCP socket has reset the connection, or has ended it
// and there is nothing to be read (poll(2), POLLRDHUP: Linux 2.6.17).
func gone(fd uintptr) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}}
	for {
		_, err := unix.Poll(poll, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return true
		}
		break
	}
	got := poll[0].Revents
	if got&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
		return true
	}
	if got&unix.POLLRDHUP == 0 {
		return false
	}
	unread, err := unix.IoctlGetInt(int(fd), unix.SIOCINQ)
	return err != nil || unread == 0
}
