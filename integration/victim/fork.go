package main

import (
	"errors"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawCall is one call of a forked child.
type rawCall struct {
	nr uintptr
	a  [6]uintptr
}

// opFork makes the calls in a forked child that has one thread and is no Go
// program any more, so that what they change ends with it.
func opFork(words []string) (string, error) {
	a := &attempt{}
	var list []rawCall
	for _, call := range split(words) {
		if len(call) == 0 {
			return "", errors.New("empty call")
		}
		nr, err := strconv.ParseUint(call[0], 0, 64)
		if err != nil {
			return "", err
		}
		args, err := a.values(call[1:])
		if err != nil {
			return "", err
		}
		list = append(list, rawCall{uintptr(nr), args})
	}
	return forked(uintptr(unix.SIGCHLD), list)
}

// opClone forks with the given clone(2) flags; the child ends at once.
func opClone(words []string) (string, error) {
	if len(words) != 1 {
		return "", errors.New("usage: clone FLAGS")
	}
	flags, ok := number(words[0])
	if !ok {
		return "", errors.New("bad flags")
	}
	return forked(flags|uintptr(unix.SIGCHLD), nil)
}

// forked forks, makes the calls in the child, and waits for it.
func forked(flags uintptr, list []rawCall) (string, error) {
	var all, old uint64 = ^uint64(0), 0
	if err := sigmask(&all, &old); err != nil {
		return "", err
	}
	pid, errno := fork(flags, list)
	if err := sigmask(&old, nil); err != nil {
		return "", err
	}
	if errno != 0 {
		return "", errno
	}
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(int(pid), &status, unix.WALL, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return "", err
		}
	}
	switch {
	case status.Signaled():
		return "signal " + unix.SignalName(status.Signal()), nil
	case status.ExitStatus() != 0:
		return "", syscall.Errno(status.ExitStatus())
	}
	return "forked", nil
}

// fork clones and makes the calls in the child, which ends with the errno of the
// first that fails as its status, or 0. Only the parent returns.
//
//go:norace
//go:nosplit
func fork(flags uintptr, list []rawCall) (uintptr, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	var status uintptr
	for i := range list {
		c := &list[i]
		_, _, e := syscall.RawSyscall6(c.nr, c.a[0], c.a[1], c.a[2], c.a[3], c.a[4], c.a[5])
		if e != 0 {
			status = uintptr(e)
			break
		}
	}
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, status, 0, 0, 0, 0, 0)
	}
}
