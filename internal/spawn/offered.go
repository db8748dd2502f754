package spawn

import (
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NotOffered says that the start failed because this kernel, or what it runs in, offers
// no namespaces to this caller: the refusing step is the clone, the maps, or the first
// mount call, and the errno is one that these give for it (clone(2), user_namespaces(7)).
// So it is in a container whose /proc is not whole: where a part of it is covered or
// read-only, the kernel gives nobody a new one that would show it (mount_namespaces(7)),
// and nobody a limit to write to. And so it is before Linux 5.12, which has not all of the mount
// calls (ENOSYS). Every other failure means that something is wrong with
// this start.
func (e *Error) NotOffered() bool {
	switch e.Step {
	case StepNamespaces, StepMaps, StepPrivate:
		return slices.Contains([]syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOSPC, syscall.EUSERS}, e.Errno)
	case StepRoot:
		return e.Errno == unix.ENOSYS // mount_setattr(2) and the like: an older kernel
	default:
		return e.Covered()
	}
}

// Covered says that the start failed for a /proc that an outer container has covered or
// made read-only in part.
func (e *Error) Covered() bool {
	refused := e.Errno == unix.EPERM || e.Errno == unix.EACCES
	return e.Step == StepProc && refused || e.Step == StepNested && (refused || e.Errno == unix.EROFS)
}

// Try finds out whether namespaces are offered here, by making them as [Start] does: the
// clone, the maps, a private file system with a /proc of its own. No program is started,
// and nothing is left when Try returns. Only Net, Userns and the maps of n count: Network is not called. The error
// is what Start would have returned.
//
// The init is a plain copy of the caller (fork(2)): a caller with a large memory should
// leave the trial to the start itself, in a small process.
func Try(n *Namespaces) error {
	runtime.LockOSThread() // the init dies with the thread that made it
	defer runtime.UnlockOSThread()
	trial := *n
	trial.Loopback, trial.Hostname, trial.Dir, trial.Network = false, "", "", nil
	trial.Mounts = []Mount{
		{Kind: KindDir, Path: "/proc", Mode: 0o555}, {Kind: KindFS, Path: "/proc", FSType: "proc"},
	}
	l := &launch{request: &Request{Stdio: [3]int{0, 1, 2}, Namespaces: &trial, trial: true}, setup: newSetup()}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	err = l.clone(pair, nil)
	unix.Close(pair[1])
	if err != nil {
		unix.Close(pair[0])
		return err
	}
	defer l.child.Init.End()
	if err := l.admit(); err != nil {
		return err
	}
	_, err = l.hear(msgReady)
	return err
}

// conclude ends a trial: it says so, and is no more.
func (s *setup) conclude(sock int) {
	const size = unsafe.Sizeof(message{})
	s.add(StepInit, "write", unix.SYS_WRITE, uintptr(sock), addr(&s.init.ready), size).orValue(size)
	s.add(StepInit, "exit_group", unix.SYS_EXIT_GROUP, 0)
}
