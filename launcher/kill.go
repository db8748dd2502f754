package launcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// KillSignal is one of the three signals that a wrapped process may be ended
// with. The zero KillSignal is TERM, the contract's default.
type KillSignal uint8

// The signals, by the words that the killer is called with.
const (
	KillTERM KillSignal = iota
	KillKILL
	KillINT
	killSignals
)

// String returns the word for the killer: TERM, KILL or INT.
func (s KillSignal) String() string {
	switch s {
	case KillTERM:
		return "TERM"
	case KillKILL:
		return "KILL"
	case KillINT:
		return "INT"
	case killSignals:
	}
	return "invalid"
}

func (s KillSignal) number() unix.Signal {
	switch s {
	case KillTERM:
		return unix.SIGTERM
	case KillINT:
		return unix.SIGINT
	case KillKILL, killSignals:
	}
	return unix.SIGKILL
}

// ParseKillSignal accepts SIGTERM, SIGKILL and SIGINT; every other signal is an
// error that answers to fs.ErrInvalid (contract brainkit §1.5, K13).
func ParseKillSignal(sig os.Signal) (KillSignal, error) {
	switch sig {
	case syscall.SIGTERM:
		return KillTERM, nil
	case syscall.SIGKILL:
		return KillKILL, nil
	case syscall.SIGINT:
		return KillINT, nil
	}
	return 0, fmt.Errorf("launcher: signal %v is not TERM, KILL or INT: %w", sig, fs.ErrInvalid)
}

// killDefaultLimit is the contract's limit for a helper (brainkit X4) and the
// default grace period.
const killDefaultLimit = 5 * time.Second

// KillOptions says how to end a process. The zero value signals the child alone,
// which only a process started without a wrapper accepts.
type KillOptions struct {
	Wrapper     string        // the wrapper that the process was started through
	Killer      string        // the helper to call; "" goes the unprivileged way
	HelperLimit time.Duration // how long one call of the helper may take; 0 is 5 s
	Grace       time.Duration // how long a group has to end after TERM or INT; 0 is 5 s
	KillGrace   time.Duration // the same after KILL; 0 is 5 s
}

// KillMechanism names what reached the process last.
type KillMechanism string

// The mechanisms of a [KillReceipt]. A descendant that left the process group
// (setsid(2)) is out of the reach of all of them; the death of a pid namespace's
// init and cgroup.kill are a session's, not the wrapper's (contract brainkit X6).
const (
	KillByNothing KillMechanism = "none"   // nothing was left to signal
	KillByPidfd   KillMechanism = "pidfd"  // the child alone, no wrapper is configured
	KillByHelper  KillMechanism = "killer" // the configured helper
	KillByGroup   KillMechanism = "group"  // kill(2) on the process group
	KillByLeader  KillMechanism = "leader" // the leader alone, the group was refused
)

// Survivor is a process of the group that is still alive.
type Survivor struct {
	PID int
	UID int // real uid; -1 if it could not be read
}

// KillReceipt tells what a teardown did.
type KillReceipt struct {
	Signal    KillSignal    // as asked
	Mechanism KillMechanism // the last one that was tried
	Escalated bool          // KILL was sent because the asked signal did not suffice
	Verified  bool          // the group was seen without a living process
	Survivors []Survivor    // who lives on, as far as visible
	Failures  []error       // what was reported, in order
}

// Teardown is one ending under way.
type Teardown struct {
	done    chan struct{}
	receipt KillReceipt // set before done is closed
}

// Done is closed when the teardown has finished.
func (t *Teardown) Done() <-chan struct{} { return t.done }

// Wait waits for the end of the teardown. The error is the context's only.
func (t *Teardown) Wait(ctx context.Context) (KillReceipt, error) {
	select {
	case <-t.done:
		return t.receipt, nil
	case <-ctx.Done():
		return KillReceipt{}, ctx.Err()
	}
}

func (t *Teardown) finished() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// KillWrapped ends a process with sig in the order of contract brainkit §1.5 and
// returns at once; the teardown goes on and is bounded by the time limits.
//
// Without a wrapper the signal goes straight to the child (step A). With one the
// killer is called (B), and when there is none or it fails, the process group is
// signalled (C, D). Every group signal is verified: what lives on after the
// grace period gets KILL by the same way, and what then lives on is reported
// with pid and uid (X1). A helper's exit status 0 is not believed either (A4).
//
// A second call for the same process and signal joins the first, unless that one
// failed. After Close no signal is sent. Failures go to onFailure, one call
// each and never two at a time; nil is the standard error log. What onFailure
// panics with is logged and does not stop the teardown.
//
// The error tells that nothing was done: sig is not one of the three, or how
// names another wrapper than the process was started through.
func KillWrapped(proc *WrappedProcess, how KillOptions, sig KillSignal, onFailure func(error)) (*Teardown, error) {
	if sig >= killSignals {
		return nil, fmt.Errorf("launcher: kill signal %d is not TERM, KILL or INT: %w", sig, fs.ErrInvalid)
	}
	if how.Wrapper != proc.options.Wrapper {
		return nil, fmt.Errorf("launcher: process %d was started through wrapper %q, not %q: %w",
			proc.pid, proc.options.Wrapper, how.Wrapper, fs.ErrInvalid)
	}
	proc.mu.Lock()
	defer proc.mu.Unlock()
	if t := proc.teardowns[sig]; t != nil && (!t.finished() || len(t.receipt.Failures) == 0) {
		return t, nil
	}
	t := &Teardown{done: make(chan struct{}), receipt: KillReceipt{Signal: sig, Mechanism: KillByNothing}}
	switch {
	case proc.closed: // K10: the numbers may be somebody else's by now
		close(t.done)
		return t, nil
	case how.Wrapper == "": // step A
		killDirect(proc, t)
		close(t.done)
	default:
		run := newKillRun(proc, how, t, onFailure)
		run.begin()
		go run.run()
	}
	proc.teardowns[sig] = t
	return t, nil
}

// killDirect is step A. It is silent whatever happens: a child that cannot be
// signalled any more has ended.
func killDirect(proc *WrappedProcess, t *Teardown) {
	if err := proc.signal(t.receipt.Signal.number()); !errors.Is(err, unix.ESRCH) {
		t.receipt.Mechanism = KillByPidfd
	}
}

// killReporter hands failures to the host. Each call runs in a goroutine of its
// own: a sink that panics or ends its goroutine costs nothing, and one that
// blocks costs the time limit and not the teardown (K14).
type killReporter struct {
	sink  func(error)
	limit time.Duration
	last  chan struct{} // closed when the previous call returned
}

func (r *killReporter) report(err error) {
	sink := r.sink
	if sink == nil {
		sink = func(err error) { log.Print(err) }
	}
	previous, done := r.last, make(chan struct{})
	r.last = done
	go func() {
		defer close(done)
		defer func() {
			if cause := recover(); cause != nil {
				log.Printf("launcher: onFailure panicked with %v while told: %v", cause, err)
			}
		}()
		if previous != nil {
			<-previous
		}
		sink(err)
	}()
	limit := time.NewTimer(r.limit)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	}
}
