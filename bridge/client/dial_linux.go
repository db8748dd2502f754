package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxPath is what fits into a sockaddr_un with its closing zero (unix(7)).
const maxPath = 107

// dialPath connects to a listening socket. It is system calls and no package net: that
// one is a fifth of the small binary.
func dialPath(path string, wait time.Duration) (*os.File, error) {
	if len(path) > maxPath || path == "" || path[0] != '/' {
		return nil, fmt.Errorf("%q is no absolute path of at most %d bytes", path, maxPath)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	// It bounds the wait for room in the listener's queue (socket(7)).
	limit := unix.NsecToTimeval(int64(wait))
	err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit)
	for end := time.Now().Add(wait); err == nil; {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		if !errors.Is(err, unix.EINTR) || time.Now().After(end) {
			break
		}
		err = nil
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, &os.PathError{Op: "connect", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// taken are the inherited descriptors in use by this process: a record lock does not
// keep a process from itself.
var taken struct {
	sync.Mutex
	fds map[int]bool
}

// InUseError says that another process, or this one, has the inherited descriptor.
type InUseError struct {
	FD  int
	PID int // who has it; 0: not known
}

// Error returns the descriptor and its user.
func (e *InUseError) Error() string {
	who := "somebody"
	switch {
	case e.PID == os.Getpid():
		who = "this process"
	case e.PID > 0:
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s has the bridge on descriptor %d, which serves one process at a time", who, e.FD)
}

// takeFD makes an inherited socket this process's, and waits for another one to leave it.
// Two readers of one stream would steal each other's answers, so there is a record lock on
// the socket itself (fcntl(2), F_SETLK): it belongs to the process, not to the open file,
// which all that inherited it share; and the kernel takes it back when the process ends.
func takeFD(ctx context.Context, fd int, wait time.Duration) (*os.File, error) {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM {
		return nil, fmt.Errorf("descriptor %d of %s is no stream socket", fd, EnvFD)
	}
	taken.Lock()
	defer taken.Unlock()
	if taken.fds[fd] {
		return nil, &InUseError{FD: fd, PID: os.Getpid()}
	}
	if err := lockFD(ctx, fd, wait); err != nil {
		return nil, err
	}
	// A child that inherited it could only wait for it.
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if taken.fds == nil {
		taken.fds = map[int]bool{}
	}
	taken.fds[fd] = true
	return os.NewFile(uintptr(fd), "bridge"), nil
}

func lockFD(ctx context.Context, fd int, wait time.Duration) error {
	end := time.NewTimer(wait)
	defer end.Stop()
	for {
		lock := unix.Flock_t{Type: unix.F_WRLCK}
		err := unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &lock)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			return os.NewSyscallError("fcntl", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end.C:
			return &InUseError{FD: fd, PID: holder(fd)}
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// holder is the process that has the lock, 0 if it left or is of another pid namespace.
func holder(fd int) int {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
		return 0
	}
	return int(lock.Pid)
}

func releaseFD(fd int) {
	taken.Lock()
	defer taken.Unlock()
	delete(taken.fds, fd)
}
