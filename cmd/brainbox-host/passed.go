package main

import (
	"errors"
	"net"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// privileges takes from every thread what no tool of the host needs: more rights by
// execve(2), and being looked at by others (prctl(2), PR_SET_NO_NEW_PRIVS, Linux 3.5).
// brainbox starts this process without the former, so that no thread has to be stopped.
func privileges() error {
	if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || set == 0 {
		_, _, e := syscall.AllThreadsSyscall(syscall.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
		if e == syscall.ENOTSUP { // a build with cgo, whose threads Go does not know: one thread, and again
			return again()
		}
		if e != 0 {
			return os.NewSyscallError("prctl", e)
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	return nil
}

// again starts this program once more without new privileges: execve(2) keeps what the calling
// thread has, and ends the others.
func again() error {
	set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || set == 1 {
		return err
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	return os.NewSyscallError("execve", unix.Exec("/proc/self/exe", os.Args, os.Environ()))
}

// passed takes over a descriptor that brainbox passed.
func passed(fd int, name string) *os.File {
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), name)
}

// passedConn takes over a connected socket.
func passedConn(fd int) (net.Conn, error) {
	f := passed(fd, "socket")
	defer f.Close()
	return net.FileConn(f)
}

// passedListener takes over a listening Unix socket, whose file stays when it is closed: it
// is removed with its folder.
func passedListener(fd int) (*net.UnixListener, error) {
	f := passed(fd, "socket")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(errors.New("not a Unix socket"), l.Close())
	}
	u.SetUnlinkOnClose(false)
	return u, nil
}
