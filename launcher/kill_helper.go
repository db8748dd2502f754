package launcher

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// killProcess is the real target.
type killProcess struct{ proc *WrappedProcess }

func (k killProcess) held() bool { return k.proc.held() }

func (k killProcess) exitedNow() bool {
	select {
	case <-k.proc.exited:
		return true
	default:
		return false
	}
}

func (k killProcess) signalGroup(sig unix.Signal) error { return unix.Kill(-k.proc.pid, sig) }

func (k killProcess) signalLeader(sig unix.Signal) error { return k.proc.signal(sig) }

func (k killProcess) members() (killMembers, error) { return killGroupMembers(k.proc.pid) }

// startHelper starts the killer with nothing of the host's: no environment, no
// descriptor, /dev/null on all three, the root directory (X5). It leads a group
// of its own, so that a helper that hangs can be ended with what it started.
func (k killProcess) startHelper(killer string, sig KillSignal) (killHelper, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	argv := []string{killer, strconv.Itoa(k.proc.pid), sig.String()}
	files := []uintptr{null.Fd(), null.Fd(), null.Fd()}
	pid, pidfd, err := wrapStart(killer, argv, WrappedCommand{Dir: "/"}, files, true)
	if err != nil {
		return nil, err
	}
	proc, err := newWrappedProcess(&ExecWrapper{}, pid, pidfd)
	if err != nil {
		return nil, err
	}
	return startedHelper{proc}, nil
}

// startedHelper is a killer under way.
type startedHelper struct{ proc *WrappedProcess }

// helperStatus is a killer's exit status other than 0.
type helperStatus int

// killUnclearStatus is brainbox-kill's only failure: a bad call, no right, no
// such group.
const killUnclearStatus = 126

func (s helperStatus) Error() string { return "exited " + strconv.Itoa(int(s)) }

// killUnclear reports whether the failure may mean that no group was there.
func killUnclear(err error) bool {
	var status helperStatus
	return errors.As(err, &status) && status == killUnclearStatus
}

func (h startedHelper) wait(limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-h.proc.exited:
	case <-timer.C:
		return h.timedOut(limit)
	}
	status, err := h.proc.status, h.proc.err
	closeErr := h.proc.Close()
	switch {
	case err != nil:
		return fmt.Errorf("cannot be waited for: %w", err)
	case closeErr != nil:
		return fmt.Errorf("cannot be waited for: %w", closeErr)
	case status.Signaled():
		return fmt.Errorf("was ended by %s", unix.SignalName(status.Signal()))
	case status.ExitStatus() != 0:
		return helperStatus(status.ExitStatus())
	}
	return nil
}

// timedOut ends the helper and does not wait for that: one that has taken
// another uid may be out of reach. A goroutine parked in the poller reaps it.
func (h startedHelper) timedOut(limit time.Duration) error {
	err := fmt.Errorf("timed out after %v", limit)
	if killErr := unix.Kill(-h.proc.pid, unix.SIGKILL); killErr != nil {
		err = fmt.Errorf("%w and could not be ended: %w", err, killErr)
	}
	go func() {
		<-h.proc.exited
		_ = h.proc.Close() // reported as timed out already
	}()
	return err
}
