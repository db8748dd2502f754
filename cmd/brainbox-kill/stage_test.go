package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brainbox/internal/needs"
	"brainbox/internal/setuid/installed"

	"golang.org/x/sys/unix"
)

// stageVariable holds a stage as JSON and makes this test binary play it.
const stageVariable = "BRAINBOX_KILL_STAGE"

// stage is a start of the real binary on a machine of its own making: in a new
// mount namespace /etc is a tmpfs with these files.
type stage struct {
	Binary string
	Args   []string
	UID    uint32
	Policy string // text of exec.toml; "" is no file

	PolicyMode, FolderMode os.FileMode
	PolicyOwner            int

	Drop      *stageDrop // instead of all the above: call drop and describe the process
	KeepsCaps bool       // with SECBIT_NO_SETUID_FIXUP
}

type stageDrop struct {
	Change   bool
	UID, GID uint32
}

func TestMain(m *testing.M) {
	text, ok := os.LookupEnv(stageVariable)
	if !ok {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	var s stage
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		if s.Drop != nil {
			err = s.describeDrop()
		} else {
			err = s.play()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stage:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// play never returns without an error: it becomes the binary.
func (s stage) play() error {
	if err := unix.Mount("tmpfs", "/etc", "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}
	const policy = "/etc/brainbox/exec.toml"
	err := errors.Join(
		os.WriteFile("/etc/passwd", []byte(testPasswd), 0o644),
		os.WriteFile("/etc/group", []byte(testGroup), 0o644),
		os.Mkdir("/etc/brainbox", 0o755),
	)
	if s.Policy != "" {
		err = errors.Join(err, os.WriteFile(policy, []byte(s.Policy), 0o644),
			os.Chmod(policy, s.PolicyMode), os.Chown(policy, s.PolicyOwner, s.PolicyOwner))
	}
	err = errors.Join(err, os.Chmod("/etc/brainbox", s.FolderMode), syscall.Setgroups([]int{}),
		syscall.Setresgid(int(s.UID), int(s.UID), int(s.UID)), syscall.Setresuid(int(s.UID), int(s.UID), int(s.UID)))
	if err != nil {
		return err
	}
	return syscall.Exec(s.Binary, append([]string{"brainbox-kill"}, s.Args...), nil)
}

// described is what is left of a process after drop.
type described struct {
	Err        string
	Threads    []string // Uid, Gid and Groups lines of every thread, different ones only
	CapEff     string   // of the calling thread, with CapPrm, CapInh and CapAmb
	NoNewPrivs string
	WayBack    bool // setresuid to root, or setgroups, succeeded
}

func (s stage) describeDrop() error {
	if s.KeepsCaps {
		const noSetuidFixup = 1 << 2 // SECBIT_NO_SETUID_FIXUP, capabilities(7)
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, noSetuidFixup, 0, 0, 0); err != nil {
			return err
		}
	}
	var got described
	if err := drop(target{change: s.Drop.Change, uid: s.Drop.UID, gid: s.Drop.GID}); err != nil {
		got.Err = err.Error()
	}
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, task := range tasks {
		if line := statusOf(task, "Uid:", "Gid:", "Groups:"); !seen[line] {
			seen[line] = true
			got.Threads = append(got.Threads, line)
		}
	}
	got.CapEff = statusOf("/proc/thread-self/status", "CapInh:", "CapPrm:", "CapEff:", "CapAmb:")
	got.NoNewPrivs = statusOf("/proc/thread-self/status", "NoNewPrivs:")
	if s.Drop.Change {
		_, _, setuid := syscall.RawSyscall(syscall.SYS_SETRESUID, 0, 0, 0)
		_, _, setgroups := syscall.RawSyscall(syscall.SYS_SETGROUPS, 0, 0, 0)
		got.WayBack = setuid == 0 || setgroups == 0
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}

// statusOf returns the values of some lines of a status file, in the file's order.
func statusOf(path string, names ...string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		for _, name := range names {
			if value, ok := strings.CutPrefix(line, name); ok {
				found = append(found, strings.Join(strings.Fields(value), " "))
			}
		}
	}
	return strings.Join(found, ", ")
}

func needRoot(t *testing.T) {
	t.Helper()
	needs.Root(t) // to make processes of other users and a mount namespace
}

// buildKill puts the binary as it is shipped, where every user can reach it.
func buildKill(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "brainbox-kill")
	if err := os.WriteFile(path, installed.Command(t, "brainbox/cmd/brainbox-kill"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// runStage returns the exit status and standard error.
func runStage(t *testing.T, s stage) (status int, out, errs string) {
	t.Helper()
	if s.PolicyMode == 0 {
		s.PolicyMode = 0o644
	}
	if s.FolderMode == 0 {
		s.FolderMode = 0o755
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), stageVariable+"="+string(text))
	if s.Drop == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// victim is a group of one, or two, sleeping processes.
type victim struct{ *exec.Cmd }

// newVictim starts a process of that user; group 0 makes it lead its own.
func newVictim(t *testing.T, uid uint32, group int) victim {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid: true, Pgid: group, Credential: &syscall.Credential{Uid: uid, Gid: uid},
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // an error only if the test has waited
	})
	return victim{cmd}
}

func (v victim) pgid() string { return strconv.Itoa(v.Process.Pid) }

// alive asks without reaping: a zombie is dead.
func (v victim) alive(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/" + v.pgid() + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	return !strings.Contains(string(text), ") Z ")
}

// endedBy waits for the end and returns the signal.
func (v victim) endedBy(t *testing.T) syscall.Signal {
	t.Helper()
	var exit *exec.ExitError
	if err := v.Wait(); !errors.As(err, &exit) {
		t.Fatalf("victim ended with %v", err)
	}
	return exit.Sys().(syscall.WaitStatus).Signal()
}
