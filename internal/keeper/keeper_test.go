package keeper

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brainbox/internal/procfs"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func TestMain(m *testing.M) {
	if Asked(os.Args) {
		os.Exit(Serve())
	}
	os.Exit(m.Run())
}

func held(t *testing.T, path string) *os.File {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	t.Cleanup(func() { f.Close() })
	return f
}

// busy is how long something may take on a busy machine.
const busy = 30 * time.Second

// run is one program with its output.
type run struct {
	*Kept
	dir string
	out *os.File
}

// start runs a script of sh in a folder of its own.
func start(t *testing.T, script string, change func(*Program)) *run {
	t.Helper()
	r, err := tryStart(t, script, change)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryStart(t *testing.T, script string, change func(*Program)) (*run, error) {
	t.Helper()
	dir := t.TempDir()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	defer theirs.Close()
	p := &Program{
		Keeper: held(t, "/proc/self/exe"), File: held(t, "/bin/sh"), Dir: held(t, dir),
		Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"},
		Stdin: null, Stdout: theirs, Stderr: theirs, Grace: 200 * time.Millisecond,
	}
	if change != nil {
		change(p)
	}
	k, err := Start(p, time.Now().Add(busy))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { k.Kill(); k.Wait() })
	return &run{Kept: k, dir: dir, out: out}, nil
}

// pids waits for a number on each line of the file.
func (r *run) pids(t *testing.T, name string, n int) []int {
	t.Helper()
	for limit := time.Now().Add(busy); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(r.dir, name))
		var all []int
		for line := range strings.Lines(string(text)) {
			if pid, err := strconv.Atoi(strings.TrimSuffix(line, "\n")); err == nil && strings.HasSuffix(line, "\n") {
				all = append(all, pid)
			}
		}
		if len(all) >= n {
			return all
		}
	}
	t.Fatalf("no %d numbers in %s", n, name)
	return nil
}

func runs(pid int) bool {
	s, ok := procfs.ReadStat(pid)
	return ok && s.State != 'Z' && s.State != 'X'
}

func allGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if runs(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
}

func TestExitStatus(t *testing.T) {
	needs.Kernel(t)
	for script, want := range map[string]Exit{
		"exit 0": {}, "exit 3": {Code: 3}, "kill -9 $$": {Code: -1, Signal: syscall.SIGKILL},
	} {
		r := start(t, script, nil)
		if end := r.Wait(); end != (End{}) {
			t.Errorf("%s: %+v", script, end)
		}
		if got, ok := r.Exit(); !ok || got != want {
			t.Errorf("%s: %+v, %v, want %+v", script, got, ok, want)
		}
	}
}

func TestProgramStandsAlone(t *testing.T) {
	needs.Kernel(t)
	r := start(t, `exec 2>&1; pwd -P; tr '\0' '\n' </proc/self/environ; ls /proc/self/fd; cut -d' ' -f5,6 /proc/$$/stat; echo $$; grep SigIgn /proc/self/status; echo "$0"`, nil)
	out, err := io.ReadAll(r.out)
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	dir, _ := filepath.EvalSymlinks(r.dir)
	pid := lines[len(lines)-3]
	want := []string{dir, "PATH=/usr/bin:/bin", "0", "1", "2", "3", pid + " " + pid, pid, "SigIgn:\t0000000000000000", "sh"}
	for i, line := range lines { // 32 and 33 are the C library's own, which whoever started this may ignore
		if hex, ok := strings.CutPrefix(line, "SigIgn:\t"); ok {
			mask, _ := strconv.ParseUint(hex, 16, 64)
			lines[i] = fmt.Sprintf("SigIgn:\t%016x", mask&^(1<<31|1<<32))
		}
	}
	got := slices.DeleteFunc(lines, func(s string) bool {
		return strings.HasPrefix(s, "PWD=") || strings.HasPrefix(s, "OLDPWD") || strings.HasPrefix(s, "_=")
	})
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestDaemonsAreEnded(t *testing.T) {
	needs.Kernel(t)
	const daemons = `echo $$ >>p
(setsid sh -c 'echo $$ >>p; trap "" TERM HUP; while :; do sleep 1; done' &)
setsid sh -c '(setsid sh -c "echo \$\$ >>p; exec sleep 300" &) ; exit 0'
sh -c 'trap "" TERM; echo $$ >>p; while :; do sleep 1; done' &
`
	for name, end := range map[string]func(t *testing.T, r *run){
		"kill": func(_ *testing.T, r *run) { r.Kill() },
		"stop": func(_ *testing.T, r *run) { r.Stop(200 * time.Millisecond) },
		// As the kernel does when the caller is killed.
		"connection ends": func(_ *testing.T, r *run) { r.control.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, daemons+"wait; sleep 300", nil)
			pids := r.pids(t, "p", 4)
			for _, pid := range pids {
				if !runs(pid) {
					t.Fatalf("process %d does not run before it is ended", pid)
				}
			}
			keeper := r.keeper.Pid
			end(t, r)
			r.Wait()
			for limit := time.Now().Add(busy); runs(keeper) && time.Now().Before(limit); {
				time.Sleep(time.Millisecond)
			}
			allGone(t, pids)
		})
	}
	t.Run("left behind", func(t *testing.T) {
		r := start(t, daemons+"exit 7", nil)
		pids := r.pids(t, "p", 4)
		<-r.Exited()
		if got, _ := r.Exit(); got.Code != 7 {
			t.Errorf("exit %+v", got)
		}
		select {
		case <-r.Ended():
			t.Fatal("ended with daemons left")
		case <-time.After(50 * time.Millisecond):
		}
		r.Kill()
		if end := r.Wait(); end != (End{Killed: true}) {
			t.Errorf("end %+v", end)
		}
		allGone(t, pids)
	})
}

