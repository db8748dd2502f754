package supervise

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// siginfo is the head of siginfo_t as waitid(2) fills it.
type siginfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// si_code values of SIGCHLD (sigaction(2)).
const (
	cldTrapped = 4
	cldStopped = 5
)

// waitid waits for a state change of children of this process; any thread may call
// it (waitid(2)).
func waitid(idtype, id int, info *siginfo, options int) error {
	return unix.Waitid(idtype, id, (*unix.Siginfo)(unsafe.Pointer(info)), options, nil)
}
