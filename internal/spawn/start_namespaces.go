package spawn

import (
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// startNamespaced is Start for a request with Namespaces.
//
//	caller                                     init
//	clone(2) ──────────────────────────────────► death signal
//	uid_map, gid_map
//	msgReady                                ◄──  close, handlers
//	Namespaces.Network
//	a byte ────────────────────────────────────► undumpable, mounts, root, capabilities
//	                                             clone(2) ──► command: its list, execve
//	msgStarted with the command's pidfd     ◄──  close, no capabilities
//	and its listener
//	a byte ────────────────────────────────────► wait for everybody
//	msgState … (Init.Event)                 ◄──
//	the last msgState                       ◄──  the command has ended: so does everybody
//	wait, by Init.End (or SIGKILL before)
//
// Instead of any of its messages the init may send msgFailed, and ends then. Either side
// that goes away ends the other's wait: the init's by end of file and by the death signal,
// the caller's by end of file.
func startNamespaced(r *Request) (*Child, error) {
	if err := refuseFolders(r); err != nil {
		return nil, err
	}
	stat, err := readProc("self/stat")
	if err != nil {
		return nil, err
	}
	wipe, err := argumentBlock(stat)
	if err != nil {
		return nil, err
	}
	var pair [2]int
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	l := &launch{request: r, setup: newSetup()}
	err = l.clone(pair, wipe)
	unix.Close(pair[1]) // the init's end is the init's alone
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	if err := l.settle(); err != nil {
		l.child.Init.End()
		for _, fd := range [...]int{l.child.PidFD, l.child.Listener} {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
		return nil, err
	}
	return &l.child, nil
}

// launch is one start in namespaces on its way.
type launch struct {
	request *Request
	setup   *setup
	child   Child
}

// refuseFolders refuses to hand a directory of the caller's file system to the program:
// it leads out of the new root (openat(2) of ".." in it).
func refuseFolders(r *Request) error {
	fds := r.Stdio[:]
	for _, p := range r.Pass {
		fds = append(fds, p.From)
	}
	for _, fd := range fds {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return &Error{Step: StepPrepare, Call: "fstat", Errno: errnoOf(err)}
		}
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return &Error{Step: StepPrepare, Call: "fstat", Errno: unix.EISDIR}
		}
	}
	return nil
}

func errnoOf(err error) syscall.Errno {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return unix.EIO
}

