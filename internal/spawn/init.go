package spawn

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// initState is the memory that the init writes to. It is a copy of the caller's, made by
// the clone; only the command shares it, until it has executed the program.
type initState struct {
	before, command, after []call
	sock                   uintptr
	sharing                uintptr // with the command, besides the memory: CLONE_FILES, or nothing

	// Cells: descriptors that are only known when the list runs.
	root, fs, tree, source, target, pidfd int32

	ready  message
	failed message // what the command could not do
	out    message
	word   [8]byte
	stat   unix.Statx_t
	info   [128]byte // siginfo_t
	rights rights
	iov    unix.Iovec
	msg    unix.Msghdr
}

// rights is a control message with one or two descriptors (unix(7), SCM_RIGHTS).
type rights struct {
	size        uint64
	level, kind int32
	fds         [2]int32
}

// message is what the init tells its caller, one datagram each.
type message struct {
	kind    int32
	a, b, c int32
}

const (
	msgReady   = iota + 1 // it dies with the caller from here on
	msgFailed             // a: which list, b: index of the call, c: errno
	msgStarted            // a: the command's number inside; its pidfd comes along, and then its listener
	msgState              // a: si_code, b: si_status (waitid(2))
)

const (
	listBefore = iota
	listCommand
	listAfter
	listClone
)

// forkInit makes the init: a plain copy of the caller, in namespaces of its own, that
// never returns from here. As with fork, nothing in it may allocate, lock, grow the stack
// or be preempted: it is a Go program no more, only a continuation in raw calls. Every
// signal stays blocked in it.
//
//go:norace
//go:nosplit
//go:nocheckptr
func forkInit(s *initState, thread, nr, a1, a2, a3 uintptr) (pid uintptr, errno syscall.Errno) {
	beforeFork()
	if !onThread(thread) {
		afterFork()
		return 0, errMoved
	}
	pid, e := vforkCall(nr, a1, a2, a3)
	if e != 0 || pid != 0 {
		afterFork()
		return pid, syscall.Errno(e)
	}
	initMain(s)
	return 0, 0 // never reached
}

// initMain never returns. When it ends, the kernel ends everything in the namespace.
//
//go:norace
//go:nosplit
//go:nocheckptr
func initMain(s *initState) {
	if at, e := walkInit(s.before); at < len(s.before) {
		failInit(s, listBefore, at, e)
	}
	pid, e := forkCommand(s)
	if e != 0 {
		failInit(s, listClone, 0, e)
	}
	if s.failed.kind != 0 {
		failInit(s, s.failed.a, int(s.failed.b), syscall.Errno(s.failed.c))
	}
	s.out = message{kind: msgStarted, a: int32(pid)}
	if at, e := walkInit(s.after); at < len(s.after) {
		failInit(s, listAfter, at, e)
	}
	reap(s, int32(pid))
}

// forkCommand makes the command, which shares the init's memory until it has executed the
// program. Nothing but pid and errno is used of this frame after the clone.
//
//go:norace
//go:nosplit
//go:nocheckptr
//go:noinline
func forkCommand(s *initState) (pid uintptr, errno syscall.Errno) {
	const flags = uintptr(unix.SIGCHLD) | unix.CLONE_PIDFD | unix.CLONE_VM | unix.CLONE_VFORK
	pid, e := vforkCall(unix.SYS_CLONE, flags|s.sharing, 0, uintptr(unsafe.Pointer(&s.pidfd)))
	if e != 0 || pid != 0 {
		return pid, syscall.Errno(e)
	}
	commandMain(s)
	return 0, 0 // never reached
}

// commandMain ends in execve or in exit_group; what failed it leaves in the memory that it
// shares with the init.
//
//go:norace
//go:nosplit
//go:nocheckptr
func commandMain(s *initState) {
	at, e := walk(s.command)
	s.failed = message{kind: msgFailed, a: listCommand, b: int32(at), c: int32(e)}
	exit()
}

//go:norace
//go:nosplit
func exit() {
	for {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_EXIT_GROUP, 125, 0, 0, 0, 0, 0)
	}
}

// failInit tells the caller and ends.
//
//go:norace
//go:nosplit
//go:nocheckptr
func failInit(s *initState, list int32, at int, e syscall.Errno) {
	tell(s, message{kind: msgFailed, a: list, b: int32(at), c: int32(e)})
	exit()
}

