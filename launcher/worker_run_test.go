package launcher

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// newWorker is a worker that runs a shell script in a repository of its own.
func newWorker(t *testing.T, script string) Worker {
	t.Helper()
	needs.Userns(t)
	needs.LandlockABI(t, 1)
	// What this process inherited from whoever runs the tests is its own to mark.
	if err := unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	dir, err := hostDir()
	if err != nil {
		t.Fatal(err)
	}
	repo := resolved(t.TempDir())
	write(t, repo+"/policy", "as it was\n")
	return Worker{
		Dir: dir, Repo: repo, Command: []string{"/bin/sh", "-c", script},
		Env: map[string]string{"PATH": "/usr/bin:/bin"},
	}
}

// ended starts a worker, lets it end, and returns what it said.
func ended(t *testing.T, w Worker, turn Turn) (*Result, string, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run, err := w.Start(ctx, turn)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	said := run.collect()
	res, err := run.Wait()
	if err != nil {
		t.Fatalf("Wait: %v; it said %q", err, said)
	}
	return res, said[0], said[1]
}

func TestWorkerRuns(t *testing.T) {
	w := newWorker(t, "pwd; echo x >policy; echo y >$BRAINBOX_SCRATCH/f && cat $BRAINBOX_SCRATCH/f; echo err >&2; ls -a; exit 3")
	res, out, errOut := ended(t, w, TurnAutonomous)
	if res.Status != 3 || !strings.HasPrefix(out, w.Repo+"\ny\n") || !strings.Contains(errOut, "err\n") {
		t.Errorf("status %d, output %q, %q", res.Status, out, errOut)
	}
	text, err := os.ReadFile(filepath.Join(w.Repo, "policy"))
	if err != nil || string(text) != "as it was\n" {
		t.Errorf("%q, %v", text, err)
	}
}
