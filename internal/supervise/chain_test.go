package supervise

import (
	"os"
	"slices"
	"syscall"
	"testing"

	"brainbox/internal/procfs"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// ended starts n children and returns when all of them are zombies.
func ended(t *testing.T, n int) []int {
	t.Helper()
	var pids []int
	for range n {
		pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Files: []uintptr{}})
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	for _, pid := range pids {
		var info siginfo
		if err := waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT); err != nil {
			t.Fatal(err)
		}
	}
	return pids
}

// TestReapingIsBounded: chains of processes that fork and exit at once always leave one
// more to reap, and nobody would be killed, nor the deadline be seen.
func TestReapingIsBounded(t *testing.T) {
	if !needs.InChild(t) {
		return
	}
	ended(t, maxReap+8)
	r := &run{list: procfs.Children}
	if left, more := r.reapSome(); !left || !more {
		t.Errorf("after one round: left %v, more %v; want a bound", left, more)
	}
	if left, more := r.reapSome(); left || more { // positive control
		t.Errorf("after the second round: left %v, more %v; want nothing", left, more)
	}
}

func TestKillChildrenEndsWhatRuns(t *testing.T) {
	if !needs.InChild(t) {
		return
	}
	pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "600"}, &syscall.ProcAttr{Files: []uintptr{}})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{list: procfs.Children}
	if all := procfs.Children(os.Getpid()); !slices.Contains(all, pid) {
		t.Fatalf("children %v, without %d", all, pid)
	}
	if left, more := r.reapSome(); !left || more {
		t.Fatalf("left %v, more %v; want one that runs", left, more)
	}
	r.killChildren()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil || ws.Signal() != unix.SIGKILL {
		t.Errorf("it ended with %v, %v", ws, err)
	}
}
