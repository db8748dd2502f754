package supervise

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"brainbox/internal/spawn"

	"golang.org/x/sys/unix"
)

// run is the state of one Run. Only the goroutine of Run touches what is not atomic.
type run struct {
	job       *Job
	child     *spawn.Child
	term      terminal
	relays    []*relay
	timedOut  atomic.Bool
	truncated atomic.Bool
	list      func(pid int) []int // the children of a process
	patience  time.Duration       // how long the end of the tree is waited for

	mu        sync.Mutex // guards what follows and the use of child.PidFD by other goroutines
	before    map[int]bool
	over      bool
	timer     *time.Timer
	killTimer *time.Timer
}

// Run starts the program and returns when it and all its descendants have ended.
// started is called with the program's process number after execve(2) succeeded.
//
// An error means that the program never ran (*spawn.Error and others); then nothing
// is left behind. While it runs the process is a subreaper (prctl(2),
// PR_SET_CHILD_SUBREAPER, Linux 3.4), which execve(2) would keep.
func Run(job *Job, started func(pid int)) (*Result, error) {
	// The death signal follows the thread that forks (prctl(2)).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	r := &run{job: job, list: children, patience: endWait}
	return r.run(started)
}

func (r *run) run(started func(pid int)) (*Result, error) {
	job := r.job
	r.noteChildren()
	if err := r.openRelays(); err != nil {
		return nil, err
	}
	defer r.closeRelays()
	if job.Terminal {
		r.term.save()
	}
	begun := time.Now()
	child, stop, err := r.start()
	if err != nil {
		return nil, err
	}
	defer stop()
	defer unix.Close(child.PidFD)
	r.startRelays()
	started(child.PID)
	r.limitTime()

	res := &Result{}
	if child.Init != nil {
		r.waitInside(res)
		r.disarm()
		res.Survivors = r.endInside()
	} else {
		r.waitLeader()
		r.disarm()
		r.reapLeader(res)
		res.Survivors = r.endTree()
	}
	res.PeakRSS = peakRSS()
	r.finishRelays(len(res.Survivors) > 0)
	r.term.restore()
	res.Duration = time.Since(begun)
	res.TimedOut, res.Truncated = r.timedOut.Load(), r.truncated.Load()
	res.Status = res.exitStatus()
	return res, nil
}

// start starts the program and forwards signals from then on.
func (r *run) start() (child *spawn.Child, stop func(), err error) {
	if r.job.Spawn.Namespaces == nil {
		if r.child, err = spawn.Start(&r.job.Spawn); err != nil {
			return nil, nil, err
		}
		started := make(chan struct{})
		close(started)
		return r.child, r.forward(started), nil
	}
	// The init has much to do first, and then the program runs before this process knows of
	// it: nobody waits for the signals to be taken meanwhile, and none is lost.
	taken, started := make(chan func(), 1), make(chan struct{})
	go func() { taken <- r.forward(started) }()
	r.child, err = spawn.Start(&r.job.Spawn)
	stop = <-taken
	if err != nil {
		stop()
		return nil, nil, err
	}
	close(started)
	return r.child, stop, nil
}

// waitLeader blocks until the program has ended, leaves it unreaped (so that its number
// stays its own until the timers are off), reaps adopted orphans, and follows it into job
// control stops.
func (r *run) waitLeader() {
	for {
		var info siginfo
		err := waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return // ECHILD: somebody else reaped it
		}
		stopped := info.code == cldStopped || info.code == cldTrapped
		switch {
		case int(info.pid) != r.child.PID && stopped:
			_ = waitid(unix.P_PID, int(info.pid), &info, unix.WSTOPPED|unix.WNOHANG)
		case int(info.pid) != r.child.PID:
			r.reap(int(info.pid))
		case stopped:
			r.leaderStopped()
		default:
			return
		}
	}
}

// leaderStopped consumes the stop and, on a shared terminal, stops this process too,
// so that the shell sees its job stopped. The program may have gone on meanwhile
// (the shell's fg reaches the whole group): then there is nothing to follow.
func (r *run) leaderStopped() {
	var info siginfo
	if err := waitid(unix.P_PID, r.child.PID, &info, unix.WSTOPPED|unix.WNOHANG); err != nil || info.pid == 0 {
		return
	}
	if r.job.Terminal {
		r.term.stopWithChild(r.child)
	}
}

func (r *run) reapLeader(res *Result) {
	var ws unix.WaitStatus
	res.Code = -1
	for {
		_, err := unix.Wait4(r.child.PID, &ws, 0, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
	if ws.Signaled() {
		res.Signal = ws.Signal()
	} else {
		res.Code = ws.ExitStatus()
	}
}

// peakRSS is the largest resident set of all descendants that were waited for, in KiB
// (getrusage(2), RUSAGE_CHILDREN).
func peakRSS() int64 {
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &ru) != nil {
		return 0
	}
	return ru.Maxrss
}

// limitTime arms the time limit.
func (r *run) limitTime() {
	if r.job.Timeout <= 0 {
		return
	}
	r.timer = time.AfterFunc(r.job.Timeout, func() {
		r.timedOut.Store(true)
		r.endLeader()
	})
}

// disarm stops the timers before the program's descriptor is closed: a timer that
// fired later would signal whatever had its number by then.
func (r *run) disarm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for _, t := range []*time.Timer{r.timer, r.killTimer} {
		if t != nil {
			t.Stop()
		}
	}
}

// endLeader asks the whole tree to end and, after KillAfter, makes the program end:
// everything else follows from that.
func (r *run) endLeader() {
	r.mu.Lock()
	if r.over || r.killTimer != nil {
		r.mu.Unlock()
		return
	}
	// Before the walk: a tree that grows while it is walked must not put the end off.
	r.killTimer = time.AfterFunc(r.job.KillAfter, func() { r.signal(unix.SIGKILL) })
	r.mu.Unlock()
	for _, p := range r.descendants() {
		p.signal(unix.SIGTERM)
		p.signal(unix.SIGCONT) // a stopped process sees TERM only then
	}
}

// signal sends sig to the program, unless the run is over.
func (r *run) signal(sig unix.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		_ = unix.PidfdSendSignal(r.child.PidFD, sig, nil, 0)
	}
}
