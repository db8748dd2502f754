package supervise

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"brainbox/internal/procfs"

	"brainbox/internal/sighold"
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
	locked    bool                // the goroutine is kept on its thread
	hold      holding
	between   func() // for tests: between the start and the passing on of signals

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
	// The death signal follows the thread that forks (prctl(2)). The first one lasts as long
	// as the process; any other could be ended by a goroutine that locks it. To lock this one
	// too would make the runtime start another (its template thread).
	r := &run{job: job, list: procfs.Children, patience: endWait}
	if pid := os.Getpid(); !job.Terminal && unix.Gettid() == pid {
		job.Spawn.Thread = pid
	} else {
		r.lock()
	}
	defer r.unlock()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	return r.run(started)
}

// lock keeps the goroutine on its thread until unlock.
func (r *run) lock() {
	r.locked = true
	runtime.LockOSThread()
}

func (r *run) unlock() {
	if r.locked {
		runtime.UnlockOSThread()
	}
}

func (r *run) run(started func(pid int)) (*Result, error) {
	job := r.job
	r.hold.r = r
	r.noteChildren()
	if err := r.openRelays(); err != nil {
		return nil, err
	}
	defer r.closeRelays()
	if job.Terminal {
		r.term.save()
	}
	answers, err := r.newAnswers()
	if err != nil {
		return nil, err
	}
	defer answers.close()
	begun := time.Now()
	child, stop, err := r.start()
	if err != nil {
		return nil, err
	}
	answers.serve(child.Listener)
	defer stop()
	defer unix.Close(child.PidFD)
	r.startRelays()
	if job.Opened != nil {
		job.Opened(child.PidFD)
	}
	started(child.PID)
	stopHolds := r.serveHolds()
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
	stopHolds() // not before: what is held is ended as it is
	res.PeakRSS, res.Broker, res.Watch = peakRSS(), answers.broker.Stats(), job.Watch.Stats()
	r.finishRelays(len(res.Survivors) > 0)
	r.term.restore()
	res.Duration = time.Since(begun)
	res.TimedOut, res.Truncated = r.timedOut.Load(), r.truncated.Load()
	res.Status = res.exitStatus()
	if job.Ended != nil {
		job.Ended(res)
	}
	return res, nil
}

// start starts the program and forwards signals from then on. One that comes meanwhile
// reaches the program too, keys of the terminal as well: it may have been pressed before
// the fork, and a second copy then finds a program that has hardly begun.
func (r *run) start() (child *spawn.Child, stop func(), err error) {
	held, err := sighold.Hold(r.forwarded()...)
	if err != nil {
		return nil, nil, err
	}
	r.child, err = spawn.Start(&r.job.Spawn)
	if errors.Is(err, spawn.ErrMoved) { // the runtime had it go on elsewhere
		r.lock()
		r.job.Spawn.Thread = 0
		r.child, err = spawn.Start(&r.job.Spawn)
	}
	if r.between != nil {
		r.between()
	}
	if err != nil {
		// There is no program to pass them to, and there may be another start: they act as if
		// nobody had taken them.
		for _, sig := range held.Release() {
			_ = unix.Kill(os.Getpid(), sig)
		}
		return nil, nil, err
	}
	for _, sig := range held.Came() {
		r.signal(sig)
	}
	return r.child, r.forward(held), nil
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
	var err error
	ours := r.hold.ours(func() { err = waitid(unix.P_PID, r.child.PID, &info, unix.WSTOPPED|unix.WNOHANG) })
	if err != nil || info.pid == 0 {
		return
	}
	if r.job.Terminal && !ours {
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
	held := r.hold.isActive()
	defer r.hold.lose(r.job.KillAfter) // they go on when the prompt has been taken away
	for _, p := range r.descendants() {
		p.signal(unix.SIGTERM)
		if !held {
			p.signal(unix.SIGCONT) // a stopped process sees TERM only then
		}
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
