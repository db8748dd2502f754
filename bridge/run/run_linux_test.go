package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long something may take on a busy machine; what is ended in the tests would go
// on for longer.
const patience = 60 * time.Second

// quick are limits that tests can wait for.
var quick = Limits{Time: patience, Hold: 300 * time.Millisecond, Kill: 200 * time.Millisecond}

func bash(t *testing.T, ctx context.Context, command string, l Limits) *Result {
	t.Helper()
	res, err := Run(ctx, Command{Argv: Bash(command), Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}}, l)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// text is what a stream printed.
func text(r *Result, s Stream) string {
	var b strings.Builder
	for _, c := range r.Output {
		if c.Stream == s {
			b.Write(c.Data)
		}
	}
	return b.String()
}

// alive says whether a process is there and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// pidIn reads a number that a command has written.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			return n
		}
	}
	t.Fatal("the command has not begun")
	return 0
}

func ended(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			_ = unix.Kill(pid, unix.SIGKILL)
			t.Fatalf("process %d is alive", pid)
		}
	}
}

// Streams in order, exit codes and signals: bk/F10, bk/CT13, esc/BR-05.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		command, out, err, signal string
		exit                      int
	}{
		{"echo hi", "hi\n", "", "", 0},
		{"cd /; pwd", "/\n", "", "", 0},
		{"echo a; echo b >&2; exit 3", "a\n", "b\n", "", 3},
		{"kill -9 $$", "", "", "SIGKILL", -1},
		{"cat", "", "", "", 0}, // the standard input is empty
		{"-x; echo \"$- $0\"", "hB bash\n", "bash: line 1: -x: command not found\n", "", 0},
		{"printf '\\0\\377'", "\x00\xff", "", "", 0},
		{"env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^HOME=", "PATH=/usr/bin:/bin\n", "", "", 0},
	} {
		res := bash(t, t.Context(), c.command, quick)
		got := text(res, Stderr)
		if c.out == "hB bash\n" { // which letters there are depends on the version
			if !strings.HasSuffix(text(res, Stdout), " bash\n") || strings.Contains(text(res, Stdout), "x ") {
				t.Errorf("%q: %q", c.command, text(res, Stdout))
			}
		} else if text(res, Stdout) != c.out {
			t.Errorf("%q: %q, want %q", c.command, text(res, Stdout), c.out)
		}
		if got != c.err || res.Exit != c.exit || res.Signal != c.signal || res.Cause != Exited || res.Truncated {
			t.Errorf("%q: %q, %+v", c.command, got, res)
		}
	}
}

