package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestWorkerInside: bk/WP14, bk/WP15, bk/WP18, bk/WP22, and what the worker is.
func TestWorkerInside(t *testing.T) {
	w := newWorkerWorld(t)
	k := w.worker()
	k.Env["BRAINBOX_SCRATCH"] = "/elsewhere"
	s := w.start(t, hostConfig{Worker: k, Held: w.vars["P"]})
	for attempt, want := range map[string]string{
		"env BRAINBOX_SCRATCH":            `ok "/scratch"`,
		"env CANARY_HOST":                 `ok ""`,
		"env":                             `ok "BRAINBOX_SCRATCH" "HOME" "PATH"`,
		"fds":                             "ok 0 1 2",
		"cwd":                             "ok " + w.repo,
		"run /usr/bin/stat -f -c %t {S}":  `ok "1021994"`,
		"run /usr/bin/stat -f -c %t /tmp": `ok "1021994"`,
		"write {S}/f 0x40 x":              "ok",
		"read {P}":                        "ok " + fmt.Sprintf("%q", policyText),
		"status Seccomp NoNewPrivs CapEff CapPrm CapBnd CapAmb": "ok CapPrm=0000000000000000 CapEff=0000000000000000 " +
			"CapBnd=0000000000000000 CapAmb=0000000000000000 NoNewPrivs=1 Seccomp=2",
	} {
		if got := s.ask(t, w.fill(attempt)); got != want {
			t.Errorf("%s: %q, want %q", attempt, got, want)
		}
	}
}

// TestWorkerState: bk/WP19 positive, and that only what is named comes along.
func TestWorkerState(t *testing.T) {
	w := newWorkerWorld(t)
	state, err := os.MkdirTemp("/dev/shm", "brainbox-test-") //nolint:usetesting // it has to be on a tmpfs
	if err != nil {
		t.Skipf("no tmpfs at /dev/shm: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(state) })
	k := w.worker()
	k.State = state
	s := w.start(t, hostConfig{Worker: k})
	if got := s.ask(t, "write "+state+"/kept 0x40 kept"); got != "ok" {
		t.Errorf("writing state: %q", got)
	}
	if got := s.ask(t, "list /dev/shm"); got != "ok 1" {
		t.Errorf("/dev/shm inside: %q", got)
	}
	s.done()
	if text, err := os.ReadFile(state + "/kept"); err != nil || string(text) != "kept" {
		t.Errorf("state outside: %q, %v", text, err)
	}
}

// TestWorkerDiesWithItsHost: bk/WP21. The host, or its bootstrap, is ended by SIGKILL.
func TestWorkerDiesWithItsHost(t *testing.T) {
	for _, who := range []string{"host", "bootstrap"} {
		t.Run(who, func(t *testing.T) {
			w := newWorkerWorld(t)
			s := w.start(t, hostConfig{Worker: w.worker()})
			if got := s.ask(t, w.fill("daemon {S}/pid")); got != "ok" {
				t.Fatalf("daemon: %q", got)
			}
			boot := childrenOfAll(t, s.cmd.Process.Pid)
			if len(boot) == 0 {
				t.Fatal("the host has no child")
			}
			below := descendants(t, s.cmd.Process.Pid)
			if len(below) < 4 { // bootstrap, init, victim, daemon
				t.Fatalf("only %v run", below)
			}
			if who == "host" {
				must(t, s.cmd.Process.Kill())
			} else {
				must(t, unix.Kill(boot[0], unix.SIGKILL))
			}
			began := time.Now()
			for _, pid := range below {
				if !gone(pid) {
					t.Errorf("process %d is there after %v", pid, patience)
				}
			}
			t.Logf("gone after %v; the contract has one second", time.Since(began))
		})
	}
}

// childrenOfAll are the children of all threads of a process.
func childrenOfAll(t testing.TB, pid int) []int {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var all []int
	for _, th := range threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, th.Name()))
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(text)) {
			var child int
			if _, err := fmt.Sscan(word, &child); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

func descendants(t testing.TB, pid int) []int {
	t.Helper()
	var all []int
	for _, child := range childrenOfAll(t, pid) {
		all = append(append(all, child), descendants(t, child)...)
	}
	return all
}
