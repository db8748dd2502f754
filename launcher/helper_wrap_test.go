package launcher

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// wrapPatience bounds every wait of these tests; nothing waits that long unless
// it fails.
const wrapPatience = 30 * time.Second

// Ready scripts say who they are and then stay.
const (
	wrapSleeper  = `echo ready $$; exec sleep 300`
	wrapStubborn = `trap '' TERM; echo ready $$; exec sleep 300`
	wrapExec     = "#!/bin/sh\nexec \"$@\"\n"
	// wrapSupervise forks the program and stays its parent, in the same group.
	wrapSupervise = "#!/bin/sh\n\"$@\" &\nwait\n"
)

// wrapSharedDir is a temporary directory that other users can reach.
func wrapSharedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func wrapScript(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(wrapSharedDir(t), name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// wrapThrough is an ExecWrapper whose files lie in a temporary directory, which
// the start-up check rightly refuses.
func wrapThrough(wrapper, killer string) *ExecWrapper {
	return &ExecWrapper{
		wrapper: wrapper, killer: killer, path: HostPath{dirs: []string{"/usr/bin", "/bin"}},
		grace: wrapPatience, killGrace: wrapPatience, helperLimit: wrapPatience,
	}
}

// wrapRunning is a started process and what its programs printed.
type wrapRunning struct {
	*WrappedProcess
	lines *bufio.Reader
}

// wrapSpawn starts a shell script; its output is read line by line.
func wrapSpawn(t *testing.T, w *ExecWrapper, script string, args ...string) wrapRunning {
	t.Helper()
	r, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if err := r.SetReadDeadline(time.Now().Add(wrapPatience)); err != nil {
		t.Fatal(err)
	}
	proc, err := w.Spawn(WrappedCommand{
		Argv: append([]string{"sh", "-c", script, "sh"}, args...), Stdout: stdout,
		Stderr: os.Stderr, Env: []string{"PATH=/usr/bin:/bin"},
	})
	if err != nil {
		t.Fatalf("Spawn: %v", err)
	}
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wrapEnd(t, w, proc) })
	return wrapRunning{proc, bufio.NewReader(r)}
}

// wrapEnd leaves nothing behind, by recorded numbers that are still ours.
func wrapEnd(t *testing.T, w *ExecWrapper, proc *WrappedProcess) {
	if proc.closed {
		return
	}
	if w.wrapper != "" {
		_ = unix.Kill(-proc.pid, unix.SIGKILL)
	}
	_ = proc.signal(unix.SIGKILL)
	if _, err := proc.Wait(wrapContext(t)); err == nil {
		_ = proc.Close()
	}
}

func wrapContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), wrapPatience)
	t.Cleanup(cancel)
	return ctx
}

// ready reads one "ready PID" line and checks the precondition of every test
// here: the process runs (R6).
func (r wrapRunning) ready(t *testing.T) int {
	t.Helper()
	line, err := r.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no ready line: %q, %v", line, err)
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(line), "ready "))
	if err != nil {
		t.Fatalf("ready line %q: %v", line, err)
	}
	if !wrapAlive(t, pid) {
		t.Fatalf("process %d is not running before the test", pid)
	}
	return pid
}

// wrapAlive judges by the recorded number only (R3); a zombie is dead.
func wrapAlive(t *testing.T, pid int) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return false
	}
	st, ok := killParseStat(text)
	if err != nil || !ok {
		t.Fatalf("stat of %d: %q, %v", pid, text, err)
	}
	return st.alive()
}

// wrapReports collects what onFailure is told.
type wrapReports struct {
	mu   sync.Mutex
	list []string
}

func (r *wrapReports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, err.Error())
}

func (r *wrapReports) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// wrapKill ends a process and waits for the receipt.
func wrapKill(t *testing.T, proc *WrappedProcess, sig KillSignal) (KillReceipt, []string) {
	t.Helper()
	var reports wrapReports
	teardown, err := proc.Kill(sig, reports.add)
	if err != nil {
		t.Fatalf("Kill: %v", err)
	}
	receipt, err := teardown.Wait(wrapContext(t))
	if err != nil {
		t.Fatalf("teardown: %v", err)
	}
	return receipt, reports.all()
}

// wrapDead waits for the leader and returns the signal that ended it.
func wrapDead(t *testing.T, proc *WrappedProcess) syscall.Signal {
	t.Helper()
	status, err := proc.Wait(wrapContext(t))
	if err != nil {
		t.Fatalf("process %d: %v", proc.PID(), err)
	}
	if !status.Signaled() {
		return 0
	}
	return status.Signal()
}
