package broker

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// take copies descriptor fd of the thread's process into this one: the same open file
// description, whatever becomes of the number there.
func take(tid int, fd int32) (int, error) {
	p, err := pidfd(tid)
	if err != nil {
		return -1, err
	}
	defer closeFD(p)
	return pidfdGetfd(p, int(fd))
}

// pidfdThread is PIDFD_THREAD (pidfd_open(2), Linux 6.9).
const pidfdThread = unix.O_EXCL

// pidfd opens the process of a thread. Before Linux 6.9 that of another thread than the
// first is found by its number: the threads of a process share their descriptors.
func pidfd(tid int) (int, error) {
	p, err := pidfdOpen(tid, 0)
	if err == nil || errors.Is(err, unix.ESRCH) {
		return p, err
	}
	if p, err = pidfdOpen(tid, pidfdThread); err == nil || !errors.Is(err, unix.EINVAL) {
		return p, err
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return -1, err
	}
	_, rest, _ := strings.Cut(string(text), "\nTgid:")
	line, _, _ := strings.Cut(rest, "\n")
	tgid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return -1, unix.ESRCH
	}
	return pidfdOpen(tgid, 0)
}

// copyMemory reads the memory of a process into b, once. EFAULT is the kernel's word for a
// pointer that leads nowhere. The memory may be of a file whose file system hangs, so the
// runtime is told: a processor that it could not take back would stop the whole process.
func copyMemory(tid int, at uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	local := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	remote := unix.RemoteIovec{Base: uintptr(at), Len: len(b)}
	n, _, e := unix.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	switch {
	case e != 0:
		return e
	case int(n) != len(b):
		return unix.EFAULT
	}
	return nil
}

// describe says what a descriptor is. What is no socket gives ENOTSOCK, what was opened with
// O_PATH EBADF, as connect(2) does.
func describe(fd int) (kind, error) {
	var k kind
	var err error
	if k.domain, err = socketOption(fd, unix.SO_DOMAIN); err != nil {
		return kind{}, err
	}
	if k.kind, err = socketOption(fd, unix.SO_TYPE); err != nil {
		return kind{}, err
	}
	if k.domain == unix.AF_UNIX {
		return k, nil // it has one protocol
	}
	k.protocol, err = socketOption(fd, unix.SO_PROTOCOL)
	return k, err
}

// workingDirectory opens the thread's own, which its siblings may not share (CLONE_FS).
func workingDirectory(tid int) (int, error) {
	return unix.Open("/proc/"+strconv.Itoa(tid)+"/cwd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// errnoOf is the errno behind an error of a call.
func errnoOf(err error) syscall.Errno {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return unix.EACCES
}
