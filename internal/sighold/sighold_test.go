package sighold

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// send sends sig to this process and waits until it was noted: the kernel may have chosen
// another thread, which has yet to wake up.
func send(t *testing.T, sig unix.Signal) {
	t.Helper()
	if err := unix.Kill(os.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); atomic.LoadUint64(&noted)&(1<<uint(sig)) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%v was not noted", sig)
		}
	}
}

// disposition is what the kernel says this process does with sig.
func disposition(sig unix.Signal) (a sigaction) {
	set(sig, nil, &a)
	return a
}

func hold(t *testing.T, sigs ...unix.Signal) *Held {
	t.Helper()
	h, err := Hold(sigs...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHold(t *testing.T) {
	before := disposition(unix.SIGTERM)
	h := hold(t, unix.SIGTERM, unix.SIGINT, unix.SIGUSR1)
	send(t, unix.SIGTERM)
	send(t, unix.SIGUSR1)
	if got := h.Release(); !slices.Equal(got, []unix.Signal{unix.SIGTERM, unix.SIGUSR1}) {
		t.Errorf("came %v, want TERM and USR1", got)
	}
	if after := disposition(unix.SIGTERM); after != before {
		t.Errorf("disposition %+v, was %+v", after, before)
	}
	h = hold(t, unix.SIGTERM)
	if got := h.Release(); got != nil {
		t.Errorf("came %v, want nothing: what came was told once", got)
	}
}

// A signal that the caller of the process ignores stays ignored (nohup).
func TestHoldLeavesIgnored(t *testing.T) {
	signal.Ignore(unix.SIGHUP)
	defer signal.Reset(unix.SIGHUP)
	h := hold(t, unix.SIGHUP)
	if got := disposition(unix.SIGHUP).handler; got != sigIgnore {
		t.Errorf("the handler is %#x", got)
	}
	if err := unix.Kill(os.Getpid(), unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if got := h.Release(); got != nil {
		t.Errorf("came %v", got)
	}
}

// What os/signal takes meanwhile is its own after Release.
func TestNotifyWhileHeld(t *testing.T) {
	h := hold(t, unix.SIGUSR2)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, unix.SIGUSR2)
	defer signal.Stop(ch)
	send(t, unix.SIGUSR2)
	if got := h.Release(); !slices.Equal(got, []unix.Signal{unix.SIGUSR2}) {
		t.Errorf("came %v", got)
	}
	if err := unix.Kill(os.Getpid(), unix.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ch:
	case <-time.After(30 * time.Second):
		t.Error("os/signal did not get it")
	}
}

// What comes is told, what came before too, and nothing after Release. The second round
// finds the goroutine of the first.
func TestPass(t *testing.T) {
	for range 2 {
		h := hold(t, unix.SIGTERM, unix.SIGUSR1)
		send(t, unix.SIGUSR1)
		ch := make(chan unix.Signal, 1)
		next := func(want unix.Signal) {
			t.Helper()
			select {
			case got := <-ch:
				if got != want {
					t.Errorf("told of %v, want %v", got, want)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("not told of %v", want)
			}
		}
		h.Pass(func(sig unix.Signal) { ch <- sig })
		next(unix.SIGUSR1)
		for range 100 {
			if err := unix.Kill(os.Getpid(), unix.SIGTERM); err != nil {
				t.Fatal(err)
			}
			next(unix.SIGTERM)
		}
		if got := h.Release(); got != nil {
			t.Errorf("came %v, and was told already", got)
		}
		h = hold(t, unix.SIGTERM)
		send(t, unix.SIGTERM)
		if got := h.Release(); !slices.Equal(got, []unix.Signal{unix.SIGTERM}) || len(ch) != 0 {
			t.Errorf("came %v, and %d were told to the one before", got, len(ch))
		}
	}
}

// What the handler interrupts goes on as if nothing was.
func TestHoldDisturbsNothing(t *testing.T) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, unix.SIGUSR1)
	defer signal.Stop(ch)
	h := hold(t, unix.SIGUSR1)
	var told atomic.Int32
	h.Pass(func(unix.Signal) { told.Add(1) })
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default: // the last may still be on its way when it is released: then os/signal's
				_ = unix.Kill(os.Getpid(), unix.SIGUSR1)
			}
		}
	}()
	sum := 0
	for i := range 20_000_000 {
		sum += i & 0xff
	}
	if out, err := exec.Command("/bin/echo", "x").Output(); string(out) != "x\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	// A quick machine is through with all this before the goroutine of Pass first runs.
	for end := time.Now().Add(30 * time.Second); told.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Error("nothing was told")
			break
		}
	}
	close(stop)
	<-done
	h.Release()
	if want := 20_000_000 / 256 * (255 * 256 / 2); sum != want {
		t.Errorf("sum %d, want %d", sum, want)
	}
}