// tell sends one message. The caller reads them all; when it cannot be reached, the init
// has no reason to be.
//
//go:norace
//go:nosplit
//go:nocheckptr
func tell(s *initState, m message) {
	s.out = m
	for {
		_, _, e := syscall.RawSyscall6(syscall.SYS_WRITE, s.sock,
			uintptr(unsafe.Pointer(&s.out)), unsafe.Sizeof(s.out), 0, 0, 0)
		if e == 0 {
			return
		}
		if e != syscall.EINTR {
			exit()
		}
	}
}

// The si_code values of an end (sigaction(2)).
const (
	cldExited = 1
	cldKilled = 2
	cldDumped = 3
)

// siginfo is the head of siginfo_t as waitid(2) fills it.
type siginfo struct {
	_, _, code, _ int32
	pid           int32
	_             uint32
	status        int32
}

// reap is what the init does for the rest of its life: it waits for every process of the
// namespace that has nobody else to do it, and tells the caller what becomes of the
// command. With the command all of it ends, without a word of the caller: it has been told,
// and a caller that is slow to hear it must not give anybody in there more time.
//
//go:norace
//go:nosplit
//go:nocheckptr
func reap(s *initState, command int32) {
	info := (*siginfo)(unsafe.Pointer(&s.info))
	for {
		_, _, e := syscall.RawSyscall6(syscall.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(info)),
			unix.WEXITED|unix.WSTOPPED|unix.WCONTINUED|unix.WALL, 0, 0)
		switch {
		case e == syscall.EINTR || e == 0 && info.pid != command:
		case e == 0:
			tell(s, message{kind: msgState, a: info.code, b: info.status})
			if info.code == cldExited || info.code == cldKilled || info.code == cldDumped {
				exit()
			}
		default: // ECHILD, and the command was one
			exit()
		}
	}
}

// maxRun is the highest signal (signal(7)), and above the highest capability.
const maxRun = 64

// walkInit makes the calls in order, as walk does, and more: see perform.
//
//go:norace
//go:nosplit
//go:nocheckptr
func walkInit(calls []call) (at int, errno syscall.Errno) {
	for i := range calls {
		c := &calls[i]
		for {
			if e, ok := perform(c); !ok {
				return i, e
			}
			if c.run == 0 || c.a[(c.run-1)&3] >= maxRun {
				break
			}
			c.a[(c.run-1)&3]++
		}
	}
	return len(calls), 0
}

// perform makes one call. It takes arguments from cells, keeps results, and compares
// objects.
//
//go:norace
//go:nosplit
//go:nocheckptr
func perform(c *call) (e syscall.Errno, ok bool) {
	if c.want == wantWipe {
		for n := uintptr(0); n < c.a[1]; n++ {
			*byteAt(c.a[0] + n) = 0
		}
		return 0, true
	}
	r, _, e := syscall.RawSyscall6(c.nr, argument(c, 0), argument(c, 1), argument(c, 2),
		argument(c, 3), argument(c, 4), argument(c, 5))
	switch c.want {
	case wantCell:
		if e == 0 {
			*cellAt(c.errs[0]) = int32(r)
		}
		return e, e == 0
	case wantSame:
		if e == 0 && !sameObject(c) {
			e = syscall.ESTALE
		}
		return e, e == 0
	default:
		ok = satisfied(c, r, e)
		if !ok && e == 0 {
			e = syscall.EIO // less was written or read than had to be
		}
		return e, ok
	}
}

//go:norace
//go:nosplit
//go:nocheckptr
func argument(c *call, n int) uintptr {
	if c.cell&(1<<n) != 0 {
		return uintptr(*cellAt(c.a[n]))
	}
	return c.a[n]
}

//go:norace
//go:nosplit
//go:nocheckptr
func sameObject(c *call) bool {
	st, id := *(**unix.Statx_t)(unsafe.Pointer(&c.errs[0])), *(**identity)(unsafe.Pointer(&c.errs[1]))
	return st.Mask&identityMask == identityMask && st.Ino == id.ino && st.Dev_major == id.major &&
		st.Dev_minor == id.minor && uint32(st.Mode)&unix.S_IFMT == id.kind
}
