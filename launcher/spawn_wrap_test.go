package launcher

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestNewExecWrapperRefuses(t *testing.T) {
	open := wrapScript(t, "wrapper", wrapExec) // below the world-writable temporary directory
	tests := []struct {
		name string
		cfg  ExecWrapperConfig
		is   error
		want string
	}{
		{"relative wrapper", ExecWrapperConfig{Wrapper: "w"}, fs.ErrInvalid, ExecWrapperEnv},
		{"relative killer (A3)", ExecWrapperConfig{Killer: "k"}, fs.ErrInvalid, ExecKillerEnv},
		{"bk/W14 wrapper", ExecWrapperConfig{Wrapper: open, Agent: wrapAgent}, fs.ErrPermission, ExecWrapperEnv},
		{
			"bk/W14 killer",
			ExecWrapperConfig{Wrapper: "/usr/bin/env", Killer: open, Agent: wrapAgent},
			fs.ErrPermission, ExecKillerEnv,
		},
		{
			"writable PATH element",
			ExecWrapperConfig{Wrapper: "/usr/bin/env", Path: filepath.Dir(open), Agent: wrapAgent},
			fs.ErrPermission, "PATH",
		},
		{"identity left out", ExecWrapperConfig{Wrapper: "/usr/bin/env"}, fs.ErrPermission, "uid 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := NewExecWrapper(tt.cfg)
			if !errors.Is(err, tt.is) || w != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewExecWrapper(%+v) = %v, %v, want %v with %q", tt.cfg, w, err, tt.is, tt.want)
			}
		})
	}
}

func TestNewExecWrapperWarnsOfAnIdleKiller(t *testing.T) {
	w, err := NewExecWrapper(ExecWrapperConfig{Killer: "/opt/kill"})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Warnings(); len(got) != 1 || !strings.Contains(got[0], ExecKillerEnv) {
		t.Errorf("Warnings() = %q, want one", got)
	}
	if got := new(ExecWrapper).Warnings(); len(got) != 0 {
		t.Errorf("Warnings() = %q, want none", got)
	}
}

func TestSpawnThroughARealConfiguration(t *testing.T) {
	// env(1) is a wrapper: it becomes the program.
	w, err := NewExecWrapper(ExecWrapperConfig{Wrapper: "/usr/bin/env", Path: "/usr/bin", Agent: wrapAgent})
	if err != nil {
		t.Fatal(err)
	}
	proc := wrapSpawn(t, w, wrapSleeper)
	if pid := proc.ready(t); pid != proc.PID() { // R2: exec in place, nobody in between
		t.Errorf("the program is %d, want %d", pid, proc.PID())
	}
	wrapKill(t, proc.WrappedProcess, KillKILL)

	program := wrapScript(t, "agents-own", "#!/bin/sh\nexit 3\n")
	if _, err := w.Spawn(WrappedCommand{Argv: []string{program}}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("bk/H8: a program below a writable directory = %v, want a refusal", err)
	}
	allowed, err := w.Spawn(WrappedCommand{Argv: []string{program}, AllowWritableProgram: true})
	if err != nil {
		t.Fatal(err)
	}
	if status, err := allowed.Wait(wrapContext(t)); err != nil || status.ExitStatus() != 3 {
		t.Errorf("allowed program = %v, %v, want status 3", status, err)
	}
	if err := allowed.Close(); err != nil {
		t.Error(err)
	}
}

