package launcher

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brainbox/internal/needs"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// The users of the tests that need two.
const (
	wrapHostUID    = 10001
	wrapForeignUID = 65534
)

// wrapHelperMode starts the argument that makes TestWrapHelper somebody else.
const wrapHelperMode = "brainbox-wrap-helper="

// init keeps the first thread for the helper that must end exactly that one.
func init() {
	if wrapMode() == "threads" {
		runtime.LockOSThread()
		wrapEndFirstThread()
	}
}

func wrapMode() string {
	for _, arg := range os.Args {
		if mode, ok := strings.CutPrefix(arg, wrapHelperMode); ok {
			return mode
		}
	}
	return ""
}

// TestWrapHelper is not a test: it is this binary in another role.
func TestWrapHelper(t *testing.T) {
	switch wrapMode() {
	case "become":
		wrapBecome()
	case "host":
		wrapForeignHost(t)
	}
}

// wrapEndFirstThread ends the calling thread, which is the first, once another
// one is there to go on, and never returns.
func wrapEndFirstThread() {
	go func() {
		runtime.LockOSThread()
		for {
			text, err := os.ReadFile("/proc/self/stat")
			if st, ok := killParseStat(text); err == nil && ok && st.state == 'Z' {
				break
			}
			runtime.Gosched()
		}
		_, _ = fmt.Fprintf(os.Stdout, "ready %d\n", os.Getpid())
		time.Sleep(wrapPatience)
		os.Exit(1)
	}()
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

// wrapBecome is a wrapper that takes the foreign uid and becomes its program:
// what follows the mode.
func wrapBecome() {
	fail := func(err error) {
		_, _ = fmt.Fprintln(os.Stderr, "become:", err)
		os.Exit(1)
	}
	if err := syscall.Setgroups(nil); err != nil {
		fail(err)
	}
	if err := syscall.Setresgid(wrapForeignUID, wrapForeignUID, wrapForeignUID); err != nil {
		fail(err)
	}
	if err := syscall.Setresuid(wrapForeignUID, wrapForeignUID, wrapForeignUID); err != nil {
		fail(err)
	}
	for i, arg := range os.Args {
		if strings.HasPrefix(arg, wrapHelperMode) {
			fail(syscall.Exec(os.Args[i+1], os.Args[i+1:], os.Environ()))
		}
	}
}

// wrapSelf is this test binary where other users can reach it.
func wrapSelf(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(wrapSharedDir(t), "self")
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// wrapForeign is what the unprivileged host of a foreign-uid test saw.
type wrapForeign struct {
	Host      int // real uid
	Leader    Survivor
	Child     Survivor
	Mechanism KillMechanism
	Verified  bool
	Survivors []Survivor
	Reports   []string
}

// wrapForeignHost runs as wrapHostUID and without CAP_KILL: it starts a group
// through a wrapper, ends it, and prints what happened. Its arguments after the
// mode are the wrapper and the program's script.
func wrapForeignHost(t *testing.T) {
	args := os.Args[len(os.Args)-2:]
	w := wrapThrough(args[0], "")
	w.grace, w.killGrace = 2*time.Second, 50*time.Millisecond
	proc := wrapSpawn(t, w, args[1])
	got := wrapForeign{Host: os.Getuid(), Leader: Survivor{PID: proc.PID()}, Child: Survivor{PID: proc.ready(t)}}
	got.Leader.UID, got.Child.UID = killRealUID(got.Leader.PID), killRealUID(got.Child.PID)
	receipt, reports := wrapKill(t, proc.WrappedProcess, KillTERM)
	got.Mechanism, got.Verified = receipt.Mechanism, receipt.Verified
	got.Survivors, got.Reports = receipt.Survivors, reports
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("result", text, 0o600); err != nil {
		t.Fatal(err)
	}
	os.Exit(0) // the deferred teardown of what cannot be torn down is the parent's
}

func TestKillForeignUsers(t *testing.T) {
	needs.Root(t) // to make processes of two other users
	self := wrapSelf(t)
	become := self + " -test.run=^TestWrapHelper$ " + wrapHelperMode + "become "
	whole := wrapScript(t, "whole", "#!/bin/sh\nexec "+become+`"$@"`+"\n")
	half := wrapScript(t, "half", "#!/bin/sh\n"+become+`"$@" &`+"\nwait\n")
	tests := []struct {
		name, wrapper, script string
		leaderUID             int
		mechanism             KillMechanism
		leaderAlive           bool
		want                  []string
	}{
		{
			"bk/K11 whole group foreign (R1)", whole, wrapSleeper, wrapForeignUID, KillByLeader, true,
			[]string{"still running", "EPERM", whole, "BRAIN_UI_EXEC_KILLER"},
		},
		{
			"bk/K12 half of the group foreign [D]", half, wrapSleeper, wrapHostUID, KillByGroup, false,
			[]string{"still running", "uid 65534", half, "BRAIN_UI_EXEC_KILLER"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := wrapRunForeign(t, self, tt.wrapper, tt.script)
			if got.Host != wrapHostUID || got.Leader.UID != tt.leaderUID || got.Child.UID != wrapForeignUID {
				t.Fatalf("precondition: uids of host, leader and child: %+v", got)
			}
			if !wrapAlive(t, got.Child.PID) || wrapAlive(t, got.Leader.PID) != tt.leaderAlive {
				t.Errorf("alive: child %t, leader %t, want true, %t",
					wrapAlive(t, got.Child.PID), wrapAlive(t, got.Leader.PID), tt.leaderAlive)
			}
			if got.Verified || got.Mechanism != tt.mechanism {
				t.Errorf("mechanism %q, verified %t, want %q, false", got.Mechanism, got.Verified, tt.mechanism)
			}
			if diff := cmp.Diff([]Survivor{got.Child}, got.Survivors); diff != "" {
				t.Errorf("survivors (-want +got):\n%s", diff)
			}
			if len(got.Reports) != 1 {
				t.Fatalf("reports %q, want one", got.Reports)
			}
			for _, want := range append(tt.want, strconv.Itoa(got.Leader.PID)) {
				if !strings.Contains(got.Reports[0], want) {
					t.Errorf("report %q lacks %q", got.Reports[0], want)
				}
			}
		})
	}
}

// wrapRunForeign runs the host role with the right to change uids, which the
// wrapper uses, and without the right to signal foreign ones.
func wrapRunForeign(t *testing.T, self, wrapper, script string) wrapForeign {
	t.Helper()
	dir := wrapSharedDir(t)
	if err := os.Chown(dir, wrapHostUID, wrapHostUID); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(wrapContext(t), self, "-test.run=^TestWrapHelper$", wrapHelperMode+"host", wrapper, script)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: wrapHostUID, Gid: wrapHostUID},
		AmbientCaps: []uintptr{unix.CAP_SETUID, unix.CAP_SETGID},
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("host role: %v\n%s", err, out.String())
	}
	text, err := os.ReadFile(filepath.Join(dir, "result"))
	if err != nil {
		t.Fatal(err)
	}
	var got wrapForeign
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Still ours by group: the foreign child holds it.
		if alive, err := killGroupMembers(got.Leader.PID); err == nil && len(alive.list) > 0 {
			_ = unix.Kill(-got.Leader.PID, unix.SIGKILL)
		}
	})
	return got
}
