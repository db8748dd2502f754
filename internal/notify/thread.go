package notify

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How often a blocked handler is interrupted: soon at first, for short waits are the most.
const (
	shortest = 5 * time.Millisecond
	longest  = 100 * time.Millisecond
)

// wake is the signal that interrupts a thread. Programs of this project use no real-time
// signal else; the runtime has a handler for it, which does nothing.
const wake = syscall.Signal(62)

// sigaction is struct kernel_sigaction, the same on amd64 and arm64.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const saRestart = 0x10000000

// mayWake makes wake interrupt a system call: the runtime asks for a restart of all calls,
// which would make a thread deaf that blocks in one.
var mayWake = sync.OnceValue(func() error {
	var act sigaction
	if e := rtSigaction(0, &act); e != 0 {
		return os.NewSyscallError("rt_sigaction", e)
	}
	if act.handler <= 1 { // SIG_DFL, which would end the process, or SIG_IGN
		return os.NewSyscallError("rt_sigaction", unix.EINVAL)
	}
	act.flags &^= saRestart
	if e := rtSigaction(uintptr(unsafe.Pointer(&act)), nil); e != 0 {
		return os.NewSyscallError("rt_sigaction", e)
	}
	return nil
})

func rtSigaction(act uintptr, old *sigaction) syscall.Errno {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(wake), act, uintptr(unsafe.Pointer(old)), 8, 0, 0)
	return e
}

// sigevent is struct sigevent (sigevent(3type)) with SIGEV_THREAD_ID.
type sigevent struct {
	value        uint64
	signal, kind int32
	tid          int32
	_            [44]byte
}

const sigevThreadID = 4

// arm has the thread's own timer send wake once, after d. Only the thread itself calls it.
func (w *worker) arm(d time.Duration) error {
	if !w.hasTimer {
		ev := sigevent{signal: int32(wake), kind: sigevThreadID, tid: int32(w.tid)}
		_, _, e := unix.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&ev)), uintptr(unsafe.Pointer(&w.timer)))
		if e != 0 {
			return os.NewSyscallError("timer_create", e)
		}
		w.hasTimer = true
	}
	spec := [4]int64{2: int64(d / time.Second), 3: int64(d % time.Second)} // no interval
	_, _, e := unix.RawSyscall6(unix.SYS_TIMER_SETTIME, uintptr(w.timer), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if e != 0 {
		return os.NewSyscallError("timer_settime", e)
	}
	return nil
}

func (w *worker) disarm() { _ = w.arm(0) }

func (w *worker) forgetTimer() {
	if w.hasTimer {
		_, _, _ = unix.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(w.timer), 0, 0)
	}
}

// offMain runs f on a locked thread that is not the process's first one, and ends that
// thread with it. /proc shows the first one's identity as the process's, and it cannot end.
func offMain(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			defer runtime.UnlockOSThread()
			other := make(chan struct{})
			go func() {
				runtime.LockOSThread()
				close(other)
				f()
			}()
			<-other // this thread runs nothing else meanwhile
			return
		}
		f() // the thread ends with the goroutine that is locked to it
	}()
}

// spareThreads has the runtime own a few threads more than it has work for: to them it moves
// its processors when the server's threads block. It keeps what it has made.
func spareThreads() {
	const spare = 4
	var here, over sync.WaitGroup
	over.Add(1)
	for range spare {
		here.Add(1)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			here.Done()
			over.Wait()
		}()
	}
	here.Wait()
	over.Done()
}
