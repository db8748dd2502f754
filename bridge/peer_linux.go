package bridge

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Peer is who connected (unix(7), SO_PEERCRED): whoever called connect, as seen from our
// user namespace. It is evidence for logs, no authority. The zero Peer is not known.
type Peer struct {
	PID int
	UID uint32
	GID uint32

	// PIDFD is a descriptor of the process, valid while the peer is being judged, so that
	// its pid cannot be another's meanwhile; -1 where the kernel has none (before 6.5).
	PIDFD int
}

// peerOf reads who the other end of a connection is. The caller closes PIDFD.
func peerOf(c *net.UnixConn) (Peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	p := Peer{PIDFD: -1}
	var cred *unix.Ucred
	var got error
	err = raw.Control(func(fd uintptr) {
		if cred, got = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); got != nil {
			return
		}
		// ESRCH: gone already; ENOPROTOOPT: an older kernel.
		if n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
			p.PIDFD = n
		}
	})
	if err := errors.Join(err, got); err != nil {
		return Peer{}, err
	}
	p.PID, p.UID, p.GID = int(cred.Pid), cred.Uid, cred.Gid
	return p, nil
}

func (p *Peer) close() {
	if p.PIDFD >= 0 {
		_ = unix.Close(p.PIDFD)
	}
	p.PIDFD = -1
}

// overflowUID is what a uid that is not mapped is shown as (user_namespaces(7)). It is
// nobody's, whatever it is configured to be.
var overflowUID = sync.OnceValue(func() uint32 {
	const usual = 65534
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return usual
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return usual
	}
	return uint32(n)
})
