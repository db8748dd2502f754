package broker

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Socket is one that the program may connect to.
type Socket struct {
	Folder int    // descriptor (O_PATH) of the folder that it is in
	Name   string // one component
	UID    uint32 // its owner
	// Pinned is a descriptor (O_PATH) of the socket itself: only this inode is it, because
	// the program can put another under its name. 0: whatever has the name and the owner.
	Pinned int
}

// object is a file, as long as it is held open.
type object struct{ dev, ino uint64 }

// opened is a file that is held open without having been opened (O_PATH).
type opened struct {
	fd int
	object
	mode, uid uint32
}

func (o *opened) isSocket() bool { return o.mode&unix.S_IFMT == unix.S_IFSOCK }

// hold takes a descriptor and looks at what it is of.
func hold(fd int) (opened, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return opened{}, err
	}
	return opened{fd: fd, object: object{st.Dev, st.Ino}, mode: st.Mode, uid: st.Uid}, nil
}

// look finds a path as connect(2) would, from a held directory, but through no magic link:
// those of /proc/self would be this process's.
func look(from int, path string) (opened, error) {
	fd, err := unix.Openat2(from, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return opened{}, err
	}
	return hold(fd)
}

// open opens the listed socket as it is now, and reports whether it is still what was
// listed.
func (s *Socket) open() (opened, bool) {
	fd, err := unix.Openat(s.Folder, s.Name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return opened{}, false
	}
	o, err := hold(fd)
	if err != nil {
		return opened{}, false
	}
	if !o.isSocket() || o.uid != s.UID || s.Pinned > 0 && !s.pinned(o.object) {
		closeFD(o.fd)
		return opened{}, false
	}
	return o, true
}

func (s *Socket) pinned(o object) bool {
	var st unix.Stat_t
	return unix.Fstat(s.Pinned, &st) == nil && object{st.Dev, st.Ino} == o
}

// find opens the listed socket that o is.
func find(list []Socket, o *opened) (opened, bool) {
	if !o.isSocket() {
		return opened{}, false
	}
	for i := range list {
		now, ok := list[i].open()
		if !ok {
			continue
		}
		if now.object == o.object {
			return now, true
		}
		closeFD(now.fd)
	}
	return opened{}, false
}

// connect connects a socket to an address.
func connect(fd int, address []byte) syscall.Errno {
	_, _, e := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
	return e
}

// addressOf is the address of what is held: by number in /proc, which no name can take
// away (proc(5)).
func addressOf(fd int) []byte {
	b := make([]byte, 0, unixSize)
	b = append(b, unix.AF_UNIX, 0) // little-endian, as amd64 and arm64 are
	b = append(b, "/proc/self/fd/"...)
	return append(appendInt(b, fd), 0)
}

func appendInt(b []byte, n int) []byte {
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}
