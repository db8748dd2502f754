package launcher

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
	"brainbox/policy"
)

// SocketFact is a Unix socket that the policy lists: the socket, and the folder and name
// under which a server that is started again makes another.
type SocketFact struct {
	PathFact
	UID      uint32 // its owner
	Datagram bool   // the kernel says that a datagram socket is bound to it

	folder int // O_PATH, held until Facts.Close; 0: not held
}

func (s *SocketFact) close() {
	s.PathFact.close()
	if s.folder > 0 {
		unix.Close(s.folder)
		s.folder = 0
	}
}

// observeSockets looks at the listed sockets, and whether they could be brokered here.
func (f *Facts) observeSockets(p *policy.Policy, mountinfo string) {
	if len(p.Network.Unix) == 0 && f.Bridge == nil {
		return
	}
	offer := broker.Offered(f.Identity != nil && f.Identity.UID != uint32(f.Place.EUID))
	f.Broker = &offer
	bound := readSmall("/proc/self/net/unix")
	for _, s := range p.Network.Unix {
		one := lookAtSocket(s.Abs, bound)
		if one.Err == nil {
			one.Others = otherNames(mountinfo, one.Target)
		}
		f.Sockets = append(f.Sockets, one)
	}
}

// lookAtSocket follows the links of a name once, and holds where they led.
func lookAtSocket(path, bound string) SocketFact {
	s := SocketFact{PathFact: openPath(path)}
	if s.Err != nil || !s.Socket {
		return s
	}
	var st unix.Stat_t
	if s.Err = unix.Fstat(s.fd, &st); s.Err != nil {
		return s
	}
	s.UID, s.Datagram = st.Uid, onlyDatagram(bound, s.Target, path)
	s.folder, s.Err = unix.Open(filepath.Dir(s.Target), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if s.Err != nil {
		s.folder = 0
		return s
	}
	var named unix.Stat_t
	s.Err = unix.Fstatat(s.folder, filepath.Base(s.Target), &named, unix.AT_SYMLINK_NOFOLLOW)
	if s.Err == nil && (named.Dev != s.Dev || named.Ino != s.Ino) {
		s.Err = unix.ESTALE // it was replaced in this moment
	}
	return s
}

// onlyDatagram reports whether what is bound to one of the names, in the words of
// proc(5), /proc/net/unix, are datagram sockets.
func onlyDatagram(text string, names ...string) bool {
	found := false
	for line := range strings.SplitSeq(text, "\n") {
		for _, name := range names {
			head, ok := strings.CutSuffix(line, " "+name)
			if f := strings.Fields(head); ok && len(f) == 7 {
				if f[4] != "0002" {
					return false
				}
				found = true
			}
		}
	}
	return found
}