// clone makes the init, which gets the second end of the pair.
func (l *launch) clone(pair [2]int, wipe []span) error {
	r, s := l.request, l.setup
	mv := &mover{above: r.highest()}
	defer mv.close()
	sock, err := mv.move(pair[1])
	if err == nil {
		err = mv.moveAll(r)
	}
	if err == nil {
		err = s.build(r, mv.to, sock, wipe, identify)
	}
	if err != nil {
		return err
	}
	r.injected().into(&s.before.calls, &s.command.calls, &s.after.calls)
	i := s.init
	i.before, i.command, i.after = s.before.calls, s.command.calls, s.after.calls

	flags := uint64(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
		unix.CLONE_NEWCGROUP | unix.CLONE_PIDFD)
	if r.Namespaces.Net {
		flags |= unix.CLONE_NEWNET
	}
	flags = mutatedFlags(flags, i.before, i.command)
	j := s.before
	j.pidfd = -1
	thread := uintptr(r.Thread)
	var pid uintptr
	var errno syscall.Errno
	if r.Cgroup > 0 {
		j.clone = cloneArgs{
			flags: flags | unix.CLONE_INTO_CGROUP, pidfd: uint64(addr(&j.pidfd)),
			exitSignal: uint64(unix.SIGCHLD), cgroup: uint64(r.Cgroup),
		}
		pid, errno = forkInit(i, thread, unix.SYS_CLONE3, addr(&j.clone), unsafe.Sizeof(j.clone), 0)
	} else {
		pid, errno = forkInit(i, thread, unix.SYS_CLONE, uintptr(flags)|uintptr(unix.SIGCHLD), 0, addr(&j.pidfd))
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(r)
	if errno == errMoved {
		return ErrMoved
	}
	if errno != 0 {
		return &Error{Step: StepNamespaces, Call: "clone", Errno: errno}
	}
	l.child = Child{PidFD: -1, Listener: -1, Init: &Init{PID: int(pid), PidFD: int(j.pidfd), sock: pair[0]}}
	return nil
}

// admit maps the ids and lets the init go on.
func (l *launch) admit() error {
	err := writeMaps(l.child.Init.PID, l.request.Namespaces, l.request.injected())
	if err != nil {
		return l.because(err)
	}
	if _, err := l.hear(msgReady); err != nil {
		return err
	}
	if err := l.network(); err != nil {
		return l.because(err)
	}
	_ = word(l.child.Init.sock) // where nobody is left to hear it, there is a message why
	return nil
}

// settle lets the init go on, and waits for what comes of it.
func (l *launch) settle() error {
	sock := l.child.Init.sock
	if err := l.admit(); err != nil {
		return err
	}
	m, err := l.hear(msgStarted)
	if err != nil {
		return err
	}
	l.child.Inside = int(m.a)
	if l.child.PID, err = pidOf(l.child.PidFD); err != nil {
		return &Error{Step: StepReaper, Call: "pidfd", Errno: errnoOf(err)}
	}
	_ = word(sock) // an init that has gone by now shows in the first Event
	return nil
}

// hear waits for a message of one kind, or for the reason why there is none.
func (l *launch) hear(kind int32) (message, error) {
	m, fds, err := receive(l.child.Init.sock, 0)
	want := 0
	if kind == msgStarted {
		if want = 1; l.request.Listener {
			want = 2
		}
	}
	if len(fds) > 0 {
		l.child.PidFD = fds[0]
	}
	if len(fds) > 1 {
		l.child.Listener = fds[1]
	}
	switch {
	case err != nil: // it can only have been killed: it says why it ends
		return m, &Error{Step: StepInit, Call: "read", Errno: unix.EIO}
	case m.kind == msgFailed:
		return m, l.failure(m)
	case m.kind != kind || len(fds) != want:
		return m, &Error{Step: StepInit, Call: "read", Errno: unix.EBADMSG}
	}
	return m, nil
}

// because prefers what the init said to err, which may only follow from it.
func (l *launch) because(err error) error {
	for {
		m, _, none := receive(l.child.Init.sock, unix.MSG_DONTWAIT)
		switch {
		case none != nil:
			return err
		case m.kind == msgFailed:
			return l.failure(m)
		}
	}
}

// word lets the init go on. A vanished one is no signal to the caller.
func word(sock int) error {
	for {
		err := unix.Send(sock, []byte{1}, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// failure says what an index of the init's means.
func (l *launch) failure(m message) error {
	s, errno, at := l.setup, syscall.Errno(m.c), int(m.b)
	list := map[int32][]call{listBefore: s.init.before, listCommand: s.init.command, listAfter: s.init.after}[m.a]
	switch {
	case m.a == listClone:
		return &Error{Step: StepCommand, Call: "clone", Errno: errno}
	case m.a == listCommand && at == len(list):
		return &Error{Step: StepExec, Call: "execve", Errno: errno}
	case at < 0 || at >= len(list):
		return &Error{Step: StepInit, Call: "read", Errno: unix.EBADMSG}
	}
	e := &Error{Step: list[at].step, Call: list[at].name, Errno: errno}
	if n := int(list[at].entry); n > 0 {
		e.Mount = n - 1
		e.Path = l.request.Namespaces.Mounts[e.Mount].Path
	}
	return e
}

// receive reads one message, and the descriptors that came with it. io.EOF means that the
// init has ended.
func receive(sock, flags int) (m message, fds []int, err error) {
	var buf [unsafe.Sizeof(m)]byte
	var control [64]byte
	var n, cn int
	for {
		n, cn, _, _, err = unix.Recvmsg(sock, buf[:], control[:], flags|unix.MSG_CMSG_CLOEXEC)
		// ECONNRESET, once: the other side ended without reading all. What it wrote is there.
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ECONNRESET) {
			break
		}
	}
	switch {
	case err != nil:
		return m, nil, os.NewSyscallError("recvmsg", err)
	case n == 0:
		return m, nil, io.EOF
	}
	if list, err := unix.ParseSocketControlMessage(control[:cn]); err == nil && len(list) == 1 {
		fds, _ = unix.ParseUnixRights(&list[0])
	}
	if n != len(buf) {
		return m, fds, unix.EBADMSG
	}
	return *(*message)(unsafe.Pointer(&buf)), fds, nil
}
