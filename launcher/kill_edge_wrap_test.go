package launcher

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestKillAlreadyReaped(t *testing.T) {
	killer, logFile := killerScript(t, killerHonest)
	proc := wrapSpawn(t, wrapThrough(wrapScript(t, "wrapper", wrapExec), killer), "exit 7")
	status, err := proc.Wait(wrapContext(t))
	if err != nil || status.ExitStatus() != 7 {
		t.Fatalf("Wait = %v, %v, want status 7", status, err)
	}
	t.Run("bk/K10 exited, not reaped", func(t *testing.T) {
		receipt, reports := wrapKill(t, proc.WrappedProcess, KillTERM)
		if receipt.Mechanism != KillByNothing || !receipt.Verified || len(reports) != 0 {
			t.Errorf("receipt %+v, reports %q, want a success without a signal", receipt, reports)
		}
	})
	t.Run("bk/K10 reaped [D]", func(t *testing.T) {
		if err := proc.Close(); err != nil {
			t.Fatal(err)
		}
		for _, sig := range []KillSignal{KillKILL, KillINT} {
			receipt, reports := wrapKill(t, proc.WrappedProcess, sig)
			if receipt.Mechanism != KillByNothing || len(reports) != 0 {
				t.Errorf("receipt %+v, reports %q, want a success without a signal", receipt, reports)
			}
		}
	})
	if _, err := os.Stat(logFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("bk/K10: the killer was called for a number that was free: %v", err)
	}
}

func TestKillReapedBehindOurBack(t *testing.T) {
	// X3: the host's code took the exit status itself; the number is free.
	killer, logFile := killerScript(t, killerHonest)
	proc := wrapSpawn(t, wrapThrough(wrapScript(t, "wrapper", wrapExec), killer), "exit 0")
	wrapDead(t, proc.WrappedProcess)
	if _, err := syscall.Wait4(proc.PID(), nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	receipt, reports := wrapKill(t, proc.WrappedProcess, KillTERM)
	if receipt.Mechanism != KillByNothing || len(reports) != 0 {
		t.Errorf("receipt %+v, reports %q, want no signal", receipt, reports)
	}
	if _, err := os.Stat(logFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the killer was called: %v", err)
	}
	if err := proc.Close(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Close = %v, want fs.ErrNotExist", err)
	}
}

func TestKillGroupWhoseLeaderEnded(t *testing.T) {
	proc := wrapSpawn(t, wrapThrough(wrapScript(t, "wrapper", wrapExec), ""), "sh -c '"+wrapSleeper+"' & exit 0")
	child := proc.ready(t)
	wrapDead(t, proc.WrappedProcess)
	receipt, reports := wrapKill(t, proc.WrappedProcess, KillTERM)
	if wrapAlive(t, child) || receipt.Mechanism != KillByGroup || !receipt.Verified || len(reports) != 0 {
		t.Errorf("child alive %t, receipt %+v, reports %q", wrapAlive(t, child), receipt, reports)
	}
}

// TestKillReachesOneGroupOnly is H6 of contract brainkit §1.6: another turn of
// the same agent lives on.
func TestKillReachesOneGroupOnly(t *testing.T) {
	killer, _ := killerScript(t, killerHonest)
	w := wrapThrough(wrapScript(t, "wrapper", wrapExec), killer)
	one, other := wrapSpawn(t, w, wrapSleeper), wrapSpawn(t, w, wrapSleeper)
	one.ready(t)
	other.ready(t)
	wrapKill(t, one.WrappedProcess, KillKILL)
	if got, bystander := wrapAlive(t, one.PID()), wrapAlive(t, other.PID()); got || !bystander {
		t.Errorf("alive: %t, %t, want the first dead and the second alive", got, bystander)
	}
}

func TestKillRefusesOtherSignals(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGSTOP, syscall.SIGUSR1, syscall.Signal(0)} {
		if got, err := ParseKillSignal(sig); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("bk/K13 [D]: ParseKillSignal(%v) = %v, %v, want fs.ErrInvalid", sig, got, err)
		}
	}
	accepted := map[syscall.Signal]KillSignal{
		syscall.SIGTERM: KillTERM, syscall.SIGKILL: KillKILL, syscall.SIGINT: KillINT,
	}
	for sig, want := range accepted {
		if got, err := ParseKillSignal(sig); got != want || err != nil || got.number() != sig {
			t.Errorf("ParseKillSignal(%v) = %v, %v, want %v", sig, got, err, want)
		}
	}
	killer, logFile := killerScript(t, killerHonest)
	w := wrapThrough(wrapScript(t, "wrapper", wrapExec), killer)
	proc := wrapSpawn(t, w, wrapSleeper)
	proc.ready(t)
	for _, sig := range []KillSignal{killSignals, 15, 255} {
		if _, err := proc.Kill(sig, nil); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("bk/K13 [D]: Kill(%d) = %v, want fs.ErrInvalid", sig, err)
		}
	}
	how := proc.options
	how.Wrapper = ""
	if _, err := KillWrapped(proc.WrappedProcess, how, KillTERM, nil); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("another wrapper than at the start = %v, want fs.ErrInvalid", err)
	}
	if _, err := os.Stat(logFile); !errors.Is(err, fs.ErrNotExist) || !wrapAlive(t, proc.PID()) {
		t.Errorf("a refused call did something: %v", err)
	}
}

