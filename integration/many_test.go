package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestManyProcesses is esc/PR-14 for whole crowds: nothing of them is left when brainbox has
// returned, whether the program ended by itself or was ended.
func TestManyProcesses(t *testing.T) {
	kernel(t)
	t.Run("500 daemons", func(t *testing.T) {
		crowd(t, 500, 0, `i=0; while [ $i -lt 500 ]; do
	(setsid sleep "$1" </dev/null >/dev/null 2>&1 &); i=$((i+1))
done; : >ready; until [ -e go ]; do sleep 0.05; done`)
	})
	t.Run("a tree of 1000", func(t *testing.T) {
		crowd(t, 1000, syscall.SIGTERM, `for b in 0 1 2 3 4 5 6 7 8 9; do
	(i=0; while [ $i -lt 100 ]; do sleep "$1" & i=$((i+1)); done; : >"branch-$b"; wait) &
done
for b in 0 1 2 3 4 5 6 7 8 9; do until [ -e "branch-$b" ]; do sleep 0.05; done; done; : >ready; wait`)
	})
}

// crowd has a script start at least n processes named by their argument, and ends it: by
// itself, or by a signal to brainbox.
func crowd(t *testing.T, n int, sig syscall.Signal, script string) {
	w := newWorld(t)
	mark := "4000." + itoa(os.Getpid()) + itoa(n)
	cmd := boxed(nil, "/bin/sh", "-c", script, "sh", mark)
	var errs syncBuffer
	cmd.Dir, cmd.Env, cmd.Stderr = w.dir("W"), environ(t), &errs
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	waitFor(t, "the crowd", func() bool { _, err := os.Stat(filepath.Join(w.dir("W"), "ready")); return err == nil })
	waitFor(t, "all of the crowd", func() bool { return named(t, mark) >= n }) // the positive control
	want := 0
	if sig == 0 {
		must(t, os.WriteFile(filepath.Join(w.dir("W"), "go"), nil, 0o644))
	} else {
		must(t, cmd.Process.Signal(sig))
		want = 128 + int(sig)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != want || errs.String() != "" {
		t.Errorf("status %d, want %d: %s", got, want, errs.String())
	}
	if left := named(t, mark); left != 0 {
		t.Errorf("%d processes are left", left)
		_ = exec.Command("/bin/sh", "-c", `grep -lz "$1" /proc/[0-9]*/cmdline`, "sh", mark).Run()
	}
}

// named counts the processes that have an argument.
func named(t *testing.T, mark string) int {
	t.Helper()
	count := 0
	for _, pid := range processes(t) {
		text, err := os.ReadFile("/proc/" + itoa(pid) + "/cmdline")
		if err == nil && strings.HasPrefix(string(text), "sleep\x00"+mark+"\x00") {
			count++
		}
	}
	return count
}
