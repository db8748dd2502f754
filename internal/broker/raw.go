package broker

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls that never block, made without telling the runtime's scheduler: it would take the
// processor of a thread away whose time slice ended in one.

func rawErr(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

func closeFD(fd int) { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

func pidfdOpen(pid int, flags uintptr) (int, error) {
	fd, _, e := unix.RawSyscall(unix.SYS_PIDFD_OPEN, uintptr(pid), flags, 0)
	return int(fd), rawErr(e)
}

func pidfdGetfd(pidfd, fd int) (int, error) {
	got, _, e := unix.RawSyscall(unix.SYS_PIDFD_GETFD, uintptr(pidfd), uintptr(fd), 0)
	return int(got), rawErr(e)
}

func socketOption(fd, name int) (int, error) {
	var v int32
	size := uint32(unsafe.Sizeof(v))
	_, _, e := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, uintptr(name),
		uintptr(unsafe.Pointer(&v)), uintptr(unsafe.Pointer(&size)), 0)
	return int(v), rawErr(e)
}

func statusFlags(fd int) (int, error) {
	flags, _, e := unix.RawSyscall(unix.SYS_FCNTL, uintptr(fd), unix.F_GETFL, 0)
	return int(flags), rawErr(e)
}
