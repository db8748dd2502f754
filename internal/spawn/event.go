package spawn

import (
	"errors"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Init is pid 1 of a program's own namespaces. It ends when the program does. When it ends,
// the kernel ends every process in there before anybody can wait for it
// (pid_namespaces(7)).
type Init struct {
	PID   int
	PidFD int // close-on-exec; closed by End

	sock int
}

// Event is a change of the program's state.
type Event struct {
	Code   int32 // CLD_EXITED, CLD_KILLED, CLD_DUMPED, CLD_STOPPED, CLD_TRAPPED or CLD_CONTINUED (sigaction(2))
	Status int32 // the exit code, or the signal
}

// The codes of an [Event].
const (
	Exited    = cldExited
	Killed    = cldKilled
	Dumped    = cldDumped
	Trapped   = 4
	Stopped   = 5
	Continued = 6
)

// Ended reports whether the program is no more.
func (e Event) Ended() bool { return e.Code == Exited || e.Code == Killed || e.Code == Dumped }

// Signal is the signal that ended or stopped the program, or 0.
func (e Event) Signal() syscall.Signal {
	if e.Code == Exited {
		return 0
	}
	return syscall.Signal(e.Status)
}

// Event waits for the next change. io.EOF means that the init has ended, and with it the
// program, whether or not its end was told.
func (i *Init) Event() (Event, error) {
	m, fds, err := receive(i.sock, 0)
	for _, fd := range fds {
		unix.Close(fd)
	}
	switch {
	case err != nil:
		return Event{}, err
	case m.kind == msgFailed:
		return Event{}, io.EOF
	case m.kind != msgState:
		return Event{}, unix.EBADMSG
	}
	return Event{Code: m.a, Status: m.b}, nil
}

// News reports whether Event has something to return, and waits for it no longer than
// patience.
func (i *Init) News(patience time.Duration) bool { return readable(i.sock, patience) }

// End kills the init, and by that everything in its namespaces, and waits until all of it
// has gone. A second call does nothing. It returns early if somebody else has waited for
// the init.
func (i *Init) End() { i.EndWithin(-1) }

// EndWithin is End, but waits no longer than patience, if that is not negative. It reports
// whether all has gone; if not, it may be called again. Only a process in an
// uninterruptible sleep lasts longer than its SIGKILL.
func (i *Init) EndWithin(patience time.Duration) bool {
	if i.PID == 0 {
		return true
	}
	_ = unix.PidfdSendSignal(i.PidFD, unix.SIGKILL, nil, 0)
	if patience >= 0 && !readable(i.PidFD, patience) {
		return false
	}
	for {
		if _, err := unix.Wait4(i.PID, nil, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	unix.Close(i.PidFD)
	unix.Close(i.sock)
	*i = Init{PidFD: -1, sock: -1}
	return true
}

// readable waits until fd is: a pidfd is when its process can be waited for
// (pidfd_open(2), Linux 5.3).
func readable(fd int, patience time.Duration) bool {
	deadline := time.Now().Add(patience)
	for {
		left := max(0, time.Until(deadline)) + time.Millisecond - 1
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left/time.Millisecond))
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 1
		}
	}
}
