package supervise

import (
	"os"
	"syscall"
	"time"

	"brainbox/internal/broker"
	"brainbox/internal/spawn"
	"brainbox/internal/watch"
)

// Job is what one run needs; it is decided elsewhere and only carried out here.
type Job struct {
	Spawn spawn.Request

	// Terminal says that the program shares the caller's terminal and process group.
	// Then the terminal itself sends it ^C, ^\ and ^Z, so those are not forwarded.
	Terminal bool

	Timeout   time.Duration // 0: none; by the monotonic clock
	KillAfter time.Duration // from TERM to KILL when the time is up

	OutputLimit int64   // bytes of standard output and error together; 0: none
	Relay       [3]bool // pass descriptor 1 or 2 through a pipe (a file opened for reading too)
	Sanitize    bool    // escape control characters on the way; implies relaying both

	Signals <-chan syscall.Signal // what a host sends to the program; nil: nothing

	// Ended, if set, is called when the tree has ended, while signals are still taken: they
	// do not cut short what it does.
	Ended func(*Result)

	// Linger is for a command that has still to say how the run ended, and runs nothing after it:
	// what is left of its process does not end by the signals that were passed on, or only when
	// it is not over so long after one. 0: they act as before the run, from its end on.
	Linger time.Duration

	// Opened, if set, is called with a descriptor of the program just before Run says that
	// it runs: by its number a program that has ended already cannot be opened any more.
	Opened func(pidfd int)

	// Broker connects the program's sockets; nil: nothing is notified. Identity, groups and
	// architecture are those of Spawn, whose Listener is set by it. The descriptors are the
	// caller's, and held until the run is over.
	Broker *broker.Config

	// Watch, if set, looks at the calls that Spawn.Filter notifies; Spawn.Listener is set by it.
	// It is code, and cannot be sent to another process. With a Watch or a Broker the program gets
	// seccomp.SoleListener of Spawn.Filter.
	Watch *watch.Watch

	// Hold, if set, is the end of a socket pair on which the program may be held while somebody
	// asks on its terminal (package hold). It is closed when the tree has ended.
	Hold *os.File

	// Spawn.Cgroup, if set, is also what ends the tree (cgroup.kill); else the walk does.
}

// Result is how a run ended.
type Result struct {
	Status    int            // brainbox's own exit status: 124, 128+n or the program's
	Code      int            // the program's exit code, -1 if a signal ended it
	Signal    syscall.Signal // the signal that ended it, or 0
	TimedOut  bool
	Truncated bool // the output limit was reached
	OOM       bool
	Survivors []Survivor
	Duration  time.Duration
	PeakRSS   int64 // KiB, the largest of all waited-for descendants
	Broker    broker.Stats
	Watch     watch.Stats
}

// Survivor is a process of the tree that could not be ended.
type Survivor struct {
	PID int
	UID int
}

// statusTimedOut is what a run returns that its own limits ended (timeout(1)).
const statusTimedOut = 124

// exitStatus folds the program's end into one number.
func (r *Result) exitStatus() int {
	switch {
	case r.TimedOut || r.Truncated:
		return statusTimedOut
	case r.Signal != 0:
		return 128 + int(r.Signal)
	}
	return r.Code
}