func TestKillSurvivesItsSink(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	sinks := map[string]func(error){
		"bk/K14 panics [D]":        func(error) { panic("sink") },
		"bk/K14 runtime error":     func(err error) { _ = []int{}[len(err.Error())] },
		"bk/K14 ends its routine":  func(error) { (&testing.T{}).SkipNow() },
		"bk/K14 never returns [D]": func(error) { <-release },
	}
	for name, sink := range sinks {
		t.Run(name, func(t *testing.T) {
			w := wrapThrough(wrapScript(t, "wrapper", wrapExec), "/no/such/killer")
			w.helperLimit = 20 * time.Millisecond
			proc := wrapSpawn(t, w, wrapSleeper)
			proc.ready(t)
			teardown, err := proc.Kill(KillTERM, sink)
			if err != nil {
				t.Fatal(err)
			}
			receipt, err := teardown.Wait(wrapContext(t))
			if err != nil || !receipt.Verified || len(receipt.Failures) != 1 {
				t.Errorf("receipt %+v, %v, want step D carried out", receipt, err)
			}
			if got := wrapDead(t, proc.WrappedProcess); got != syscall.SIGTERM {
				t.Errorf("ended by %v, want SIGTERM", got)
			}
		})
	}
}

func TestKillManyAtOnce(t *testing.T) {
	killer, logFile := killerScript(t, killerHonest)
	proc := wrapSpawn(t, wrapThrough(wrapScript(t, "wrapper", wrapExec), killer), wrapSleeper)
	proc.ready(t)
	teardowns := make(chan *Teardown)
	const calls = 16
	for i := range calls {
		go func() {
			teardown, err := proc.Kill([]KillSignal{KillTERM, KillKILL}[i%2], nil)
			if err != nil {
				t.Error(err)
			}
			teardowns <- teardown
		}()
	}
	different := map[*Teardown]bool{}
	for range calls {
		different[<-teardowns] = true
	}
	for teardown := range different {
		if receipt, err := teardown.Wait(wrapContext(t)); err != nil || !receipt.Verified {
			t.Errorf("receipt %+v, %v", receipt, err)
		}
	}
	if got := killLogLines(t, logFile); len(different) != 2 || len(got) > 4 {
		t.Errorf("X7: %d teardowns, killer called with %q, want one call a signal", len(different), got)
	}
	if err := proc.Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseWhileRunning(t *testing.T) {
	proc := wrapSpawn(t, wrapThrough("", ""), wrapSleeper)
	proc.ready(t)
	if err := proc.Close(); !errors.Is(err, ErrStillRunning) {
		t.Errorf("Close = %v, want ErrStillRunning", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := proc.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v, want the context's error", err)
	}
}
