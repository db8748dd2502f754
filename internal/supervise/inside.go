package supervise

import (
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

// A program in namespaces of its own is no child of this process: its init says what
// becomes of it, reaps what it leaves behind, and ends all of it by its own end.

// waitInside blocks until the program has ended, and follows it into job control stops.
// An init that has gone took the program with it: by SIGKILL, which is how the kernel ends
// a namespace (pid_namespaces(7)).
func (r *run) waitInside(res *Result) {
	for {
		e, err := r.child.Init.Event()
		switch {
		case err != nil:
			res.Code, res.Signal = -1, unix.SIGKILL
			return
		case e.Ended():
			res.Code, res.Signal = int(e.Status), e.Signal()
			if res.Signal != 0 {
				res.Code = -1
			}
			return
		case e.Code == spawn.Stopped || e.Code == spawn.Trapped:
			if !r.hold.ours(func() {}) && r.job.Terminal {
				r.term.stopWithChild(r.child)
			}
		}
	}
}

// endInside ends the init and with it the whole tree: when the kernel lets this process
// wait for the init, nobody else is left in there. It returns who is, after a time that
// only a process in an uninterruptible sleep needs.
func (r *run) endInside() []Survivor {
	if r.child.Init.EndWithin(r.patience) {
		return nil
	}
	return r.survivors()
}

// newsTime is how long word of the init is waited for that has been on its way already.
const newsTime = 100 * time.Millisecond

// goesOn reports whether the program has gone on since its stop was told, even if it has
// stopped again. A second SIGCONT would undo that stop.
func goesOn(child *spawn.Child) bool {
	if child.Init != nil {
		// Stopped, it may be so again; then the init has something to say about it. Where it
		// has not, only this process was continued, and the program can wait.
		_, state := (process{pid: child.PID}).stat()
		return state != 'T' && state != 't' || child.Init.News(newsTime)
	}
	// Any news since its stop, which was consumed: it went on, or went on and stopped again.
	var info siginfo
	err := waitid(unix.P_PID, child.PID, &info, unix.WCONTINUED|unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT)
	return err == nil && info.pid != 0
}
