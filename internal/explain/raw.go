package explain

import (
	"bytes"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/launcher"
)

// Calls that never block are made without telling the runtime's scheduler, which would take
// the processor of a thread away whose time slice ended in one.

// Flags of the looks: nothing is opened, and nothing is waited for.
const (
	lookFlags = unix.O_PATH | unix.O_CLOEXEC
	inRoot    = unix.RESOLVE_IN_ROOT

	resolveCached = 0x20 // RESOLVE_CACHED (openat2(2), Linux 5.12)
)

// openat2 makes the call; path ends with a zero.
func openat2(dir int, path []byte, flags, resolve uint64) (int, syscall.Errno) {
	how := unix.OpenHow{Flags: flags, Resolve: resolve}
	fd, _, e := unix.RawSyscall6(unix.SYS_OPENAT2, uintptr(dir), uintptr(unsafe.Pointer(&path[0])),
		uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	return int(fd), e
}

// openat2Slow is openat2 for what may wait.
func openat2Slow(dir int, path string, flags, resolve uint64) (int, syscall.Errno) {
	b := append([]byte(path), 0)
	how := unix.OpenHow{Flags: flags, Resolve: resolve}
	for range 16 { // EAGAIN: somebody renames meanwhile (openat2(2))
		fd, _, e := unix.Syscall6(unix.SYS_OPENAT2, uintptr(dir), uintptr(unsafe.Pointer(&b[0])),
			uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
		if e != unix.EAGAIN && e != unix.EINTR {
			return int(fd), e
		}
	}
	return -1, unix.EAGAIN
}

func closeFD(fd int) {
	if fd >= 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	}
}

// readlink reads a link of /proc: path ends with a zero. What does not fit is ENAMETOOLONG.
func readlink(dir int, path, into []byte) ([]byte, syscall.Errno) {
	n, _, e := unix.RawSyscall6(unix.SYS_READLINKAT, uintptr(dir), uintptr(unsafe.Pointer(&path[0])),
		uintptr(unsafe.Pointer(&into[0])), uintptr(len(into)), 0, 0)
	if e == 0 && int(n) == len(into) {
		e = unix.ENAMETOOLONG
	}
	if e != 0 {
		return nil, e
	}
	return into[:n], 0
}

// pathOf is the name of what a descriptor holds, in its own mount namespace.
func pathOf(fd int, into []byte) ([]byte, syscall.Errno) {
	var b [40]byte
	return readlink(unix.AT_FDCWD, append(strconv.AppendInt(append(b[:0], "/proc/self/fd/"...), int64(fd), 10), 0), into)
}

// status is what is known of a file.
type status struct {
	mode     uint16
	uid, gid uint32
	nlink    uint32
	dev, ino uint64
	mount    uint64
}

// statusOf looks at what is held, without asking a server (AT_STATX_DONT_SYNC, statx(2)).
func statusOf(fd int) (status, bool) {
	var x unix.Statx_t
	empty := [1]byte{}
	_, _, e := unix.RawSyscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(&empty[0])),
		unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT|unix.AT_SYMLINK_NOFOLLOW,
		unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, uintptr(unsafe.Pointer(&x)), 0)
	return status{
		mode: x.Mode, uid: x.Uid, gid: x.Gid, nlink: x.Nlink, ino: x.Ino,
		dev: uint64(x.Dev_major)<<32 | uint64(x.Dev_minor), mount: x.Mnt_id,
	}, e == 0
}

func (s *status) kind() launcher.FileKind { return kindOf(uint32(s.mode)) }

// kindOf is the kind that a mode names (inode(7)).
func kindOf(mode uint32) launcher.FileKind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return launcher.KindRegular
	case unix.S_IFDIR:
		return launcher.KindFolder
	case unix.S_IFLNK:
		return launcher.KindLink
	case unix.S_IFSOCK:
		return launcher.KindSocket
	case unix.S_IFIFO:
		return launcher.KindFIFO
	case unix.S_IFCHR:
		return launcher.KindChar
	case unix.S_IFBLK:
		return launcher.KindBlock
	}
	return launcher.KindAbsent
}

// text looks at bytes as a string, which is good for as long as they are not changed.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func itoa(n int) string { return strconv.Itoa(n) }

// deleted reports whether the kernel says of a name in /proc that it is gone: nothing tells
// that from a name that ends so.
func deleted(path []byte) bool { return bytes.HasSuffix(path, []byte(" (deleted)")) }

// clean makes a path short in place, as path.Clean does: of an absolute one, in which no
// component is a link, that is the same file.
func clean(p []byte) []byte {
	out := p[:0]
	for i := 0; i < len(p); {
		for i < len(p) && p[i] == '/' {
			i++
		}
		start := i
		for i < len(p) && p[i] != '/' {
			i++
		}
		switch comp := p[start:i]; {
		case len(comp) == 0, len(comp) == 1 && comp[0] == '.':
		case len(comp) == 2 && comp[0] == '.' && comp[1] == '.':
			out = out[:max(bytes.LastIndexByte(out, '/'), 0)]
		default:
			out = append(append(out, '/'), comp...)
		}
	}
	if len(out) == 0 {
		out = append(out, '/')
	}
	return out
}
