package spawn

import (
	"syscall"
	"unsafe" // also for go:linkname
)

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

// fork makes the child with one raw clone(2) or clone3(2) and walks the list in it.
// Only the parent returns. The child shares no memory with the parent (no CLONE_VM),
// has one thread, and keeps every signal blocked until the step before execve.
//
// beforeFork leaves the stack guard of this goroutine poisoned, so that anything in
// the child that tried to grow the stack would crash instead of corrupting it.
//
//go:norace
//go:nosplit
//go:nocheckptr
func fork(calls []call, report int, nr, a1, a2, a3 uintptr) (pid uintptr, errno syscall.Errno) {
	beforeFork()
	pid, _, errno = syscall.RawSyscall6(nr, a1, a2, a3, 0, 0, 0)
	if errno != 0 || pid != 0 {
		afterFork()
		return pid, errno
	}
	childMain(calls, report)
	return 0, 0 // never reached
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
	case wantZeroOr:
		if e == 0 {
			return true
		}
	case wantRefused:
		if e == 0 {
			return false
		}
	}
	for i := range c.errs {
		if c.errs[i] != 0 && c.errs[i] == uintptr(e) {
			return true
		}
	}
	return false
}
