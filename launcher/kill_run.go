package launcher

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killTarget is what a teardown does to the world; tests replace it where the
// kernel cannot be brought to an answer.
type killTarget interface {
	held() bool // the leader is unreaped, so the group's number is still its own
	exitedNow() bool
	signalGroup(sig unix.Signal) error
	signalLeader(sig unix.Signal) error
	members() (killMembers, error)
	startHelper(killer string, sig KillSignal) (killHelper, error)
}

// killHelper is a started killer.
type killHelper interface {
	// wait returns nil for exit status 0 within the limit. Any other end, or
	// none in time, is an error that continues "KILLER=… for group N ".
	wait(limit time.Duration) error
}

// killRun is one teardown of a process that has a wrapper.
type killRun struct {
	target   killTarget
	how      KillOptions
	pgid     int
	killer   string // "" once it failed: a helper is not asked twice
	claimed  bool   // the killer exited 0
	partial  bool   // X8 was reported
	teardown *Teardown
	reporter killReporter

	started    killHelper // begun on the caller's side
	startedErr error
	over       bool
}

func newKillRun(proc *WrappedProcess, how KillOptions, t *Teardown, onFailure func(error)) *killRun {
	if how.HelperLimit <= 0 {
		how.HelperLimit = killDefaultLimit
	}
	if how.Grace <= 0 {
		how.Grace = killDefaultLimit
	}
	if how.KillGrace <= 0 {
		how.KillGrace = killDefaultLimit
	}
	return &killRun{
		target: killProcess{proc}, how: how, pgid: proc.pid, killer: how.Killer, teardown: t,
		reporter: killReporter{sink: onFailure, limit: how.HelperLimit},
	}
}

func (r *killRun) receipt() *KillReceipt { return &r.teardown.receipt }

func (r *killRun) fail(err error) {
	r.receipt().Failures = append(r.receipt().Failures, err)
	r.reporter.report(err)
}

// begin does what the abort path itself does: it starts the helper, and waits
// for nothing.
func (r *killRun) begin() {
	if !r.target.held() {
		r.over = true // K10
		return
	}
	if r.target.exitedNow() && r.nothingLeft() {
		r.over = true
		return
	}
	if r.killer != "" {
		r.started, r.startedErr = r.target.startHelper(r.killer, r.receipt().Signal)
	}
}

// run is the rest, in a goroutine.
func (r *killRun) run() {
	defer close(r.teardown.done)
	if r.over {
		return
	}
	if r.round(r.receipt().Signal) {
		r.reportClaim()
		return
	}
	if r.receipt().Signal != KillKILL {
		r.receipt().Escalated = true
		if r.round(KillKILL) {
			r.reportClaim()
			return
		}
	}
	// A killer that answers 0 and ends nothing is not the last word (A4, K7).
	if r.killer != "" && r.unprivileged(KillKILL) {
		r.reportClaim()
		return
	}
	r.fail(r.survivorsError())
}

// round is steps B to D for one signal and the verification. True ends the
// teardown.
func (r *killRun) round(sig KillSignal) bool {
	if r.killer == "" {
		return r.unprivileged(sig)
	}
	if r.started == nil && !r.target.held() {
		return r.verify(sig) // X3: the killer too goes by the number
	}
	err := r.callKiller(sig)
	r.receipt().Mechanism = KillByHelper
	if err == nil {
		r.claimed = true
		return r.verify(sig)
	}
	killer := r.killer
	r.killer = ""
	// P11: the group may have ended by itself before the killer came, which to
	// the killer is a failure like any other.
	if killUnclear(err) && r.nothingLeft() {
		return true
	}
	r.fail(fmt.Errorf("launcher: %s=%q for process group %d %w", ExecKillerEnv, killer, r.pgid, err))
	return r.unprivileged(sig)
}

func (r *killRun) callKiller(sig KillSignal) error {
	helper, err := r.started, r.startedErr
	r.started, r.startedErr = nil, nil
	if helper == nil && err == nil {
		helper, err = r.target.startHelper(r.killer, sig)
	}
	if err != nil {
		return fmt.Errorf("cannot be started: %w", err)
	}
	return helper.wait(r.how.HelperLimit)
}

// unprivileged is step D.
func (r *killRun) unprivileged(sig KillSignal) bool {
	if !r.target.held() {
		return r.verify(sig) // X3: never a number whose leader was reaped
	}
	r.receipt().Mechanism = KillByGroup
	groupErr := r.target.signalGroup(sig.number())
	if groupErr == nil || errors.Is(groupErr, unix.ESRCH) {
		return r.verify(sig)
	}
	if r.nothingLeft() { // a zombie of another uid answers EPERM (X2)
		return true
	}
	r.receipt().Mechanism = KillByLeader
	leaderErr := r.target.signalLeader(sig.number())
	if leaderErr != nil && !errors.Is(leaderErr, unix.ESRCH) {
		r.failed(sig, groupErr, leaderErr)
		return true
	}
	if leaderErr == nil && !r.partial {
		r.partial = true
		r.fail(fmt.Errorf("launcher: process group %d was signalled in part: kill(-%d, SIG%v): %s (%w); "+
			"only its leader was reached, others of the group may be still running",
			r.pgid, r.pgid, sig, killErrno(groupErr), groupErr))
	}
	return r.verify(sig)
}

// failed is the total failure of step D.
func (r *killRun) failed(sig KillSignal, groupErr, leaderErr error) {
	if alive, err := r.target.members(); err == nil {
		r.receipt().Survivors = alive.list
	}
	hint := "set " + ExecKillerEnv + " to a helper that may signal it"
	if r.how.Killer != "" {
		hint = fmt.Sprintf("%s=%q did not end it", ExecKillerEnv, r.how.Killer)
	}
	r.fail(fmt.Errorf("launcher: process group %d, started through wrapper %q, is still running: "+
		"kill(-%d, SIG%v): %s (%w); its leader: %s; %s",
		r.pgid, r.how.Wrapper, r.pgid, sig, killErrno(groupErr), groupErr, killErrno(leaderErr), hint))
}

// reportClaim tells of a killer that answered 0 although it took kill(2) from
// here to end the group.
func (r *killRun) reportClaim() {
	m := r.receipt().Mechanism
	if !r.claimed || m == KillByHelper || len(r.receipt().Survivors) > 0 {
		return
	}
	r.fail(fmt.Errorf("launcher: %s=%q exited 0 for process group %d but did not end it; "+
		"it was ended by signalling its %s", ExecKillerEnv, r.how.Killer, r.pgid, m))
}

func (r *killRun) survivorsError() error {
	if !r.target.held() {
		return fmt.Errorf("launcher: process group %d was left alone: somebody else reaped its leader, "+
			"so the number may be another group's; in it now:%s", r.pgid, killList(r.receipt().Survivors))
	}
	err := fmt.Errorf("launcher: process group %d, started through wrapper %q, is still running after SIGKILL by %s:%s",
		r.pgid, r.how.Wrapper, r.receipt().Mechanism, killList(r.receipt().Survivors))
	switch {
	case r.claimed:
		return fmt.Errorf("%w; %s=%q exited 0 but did not end it", err, ExecKillerEnv, r.how.Killer)
	case r.how.Killer == "":
		return fmt.Errorf("%w; set %s to a helper that may signal it", err, ExecKillerEnv)
	}
	return err
}

func killErrno(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return "error"
}
