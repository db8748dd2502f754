package spawn

import (
	"encoding/binary"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Child is a started program: execve succeeded.
type Child struct {
	PID   int
	PidFD int // close-on-exec; the caller closes it

	// Listener is what Request.Listener asked for: close-on-exec, the caller closes it. -1
	// without. The filter's calls wait for it from execve(2) on.
	Listener int

	// In namespaces of its own: the program is no child of the caller, so Init tells what
	// becomes of it.
	Init   *Init
	Inside int // the program's number in its own pid namespace
}

// Start forks and confines one program, and returns when execve(2) has succeeded in
// the child or a step has failed. After a failure no process is left: the child has
// been waited for. In namespaces the last step of all, StepReaper, comes after execve: a
// program whose start fails there had begun, confined as it was to be, and was ended. No
// thread of the caller is confined or otherwise changed.
//
// Errors are *Error, or an error of the preparation. clone(2) with CLONE_PIDFD needs
// Linux 5.2; a Cgroup needs clone3(2), Linux 5.7.
func Start(r *Request) (*Child, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Namespaces != nil {
		return startNamespaced(r)
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	defer unix.Close(pipe[0])
	j := newJob()
	mv := &mover{above: r.highest()}
	defer mv.close()
	report, err := mv.move(pipe[1])
	if err != nil {
		unix.Close(pipe[1])
		return nil, err
	}
	if err = mv.moveAll(r); err == nil {
		err = j.build(r, mv.to, os.Getpid())
	}
	if err != nil {
		unix.Close(pipe[1])
		return nil, err
	}
	r.injected().into(&j.calls)

	child := &Child{PidFD: -1, Listener: -1}
	errno := child.clone(j, report, r)
	runtime.KeepAlive(j)
	runtime.KeepAlive(r)
	unix.Close(pipe[1])
	mv.close() // the last writer on our side, else the read below never ends
	if errno == errMoved {
		return nil, ErrMoved
	}
	if errno != 0 {
		return nil, &Error{Step: StepClone, Call: "clone", Errno: errno}
	}
	if err := child.outcome(j, pipe[0]); err != nil {
		if j.listener >= 0 {
			unix.Close(int(j.listener))
		}
		return nil, err
	}
	child.Listener = int(j.listener)
	return child, nil
}

// sharing is what the child shares with the caller: memory, until it executes the program
// or ends, and with a listener the table of descriptors, in which the listener then is the
// caller's too. It needs no privilege, as pidfd_getfd(2) would.
func (r *Request) sharing() uintptr {
	flags := uintptr(unix.CLONE_PIDFD | unix.CLONE_VM | unix.CLONE_VFORK)
	if r.Listener {
		flags |= unix.CLONE_FILES
	}
	return flags
}

// clone forks; the parent's view of the child is filled in.
func (c *Child) clone(j *job, report int, r *Request) syscall.Errno {
	sharing := r.sharing()
	var pid uintptr
	var errno syscall.Errno
	thread := uintptr(r.Thread)
	if r.Cgroup > 0 {
		j.clone = cloneArgs{
			flags:      unix.CLONE_INTO_CGROUP | uint64(sharing),
			pidfd:      uint64(addr(&j.pidfd)),
			exitSignal: uint64(unix.SIGCHLD),
			cgroup:     uint64(r.Cgroup),
		}
		pid, errno = fork(j.calls, report, thread, unix.SYS_CLONE3, addr(&j.clone), unsafe.Sizeof(j.clone), 0)
	} else {
		// amd64 and arm64 agree on the first three: flags, stack, parent_tid, which
		// is where CLONE_PIDFD puts the descriptor (clone(2)).
		pid, errno = fork(j.calls, report, thread, unix.SYS_CLONE, uintptr(unix.SIGCHLD)|sharing, 0, addr(&j.pidfd))
	}
	c.PID, c.PidFD = int(pid), int(j.pidfd)
	return errno
}

// cloneArgs is struct clone_args, CLONE_ARGS_SIZE_VER2 (clone3(2), Linux 5.7).
type cloneArgs struct {
	flags, pidfd uint64
	_, _         uint64 // child_tid, parent_tid
	exitSignal   uint64
	_            [5]uint64 // stack, stack_size, tls, set_tid, set_tid_size
	cgroup       uint64
}

// outcome reads the child's report: end of file means that execve closed the pipe.
func (c *Child) outcome(j *job, from int) error {
	var msg [8]byte
	n, err := 0, error(nil)
	for {
		if n, err = unix.Read(from, msg[:]); err != unix.EINTR { //nolint:errorlint // a raw errno, never wrapped
			break
		}
	}
	if n == 0 && err == nil {
		return nil
	}
	c.reap()
	if err != nil || n != len(msg) {
		return &Error{Step: StepPrepare, Call: "read", Errno: unix.EIO}
	}
	at := binary.NativeEndian.Uint32(msg[:4])
	errno := syscall.Errno(binary.NativeEndian.Uint32(msg[4:]))
	if int(at) >= len(j.calls) {
		return &Error{Step: StepExec, Call: "execve", Errno: errno}
	}
	return &Error{Step: j.calls[at].step, Call: j.calls[at].name, Errno: errno}
}

// reap ends a child whose start failed, and waits for it.
func (c *Child) reap() {
	_ = unix.PidfdSendSignal(c.PidFD, unix.SIGKILL, nil, 0)
	for {
		if _, err := unix.Wait4(c.PID, nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	unix.Close(c.PidFD)
}
