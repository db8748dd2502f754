package supervise

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brainbox/internal/procfs"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/spawn"
)

// everywhere is namespaces with an own /proc, and else all that the host has.
func everywhere() (*spawn.Namespaces, error) {
	n := &spawn.Namespaces{}
	if os.Geteuid() == 0 {
		all := []spawn.IDMap{{Inside: 0, Outside: 0, Count: 1<<32 - 1}}
		n.UIDMap, n.GIDMap = all, all
	}
	list, err := os.ReadDir("/")
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		p := "/" + e.Name()
		switch {
		case e.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return nil, err
			}
			n.Mounts = append(n.Mounts, spawn.Mount{Kind: spawn.KindSymlink, Path: p, Source: target})
		case e.IsDir() && p != "/proc":
			fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil, err
			}
			n.Mounts = append(n.Mounts, spawn.Mount{Kind: spawn.KindDir, Path: p, Mode: 0o755},
				spawn.Mount{Kind: spawn.KindBind, Path: p, Source: p, Held: fd, Writable: true, Exec: true, Devices: true, Recursive: true})
		}
	}
	n.Dir, err = os.Getwd()
	n.Mounts = append(n.Mounts, spawn.Mount{Kind: spawn.KindDir, Path: "/proc", Mode: 0o555},
		spawn.Mount{Kind: spawn.KindFS, Path: "/proc", FSType: "proc", Writable: true})
	return n, err
}

// both runs a test without and with namespaces.
func both(t *testing.T, test func(t *testing.T, inside bool)) {
	needs.Kernel(t)
	t.Run("as a child", func(t *testing.T) { test(t, false) })
	t.Run("in namespaces", func(t *testing.T) {
		needs.Userns(t)
		test(t, true)
	})
}

// Whoever tries to outlive the program holds its output: all of it has ended when that
// ends. esc/PR-14, esc/PR-17.
func TestTheTreeInsideEndsWithTheProgram(t *testing.T) {
	needs.Userns(t)
	for name, script := range hiders() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pids")
			write(t, file, "")
			o, _ := supervise(t, spec{Script: script + "; exit 3", Args: []string{file}, Inside: true, Session: true})
			pids(t, file, 1) // positive control: they were there
			if o.Status != 3 || len(o.Survivors) != 0 || o.Children {
				t.Errorf("%+v, want status 3 and nobody left", o)
			}
		})
	}
}

// Who kills the init kills the program.
func TestAKilledInit(t *testing.T) {
	needs.Userns(t)
	r := start(t, spec{Script: `sleep 1000`, Inside: true, Session: true, Announce: true})
	r.line()
	var inits []int
	for deadline := time.Now().Add(patience); len(inits) != 1; inits = procfs.Children(r.cmd.Process.Pid) {
		if time.Now().After(deadline) {
			t.Fatalf("children of the supervisor: %v", inits)
		}
	}
	if err := unix.Kill(inits[0], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if o, _ := r.wait(); o.Status != 137 || o.Signal != unix.SIGKILL || o.Code != -1 {
		t.Errorf("%+v, want 137", o)
	}
}

// esc/PR-15: a supervisor that is killed takes everything with it.
func TestAKilledSupervisorLeavesNobodyInside(t *testing.T) {
	needs.Userns(t)
	r := start(t, spec{Script: `(setsid sleep 1000 &); sleep 1000 & echo ready; wait`, Inside: true, Session: true})
	r.line()
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Everybody in there holds the output, until the deadline of the pipe.
	if _, err := bufio.NewReader(r.out).ReadString(0); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("the output did not end: %v", err)
	}
}

func TestAFailedStartInsideLeavesNothing(t *testing.T) {
	needs.Userns(t)
	job := &Job{Spawn: spawn.Request{
		Path: "/bin/true", Argv: []string{"true"}, Unconfined: true, Stdio: [3]int{0, 1, 2}, Namespaces: &spawn.Namespaces{},
	}}
	res, err := Run(job, func(int) { t.Error("started") })
	if e, ok := err.(*spawn.Error); !ok || e.Step != spawn.StepExec || e.Errno != unix.ENOENT { //nolint:errorlint // as Run gives it
		t.Errorf("%+v, %v; want no such program", res, err)
	}
	if left := procfs.Children(os.Getpid()); len(left) != 0 {
		t.Errorf("children are left: %v", left)
	}
}
