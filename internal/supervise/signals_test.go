package supervise

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"brainbox/internal/procfs"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

// TestEarlySignals sends signals between the start and the moment from which they are passed
// on (esc/LA-12): none of them ends the supervisor, and the program gets each.
func TestEarlySignals(t *testing.T) { both(t, earlySignals) }

func earlySignals(t *testing.T, inside bool) {
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGUSR1} {
		// The program has no handler yet, or has: it is the last thing that either does.
		s := spec{Inside: inside, Early: []int{int(sig)}, Script: "while :; do sleep 1000 & wait; done"}
		if o, _ := supervise(t, s); o.Signal != sig || o.Status != 128+int(sig) || o.Code != -1 {
			t.Errorf("%v: %+v, want the program to end by it", sig, o)
		}
	}
	// Positive controls: one that ends nothing, and none.
	s := spec{Inside: inside, Early: []int{int(unix.SIGWINCH)}, Script: "exit 7"}
	if o, _ := supervise(t, s); o.Status != 7 {
		t.Errorf("SIGWINCH: %+v, want status 7", o)
	}
	s.Early = []int{}
	if o, _ := supervise(t, s); o.Status != 7 {
		t.Errorf("no signal: %+v, want status 7", o)
	}
}

// TestLateSignals sends signals after the end of the tree, while what it left is looked at.
func TestLateSignals(t *testing.T) { both(t, lateSignals) }

func lateSignals(t *testing.T, inside bool) {
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP} {
		s := spec{Inside: inside, Late: []int{int(sig), int(sig)}, Script: "exit 7"}
		if o, _ := supervise(t, s); o.Status != 7 || o.Code != 7 {
			t.Errorf("%v: %+v, want status 7", sig, o)
		}
	}
}

// TestLingeringSignals sends signals when Run has returned, and what the run was has still to be
// written: a command that lingers writes it, and one that hangs then is ended all the same.
func TestLingeringSignals(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT} {
		s := spec{Linger: time.Hour, After: []int{int(sig), int(sig)}, Script: "exit 7"}
		if o, _ := supervise(t, s); o.Status != 7 || o.Code != 7 {
			t.Errorf("%v: %+v, want status 7", sig, o)
		}
	}
	for name, linger := range map[string]time.Duration{"without": 0, "when the time is over": time.Millisecond} {
		r := start(t, spec{Linger: linger, After: []int{int(unix.SIGTERM)}, Stay: true, Script: "exit 7"})
		err := r.cmd.Wait()
		if ws, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != unix.SIGTERM {
			t.Errorf("%s: %v, want SIGTERM to end it", name, err)
		}
	}
}

// A signal that comes during a start that fails is nobody's to pass on. It does what it would
// have done: what starts next, in another isolation, must not outlive a ^C that was pressed.
func TestASignalOutlivesAFailedStart(t *testing.T) {
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, unix.SIGUSR1)
	defer signal.Stop(ch)
	job := &Job{Spawn: spawn.Request{Path: "/nowhere/at-all", Argv: []string{"x"}, Stdio: [3]int{0, 1, 2}, Unconfined: true}}
	r := &run{job: job, patience: endWait, list: procfs.Children, between: func() { raise([]int{int(unix.SIGUSR1)}) }}
	if _, err := r.run(func(int) { t.Error("started") }); !errors.Is(err, unix.ENOENT) {
		t.Errorf("run: %v", err)
	}
	select {
	case <-ch:
	case <-time.After(patience):
		t.Error("the signal is lost")
	}
}
