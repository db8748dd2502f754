package keeper

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"brainbox/internal/needs"
)

// mayGo lets a script go on that must not before its start is over.
func (r *run) mayGo(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A program may kill its keeper: it dies with it, and so does its session.
func TestKeeperKilledByItsProgram(t *testing.T) {
	needs.Kernel(t)
	r := start(t, `sh -c 'echo $$ >>p; exec sleep 300' & echo $$ >>p; while [ $(wc -l <p) -lt 2 ]; do :; done; until [ -e go ]; do sleep 0.01; done; kill -9 $PPID; sleep 300`, nil)
	r.mayGo(t)
	pids := r.pids(t, "p", 2)
	if end := r.Wait(); end != (End{Lost: true}) {
		t.Errorf("end %+v", end)
	}
	allGone(t, pids)
}

func TestKeeperStoppedByItsProgram(t *testing.T) {
	needs.Kernel(t)
	r := start(t, `echo $$ >>p; until [ -e go ]; do sleep 0.01; done; kill -STOP $PPID; echo $$ >>p; sleep 300`, nil)
	r.mayGo(t)
	pids := r.pids(t, "p", 2)
	begun := time.Now()
	r.Kill()
	if end := r.Wait(); end != (End{Lost: true}) {
		t.Errorf("end %+v", end)
	}
	if took := time.Since(begun); took > patience+busy {
		t.Errorf("took %v", took)
	}
	allGone(t, pids)
}