func TestStopLeavesTimeToEnd(t *testing.T) {
	needs.Kernel(t)
	r := start(t, `trap 'echo bye >bye; exit 5' TERM; echo $$ >>p; while :; do sleep 0.05; done`, func(p *Program) { p.Grace = 2 * busy })
	r.pids(t, "p", 1)
	begun := time.Now()
	r.Stop(2 * busy)
	r.Wait()
	if got, ok := r.Exit(); !ok || got.Code != 5 {
		t.Errorf("exit %+v, %v", got, ok)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "bye")); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > busy {
		t.Errorf("took %v", took)
	}
}

// One call's end takes nothing of another's, nor of a child of the caller's own.
func TestOthersAreLeftAlone(t *testing.T) {
	needs.Kernel(t)
	own := exec.Command("sleep", "300")
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Process.Kill(); _ = own.Wait() }()
	const script = `(setsid sh -c 'echo $$ >>p; exec sleep 300' &); sleep 300`
	stays := start(t, script, nil)
	left := stays.pids(t, "p", 1)
	var group sync.WaitGroup
	for range 6 {
		r := start(t, script, nil)
		pids := r.pids(t, "p", 1)
		group.Go(func() {
			r.Kill()
			if end := r.Wait(); end != (End{}) {
				t.Errorf("end %+v", end)
			}
			allGone(t, pids)
		})
	}
	group.Wait()
	if !runs(left[0]) || !runs(own.Process.Pid) {
		t.Error("a process of another call was ended")
	}
	stays.Kill()
	stays.Wait()
	allGone(t, left)
}

func TestForksThatNeverStop(t *testing.T) {
	needs.Kernel(t)
	r := start(t, `echo 'echo $$ >>p; sh ./f & exit' >f; echo $$ >>p; sh ./f & sleep 300`, nil)
	r.pids(t, "p", 20)
	r.Kill()
	if end := r.Wait(); end.Survivors != 0 || end.Lost {
		t.Fatalf("end %+v", end)
	}
	before := len(r.pids(t, "p", 20))
	time.Sleep(100 * time.Millisecond)
	if after := len(r.pids(t, "p", 20)); after != before {
		t.Errorf("%d processes began after the end", after-before)
	}
}

func TestRefusals(t *testing.T) {
	needs.Kernel(t)
	script := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 4\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := start(t, "", func(p *Program) { p.File, p.Path, p.Argv = held(t, script), script, []string{script} })
	r.Wait()
	if got, _ := r.Exit(); got.Code != 4 {
		t.Fatalf("script: %+v", got)
	}
	r = start(t, "", func(p *Program) { p.File = held(t, script) }) // its interpreter has no such descriptor
	r.Wait()
	if got, _ := r.Exit(); got.Code == 4 || got.Code == 0 {
		t.Errorf("script by descriptor: %+v", got)
	}
	for name, c := range map[string]struct {
		change func(*Program)
		want   error
	}{
		"not executable":    {func(p *Program) { p.File = held(t, "/etc/passwd") }, unix.EACCES},
		"another file now":  {func(p *Program) { p.File, p.Path = held(t, "/bin/sh"), script }, unix.ESTALE},
		"gone":              {func(p *Program) { p.Path = script + "x" }, unix.ENOENT},
		"argument too long": {func(p *Program) { p.Argv = append(p.Argv, strings.Repeat("x", 200<<10)) }, unix.E2BIG},
		"no folder":         {func(p *Program) { p.Dir = held(t, "/etc/passwd") }, unix.ENOTDIR},
	} {
		if _, err := tryStart(t, "exit 0", c.change); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := tryStart(t, "exit 0", func(p *Program) { p.Keeper = held(t, "/bin/true") }); err == nil || !strings.Contains(err.Error(), "no keeper") {
		t.Errorf("another executable: %v", err)
	}
	if _, err := Start(&Program{}, time.Now().Add(time.Second)); !errors.Is(err, unix.EINVAL) {
		t.Errorf("nothing: %v", err)
	}
}

func TestServeByHand(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", Verb)
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != statusFailed {
		t.Errorf("%v", err)
	}
}

// A descriptor that somebody forgot to mark does not reach the program.
func TestStrayDescriptors(t *testing.T) {
	needs.Kernel(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(secret, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if out, err := exec.Command("ls", "-l", "/proc/self/fd").Output(); err != nil || !bytes.Contains(out, []byte(secret)) {
		t.Fatalf("an ordinary child does not have it: %v\n%s", err, out)
	}
	r := start(t, "ls -l /proc/self/fd", nil)
	out, err := io.ReadAll(r.out)
	if err != nil || bytes.Contains(out, []byte(secret)) || !bytes.Contains(out, []byte("/dev/null")) {
		t.Errorf("%v\n%s", err, out)
	}
	r.Wait()
}

// A session that has the number of the program, and is not the program's, is let live when the
// keeper is lost; that of the program is not.
func TestLostKeeperSparesAnotherSession(t *testing.T) {
	for _, theirs := range []bool{true, false} {
		cmd := exec.Command("sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s, ok := procfs.ReadStat(cmd.Process.Pid)
		if !ok || s.Begun == 0 {
			t.Fatal("no stat")
		}
		k := &Kept{leader: cmd.Process.Pid, begun: s.Begun}
		if theirs {
			k.begun-- // the program began before, and exited
		}
		k.endSession()
		if theirs {
			time.Sleep(50 * time.Millisecond)
			if !runs(cmd.Process.Pid) {
				t.Error("another's session was ended")
			}
		}
		for end := time.Now().Add(busy); !theirs && runs(cmd.Process.Pid); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the program's own session goes on")
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
