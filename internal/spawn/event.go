package spawn

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// Init is pid 1 of a program's own namespaces. When it ends, the kernel ends every process
// in there before anybody can wait for it (pid_namespaces(7)).
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
	Exited    = 1
	Killed    = 2
	Dumped    = 3
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
	m, fd, err := receive(i.sock, 0)
	if fd >= 0 {
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

// End kills the init, and by that everything in its namespaces, and waits until all of it
// has gone. A second call does nothing. It returns early if somebody else has waited for
// the init.
func (i *Init) End() {
	if i.PID == 0 {
		return
	}
	_ = unix.PidfdSendSignal(i.PidFD, unix.SIGKILL, nil, 0)
	for {
		if _, err := unix.Wait4(i.PID, nil, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	unix.Close(i.PidFD)
	unix.Close(i.sock)
	*i = Init{PidFD: -1, sock: -1}
}
