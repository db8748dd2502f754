package spawn

import (
	"syscall"
	"unsafe" // also for go:linkname
)

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

// vforkCall makes one system call that may return twice on one stack.
//
//go:noescape
func vforkCall(nr, a1, a2, a3 uintptr) (r1, errno uintptr)

// fork makes the child with one raw clone(2) or clone3(2) and walks the list in it. Only
// the parent returns, and not before the child has executed the program or ended
// (CLONE_VM|CLONE_VFORK): no page table is copied, however large the caller is, and the
// caller touches no page that it shares with the child meanwhile. The child has one
// thread, writes to nothing but the stack below this frame and the number of a listener,
// and keeps every signal blocked until the step before execve. No code of the program runs
// while memory is shared.
//
// beforeFork leaves the stack guard of this goroutine poisoned, so that anything in the
// child that tried to grow the stack would crash instead of corrupting it.
//
//go:norace
//go:nosplit
//go:nocheckptr
func fork(calls []call, report int, thread, nr, a1, a2, a3 uintptr) (pid uintptr, errno syscall.Errno) {
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
	childMain(calls, report)
	return 0, 0 // never reached
}

// errMoved is what Start turns into ErrMoved; no clone(2) answers it.
const errMoved = syscall.Errno(0xfff)

// onThread reports whether this is the thread with that number; 0 is any. Between
// beforeFork and afterFork a goroutine stays where it is.
//
//go:norace
//go:nosplit
func onThread(number uintptr) bool {
	if number == 0 {
		return true
	}
	tid, _, _ := syscall.RawSyscall6(syscall.SYS_GETTID, 0, 0, 0, 0, 0, 0)
	return tid == number
}

// childMain ends in execve or in exit_group: it never returns.
//
//go:norace
//go:nosplit
//go:nocheckptr
func childMain(calls []call, report int) {
	var msg [2]uint32
	at, errno := walk(calls)
	msg[0], msg[1] = uint32(at), uint32(errno)
	_, _, _ = syscall.RawSyscall6(syscall.SYS_WRITE, uintptr(report), uintptr(unsafe.Pointer(&msg)), 8, 0, 0, 0)
	for {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_EXIT_GROUP, 125, 0, 0, 0, 0, 0)
	}
}

// walk makes the calls in order on the calling thread and stops at the first answer
// that is not wanted. Irreversible. If the last call is execve it only returns on
// failure.
//
//go:norace
//go:nosplit
//go:nocheckptr
func walk(calls []call) (at int, errno syscall.Errno) {
	for i := range calls {
		c := &calls[i]
		if c.want == wantAnswer {
			tryCall(c)
			continue
		}
		if c.want == wantEnd {
			return i, 0
		}
		r, _, e := syscall.RawSyscall6(c.nr, c.a[0], c.a[1], c.a[2], c.a[3], c.a[4], c.a[5])
		if !satisfied(c, r, e) {
			return i, e
		}
	}
	return len(calls), 0
}

//go:norace
//go:nosplit
func satisfied(c *call, r uintptr, e syscall.Errno) bool {
	switch c.want {
	case wantZero:
		return e == 0
	case wantValue:
		return e == 0 && r == c.errs[0]
	case wantCell: // in the caller's memory, who waits, and reads it afterwards
		if e == 0 {
			*cellAt(c.errs[0]) = int32(r)
		}
		return e == 0
	case wantZeroOr:
		if e == 0 {
			return true
		}
	case wantRefused:
		if e == 0 {
			return false
		}
	case wantSame, wantWipe, wantAnswer, wantEnd: // seen to elsewhere
		return false
	}
	for i := range c.errs {
		if c.errs[i] != 0 && c.errs[i] == uintptr(e) {
			return true
		}
	}
	return false
}

// cellAt and byteAt give back what became a number: the object is kept alive by its setup,
// or is the caller's stack.
//
//go:norace
//go:nosplit
//go:nocheckptr
func cellAt(a uintptr) *int32 { return *(**int32)(unsafe.Pointer(&a)) }

//go:norace
//go:nosplit
//go:nocheckptr
func byteAt(a uintptr) *byte { return *(**byte)(unsafe.Pointer(&a)) }
