package launcher

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal that crosses the end of its run ends neither the spawner nor what runs next in it.
func TestALateSignalHurtsNobody(t *testing.T) {
	h := newHost(t)
	for range 20 {
		s, f := startWith(t, h, t.TempDir(), "exit 5")
		pidfd := []unix.PollFd{{Fd: int32(s.PidFD.Fd()), Events: unix.POLLIN}}
		for n := 0; n <= 0; n, _ = unix.Poll(pidfd, 1000) { // below 0: a signal of the runtime's
		}
		if err := s.Signal(syscall.SIGTERM); err != nil { // nobody has said yet that it has ended
			t.Fatal(err)
		}
		if res, err := s.Wait(); err != nil || res.Status != 5 {
			t.Fatalf("Wait = %+v, %v; want status 5", res, err)
		}
		next, g := startWith(t, h, t.TempDir(), "sleep 0.05; exit 6")
		if err := s.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("Signal after Wait: %v", err)
		}
		if res, err := next.Wait(); err != nil || res.Status != 6 {
			t.Fatalf("Wait = %+v, %v; want status 6", res, err)
		}
		f.Close()
		g.Close()
	}
	if n := len(h.idle); n != 1 {
		t.Errorf("%d idle spawners, want 1", n)
	}
}

// The descriptor that led to one worker leads to another when the first has been waited for.
func TestKillAfterWaitKillsNobody(t *testing.T) {
	first, err := newWorker(t, "exit 0").Start(t.Context(), TurnAutonomous)
	if err != nil {
		t.Fatal(err)
	}
	first.collect()
	if _, err := first.Wait(); err != nil {
		t.Fatal(err)
	}
	second, err := newWorker(t, "read x; exit $x").Start(t.Context(), TurnAutonomous)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Kill after Wait: %v", err)
	}
	if _, err := second.Stdin.WriteString("7\n"); err != nil {
		t.Error(err)
	}
	second.collect()
	if res, err := second.Wait(); err != nil || res.Status != 7 {
		t.Errorf("Wait = %+v, %v; want status 7", res, err)
	}
}
