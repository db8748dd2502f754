package namescan

import (
	"errors"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const openFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// resolve keeps every step of the way beneath the top, on one mount and on no link
// (openat2(2), Linux 5.6).
const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// opener opens folders beneath one top.
type opener struct {
	root  int
	steps bool   // without openat2
	mount uint64 // of the root, with steps
	how   unix.OpenHow
}

// open opens the folder whose path begins at p and is ended by a NUL byte; path is the
// same as a string.
func (o *opener) open(p *byte, path string) (int, error) {
	if !o.steps {
		o.how = unix.OpenHow{Flags: openFlags, Resolve: resolve}
		for range maxAgain {
			fd, _, e := unix.Syscall6(unix.SYS_OPENAT2, uintptr(o.root), uintptr(unsafe.Pointer(p)),
				uintptr(unsafe.Pointer(&o.how)), unix.SizeofOpenHow, 0, 0)
			switch e {
			case 0:
				return int(fd), nil
			case unix.EAGAIN, unix.EINTR: // a rename beside the path, or a signal
				continue
			case unix.ENOSYS, unix.EPERM: // an outer filter that does not know the call
				o.steps = true
			default:
				return -1, e
			}
			break
		}
		if !o.steps {
			return -1, unix.EAGAIN
		}
	}
	return o.walk(path)
}

// maxAgain bounds how often a busy tree is asked again (openat2(2), EAGAIN).
const maxAgain = 32

// walk opens path one component after the other. It is as strict as openat2.
func (o *opener) walk(path string) (int, error) {
	if o.mount == 0 {
		id, err := mountID(o.root)
		if err != nil {
			return -1, err
		}
		o.mount = id
	}
	at := o.root
	for part := range strings.SplitSeq(path, "/") {
		fd, err := unix.Openat(at, part, openFlags, 0)
		if at != o.root {
			closeFD(at)
		}
		if err != nil {
			return -1, err
		}
		at = fd
	}
	id, err := mountID(at)
	if err == nil && id != o.mount {
		err = unix.EXDEV
	}
	if err != nil {
		closeFD(at)
		return -1, err
	}
	return at, nil
}

// mountID is the number of the mount that fd is on (statx(2), STATX_MNT_ID, Linux 5.8).
func mountID(fd int) (uint64, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil {
		return 0, err
	}
	if st.Mask&unix.STATX_MNT_ID == 0 {
		return 0, unix.ENOSYS
	}
	return st.Mnt_id, nil
}

// getdents reads entries into buf; 0 is the end.
func getdents(fd int, buf []byte) (int, error) {
	for {
		n, _, e := unix.Syscall(unix.SYS_GETDENTS64, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
		switch {
		case e == 0:
			return int(n), nil
		case !errors.Is(e, unix.EINTR):
			return 0, e
		}
	}
}

func closeFD(fd int) { _ = unix.Close(fd) }

// look tells the type of an entry that the file system does not tell.
func (s *scanner) look(fd int, name string) uint8 {
	var st unix.Stat_t
	if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return unix.DT_UNKNOWN
	}
	return uint8(st.Mode & unix.S_IFMT >> 12) // DT_ values are those of the mode (readdir(3))
}
