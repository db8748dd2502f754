package launcher

import (
	"syscall"

	"brainbox/internal/notify"
)

// Observer is told of system calls of the program and its descendants before they happen:
// those that [seccomp.Observed] lists. It decides nothing. Its methods are called by several
// threads at a time, while the calling thread of the program waits.
type Observer interface {
	// See is told of a call that the filter lets pass. The kernel makes it afterwards, or the
	// broker does, and Landlock and the mounts decide.
	See(c *notify.Call)
	// Refuse is told of a call that the filter refuses with e: the program gets e.
	Refuse(c *notify.Call, e syscall.Errno)
}