// No file of HOME runs before the command: bk/F9.
func TestNoProfile(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{".bash_profile", ".bashrc", ".profile", ".bash_login"} {
		if err := os.WriteFile(home+"/"+name, []byte("echo evil\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + home}
	res, err := Run(t.Context(), Command{Argv: Bash("echo good"), Env: env}, quick)
	if err != nil || text(res, Stdout) != "good\n" {
		t.Errorf("%v, %v", res, err)
	}
	login, err := Run(t.Context(), Command{Argv: []string{"bash", "-lc", "echo good"}, Env: env}, quick) // positive control
	if err != nil || !strings.Contains(text(login, Stdout), "evil") {
		t.Errorf("a login shell reads none of them: %v, %v", login, err)
	}
}

// A flood is bounded in memory and in time, and the command ended: bk/CT14, bk/F10.
func TestFlood(t *testing.T) {
	pid := t.TempDir() + "/pid"
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l := quick
	l.Keep, l.Most = 1000, 1<<20
	res := bash(t, t.Context(), "echo $$ > "+pid+"; yes 0123456789 | head -c 1000000000", l)
	runtime.ReadMemStats(&after)
	if res.Cause != TooMuch || !res.Truncated || len(text(res, Stdout)) != 1000 || res.Dropped < 1<<20-1000 || res.Dropped > 2<<20 {
		t.Errorf("cause %q, dropped %d, kept %d", res.Cause, res.Dropped, len(text(res, Stdout)))
	}
	if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 4<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
	ended(t, pidIn(t, pid))
	l.Most = 0
	res = bash(t, t.Context(), "yes 0123456789 | head -c 1000000", l) // positive control: less than it may
	if res.Cause != Exited || res.Exit != 0 || res.Dropped != 999_000 || !res.Truncated {
		t.Errorf("%+v", res)
	}
}

// Ended with its whole group: bk/CT15, and by its time.
func TestEnded(t *testing.T) {
	for name, command := range map[string]string{
		"a child":       "sleep 300 & echo $! > FILE; wait",
		"deaf to TERM":  "trap '' TERM; (trap '' TERM; echo $BASHPID > FILE; while :; do sleep 300; done) & wait; sleep 300",
		"in background": "nohup sleep 300 & echo $! > FILE; wait",
	} {
		t.Run(name, func(t *testing.T) {
			file := t.TempDir() + "/pid"
			ctx, cancel := context.WithCancel(t.Context())
			go func() { pidIn(t, file); cancel() }()
			began := time.Now()
			res := bash(t, ctx, strings.ReplaceAll(command, "FILE", file), quick)
			if res.Cause != Cancelled || time.Since(began) > patience {
				t.Errorf("%q after %v", res.Cause, time.Since(began))
			}
			ended(t, pidIn(t, file))
		})
	}
	l := quick
	l.Time, l.Kill = 3*time.Second, patience
	if res := bash(t, t.Context(), "echo early; sleep 300", l); res.Cause != TimedOut || text(res, Stdout) != "early\n" || res.Signal != "SIGTERM" {
		t.Errorf("%+v", res)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	marker := t.TempDir() + "/marker"
	if _, err := Run(ctx, Command{Argv: Bash("touch " + marker)}, quick); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a command that was given up has run")
	}
}

// Who holds a stream open after the exit is waited for, and ended: bk/CT16.
func TestHolding(t *testing.T) {
	file := t.TempDir() + "/pid"
	began := time.Now()
	res := bash(t, t.Context(), "sleep 300 & echo $! > "+file+"; echo done", quick)
	if !res.Held || res.Exit != 0 || text(res, Stdout) != "done\n" || time.Since(began) > patience {
		t.Errorf("%+v after %v", res, time.Since(began))
	}
	ended(t, pidIn(t, file))
	patient := quick
	patient.Hold = patience
	res = bash(t, t.Context(), "(sleep 0.1; echo late) & echo done", patient) // positive control: in time
	if res.Held || text(res, Stdout) != "done\nlate\n" {
		t.Errorf("%+v", res)
	}
	res = bash(t, t.Context(), "setsid sleep 300 & echo $! > "+file+"; echo done", quick) // has left the group
	if !res.Held || text(res, Stdout) != "done\n" {
		t.Errorf("%+v", res)
	}
	_ = unix.Kill(pidIn(t, file), unix.SIGKILL)
	res = bash(t, t.Context(), "sleep 300 >/dev/null 2>&1 & echo $!", patient) // holds nothing, and goes on
	pid, err := strconv.Atoi(strings.TrimSpace(text(res, Stdout)))
	if err != nil || res.Held || !alive(pid) {
		t.Errorf("%+v, %v", res, err)
	}
	_ = unix.Kill(pid, unix.SIGKILL)
}

// Nothing stays behind: no descriptor, and no goroutine.
func TestNothingLeft(t *testing.T) {
	bash(t, t.Context(), "true", quick)
	files, routines := openFiles(t), runtime.NumGoroutine()
	for range 20 {
		bash(t, t.Context(), "echo x; echo y >&2", quick)
	}
	if _, err := Run(t.Context(), Command{Argv: []string{"/none"}}, quick); err == nil {
		t.Error("what is not there has run")
	}
	if _, err := Run(t.Context(), Command{}, quick); err == nil {
		t.Error("nothing has run")
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > routines || openFiles(t) > files; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before; %d descriptors, %d before", runtime.NumGoroutine(), routines, openFiles(t), files)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// What a shell with job control or timeout(1) has put into a group of its own is ended too,
// and what has a session of its own is not touched: bk/CT15, bk/CT16.
func TestOtherGroups(t *testing.T) {
	for name, command := range map[string]string{
		"timeout":     `timeout 300 sh -c 'echo $$ >"$HOME/pid"; exec sleep 300'`,
		"job control": `set -m; sh -c 'echo $$ >"$HOME/pid"; exec sleep 300' & wait`,
		"deaf":        `set -m; sh -c 'trap "" TERM; echo $$ >"$HOME/pid"; while :; do sleep 0.01; done' & wait`,
		"no stream":   `set -m; sh -c 'echo $$ >"$HOME/pid"; exec sleep 300' >/dev/null 2>&1 & wait`,
		"held":        `set -m; sh -c 'echo $$ >"$HOME/pid"; exec sleep 300' & while ! [ -s "$HOME/pid" ]; do sleep 0.01; done`,
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			other := exec.Command("sleep", "300")
			other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
			pid := make(chan int, 1)
			go func() {
				pid <- pidIn(t, home+"/pid")
				if name != "held" {
					cancel()
				}
			}()
			res, err := Run(ctx, Command{Argv: Bash(command), Env: []string{"PATH=/usr/bin:/bin", "HOME=" + home}}, quick)
			if err != nil || res.Cause == Exited && !res.Held {
				t.Errorf("%+v, %v", res, err)
			}
			ended(t, <-pid)
			if !alive(other.Process.Pid) {
				t.Error("another session was ended")
			}
		})
	}
}