// wrapOutput runs argv to its end and returns what it printed.
func wrapOutput(t *testing.T, w *ExecWrapper, cmd WrappedCommand) string {
	t.Helper()
	r, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = stdout
	proc, err := w.Spawn(cmd)
	if err != nil {
		t.Fatalf("Spawn(%q) = %v", cmd.Argv, err)
	}
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proc.Wait(wrapContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := proc.Close(); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSpawnPassesArgumentsAsTheyAre(t *testing.T) {
	dir := wrapSharedDir(t)
	wrapper := filepath.Join(dir, "wrap; touch pwned")
	if err := os.WriteFile(wrapper, []byte(wrapExec), 0o755); err != nil {
		t.Fatal(err)
	}
	starts := map[string]*ExecWrapper{"plain": wrapThrough("", ""), "bk/W8, bk/C12, bk/C13": wrapThrough(wrapper, "")}
	for name, w := range starts {
		t.Run(name, func(t *testing.T) {
			args := []string{"$(touch pwned)", "a;b", "*", "", "\xff\n"}
			got := wrapOutput(t, w, WrappedCommand{Argv: append([]string{"printf", "%s|"}, args...), Dir: dir})
			if want := strings.Join(args, "|") + "|"; got != want {
				t.Errorf("arguments arrived as %q, want %q", got, want)
			}
			if _, err := os.Stat(filepath.Join(dir, "pwned")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a shell saw the command: %v", err)
			}
		})
	}
}

func TestSpawnLooksUpOnTheHostsPath(t *testing.T) {
	repo := wrapSharedDir(t)
	fake := filepath.Join(repo, "env")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\necho fake\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w := wrapThrough(wrapScript(t, "wrapper", "#!/bin/sh\necho \"$1\"\nexec \"$@\"\n"), "")
	cmd := WrappedCommand{Argv: []string{"env"}, Env: []string{"PATH=" + repo}, Dir: repo}
	got := wrapOutput(t, w, cmd)
	if !strings.HasPrefix(got, "/usr/bin/env\n") || strings.Contains(got, "fake") || !strings.Contains(got, "PATH="+repo) {
		t.Errorf("bk/C10: output %q, want the host's env with the child's PATH", got)
	}
	w.path = HostPath{dirs: []string{repo}}
	if got := wrapOutput(t, w, cmd); got != fake+"\nfake\n" {
		t.Errorf("positive control: output %q, want the fake", got)
	}
}

func TestSpawnSessionAndDescriptors(t *testing.T) {
	// A descriptor that somebody opened without close-on-exec.
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	stray, err := unix.FcntlInt(null.Fd(), unix.F_DUPFD, 40)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(stray) }()
	cmd := WrappedCommand{Argv: []string{"/usr/bin/env", "-i", "/bin/sh", "-c", "ls -l /proc/self/fd; cat /proc/$$/stat"}}

	wrapped := wrapOutput(t, wrapThrough("/usr/bin/env", ""), cmd)
	plain := wrapOutput(t, wrapThrough("", ""), cmd)
	if mark := " " + strconv.Itoa(stray) + " -> "; strings.Contains(wrapped, mark) || !strings.Contains(plain, mark) {
		t.Errorf("X5: stray descriptor: wrapped %q, plain (control) %q", wrapped, plain)
	}
	group := func(out string) (pgrp, session int) {
		fields := strings.Fields(out[strings.LastIndexByte(out, ')')+1:])
		return wrapAtoi(t, fields[2]), wrapAtoi(t, fields[3])
	}
	ownSession, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	if pgrp, session := group(plain); pgrp != unix.Getpgrp() || session != ownSession {
		t.Errorf("without a wrapper: group %d session %d, want the host's", pgrp, session)
	}
	if pgrp, session := group(wrapped); pgrp != session || pgrp == unix.Getpgrp() {
		t.Errorf("with a wrapper: group %d session %d, want both its own", pgrp, session)
	}
}

func wrapAtoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestHelperGetsNothingOfTheHosts(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	stray, err := unix.FcntlInt(null.Fd(), unix.F_DUPFD, 40)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(stray) }()
	t.Setenv("BRAINBOX_WRAP_SECRET", "s3cret")
	killer := wrapScript(t, "killer", "")
	seen := filepath.Join(filepath.Dir(killer), "seen")
	text := "#!/bin/sh\nexec >'" + seen + "'\ntr '\\0' '\\n' </proc/$$/environ\necho --\npwd\n" +
		"readlink /proc/$$/fd/0 /proc/$$/fd/2\nls /proc/$$/fd\n" + killerHonest + "\n"
	if err := os.WriteFile(killer, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	proc := wrapSpawn(t, wrapThrough(wrapScript(t, "wrapper", wrapExec), killer), wrapSleeper)
	proc.ready(t)
	if _, reports := wrapKill(t, proc.WrappedProcess, KillTERM); len(reports) != 0 {
		t.Fatalf("reports %q", reports)
	}
	got := killLogLines(t, seen)
	if len(got) < 4 || !cmp.Equal(got[:4], []string{"--", "/", "/dev/null", "/dev/null"}) {
		t.Errorf("X5: the helper saw %q, want no variable, / and /dev/null twice", got)
	}
	if slices.Contains(got, strconv.Itoa(stray)) {
		t.Errorf("X5: the helper has descriptor %d: %q", stray, got)
	}
}

func TestSpawnRefusesAnotherGroup(t *testing.T) {
	seen := 0
	for name, answer := range map[string]func(int) (int, error){
		"bk/K15 [D]":            func(pid int) (int, error) { seen = pid; return pid + 1, nil },
		"bk/K15 unreadable [D]": func(pid int) (int, error) { seen = pid; return 0, unix.ESRCH },
	} {
		t.Run(name, func(t *testing.T) {
			w := wrapThrough("/usr/bin/env", "")
			w.getpgid = answer
			proc, err := w.Spawn(WrappedCommand{Argv: []string{"/bin/sh", "-c", "exec sleep 300"}})
			if err == nil || proc != nil {
				t.Fatalf("Spawn = %v, %v, want a refusal", proc, err)
			}
			if seen == 0 || wrapAlive(t, seen) {
				t.Errorf("process %d is alive after the refusal", seen)
			}
			if _, err := syscall.Wait4(seen, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
				t.Errorf("process %d was not reaped: %v", seen, err)
			}
		})
	}
}

func TestSpawnFailures(t *testing.T) {
	plain, wrapped := wrapThrough("", ""), wrapThrough("/no/such/wrapper", "")
	tests := []struct {
		name string
		w    *ExecWrapper
		argv []string
		is   error
	}{
		{"nothing to start", plain, nil, fs.ErrInvalid},
		{"empty name", plain, []string{""}, fs.ErrInvalid},
		{"not found", plain, []string{"no-such-prog"}, fs.ErrNotExist},
		{"zero value", &ExecWrapper{}, []string{"sh"}, fs.ErrNotExist},
		{"wrapper is gone", wrapped, []string{"/bin/sh"}, fs.ErrNotExist},
		{"nothing to wrap", wrapped, nil, fs.ErrInvalid},
		{"not executable", plain, []string{"/etc/passwd"}, fs.ErrPermission},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if proc, err := tt.w.Spawn(WrappedCommand{Argv: tt.argv}); !errors.Is(err, tt.is) || proc != nil {
				t.Errorf("Spawn(%q) = %v, %v, want %v", tt.argv, proc, err, tt.is)
			}
		})
	}
}
