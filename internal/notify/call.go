package notify

import (
	"syscall"
)

// Call is one system call that waits for its answer. It is good until its handler returns.
type Call struct {
	TID  int       // of the calling thread, in this process's pid namespace
	Nr   int       // of the system call
	Args [6]uint64 // the registers
	IP   uint64    // where the call was made, in the program's memory

	id uint64
	w  *worker
}

// Answer is what the call returns. The zero value is success with 0.
type Answer struct {
	Value int64
	Errno syscall.Errno // if not 0, the call fails with it

	// Continue has the kernel make the call as if nobody had been asked
	// (SECCOMP_USER_NOTIF_FLAG_CONTINUE, Linux 5.5), with arguments that the program may have
	// changed meanwhile. It is for who only watches: whoever decides must never set it.
	Continue bool
}

// Handler answers one kind of call. It runs on a thread that is locked to it, and several
// calls are handled at a time.
type Handler func(*Call) Answer

// Valid reports whether the call still waits. A handler that has read memory or
// descriptors of Call.TID asks before it acts on them: they are the calling thread's only
// if the answer is yes.
func (c *Call) Valid() bool { return valid(c.w.s.fd, c.id) }

// Restart is ERESTARTSYS (linux/errno.h). The kernel turns it into EINTR or makes the call
// again, as the action of the signal says (signal(7)), but only for a thread that has a
// signal to take: any other would see the number.
const Restart syscall.Errno = 512

// Gone is what Block returns when nobody waits for the answer any more.
const Gone = syscall.ENOENT

// Spare sees to it that others are answered while the handler works, if it may take long:
// another thread receives, unless there are as many as there may be.
func (c *Call) Spare() { c.w.s.spare() }

// Block runs f, a system call that may block, which returns EINTR when a signal interrupts
// it and may be made again then. Others are answered meanwhile.
//
// Block returns what f did, or [Gone], or what a signal that waits for the calling thread
// makes of a call that blocks: the error that the call is to be answered with.
func (c *Call) Block(f func() syscall.Errno) syscall.Errno {
	w := c.w
	c.Spare()
	if err := w.arm(shortest); err != nil {
		return syscall.EAGAIN
	}
	defer w.disarm()
	for wait := shortest; ; wait = min(2*wait, longest) {
		e := f()
		if e != syscall.EINTR {
			return e
		}
		if w.s.closed.Load() || !c.Valid() {
			return Gone
		}
		if e := interrupted(c.TID); e != 0 {
			return e
		}
		if err := w.arm(wait); err != nil {
			return syscall.EAGAIN
		}
	}
}
