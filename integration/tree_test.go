package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTreeEnds(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	at := func(name string) string { return filepath.Join(w.dir("W"), name) }

	t.Run("esc/PR-14 own session and no parent", func(t *testing.T) {
		r := confined(t, w, nil, program("victim"), "daemon", at("inside"))
		pid := pidIn(t, at("inside"))
		if r.status != 0 || alive(pid) {
			t.Errorf("status %d, process %d alive: %v\n%s", r.status, pid, alive(pid), r.err)
		}
		run(t, w.dir("W"), exec.Command(program("victim"), "daemon", at("outside")))
		pid = pidIn(t, at("outside"))
		if !alive(pid) {
			t.Fatal("control: the process outside ended by itself")
		}
		reap(t, pid)
	})
	t.Run("esc/PR-16 ignores every signal and stops itself", func(t *testing.T) {
		r := confined(t, w, []string{"--timeout", "3s", "--kill-after", "1s"}, program("victim"), "stubborn", at("stubborn"))
		pid := pidIn(t, at("stubborn"))
		if r.status != 124 || alive(pid) || r.took < 4*time.Second {
			t.Errorf("status %d after %v, process alive: %v\n%s", r.status, r.took, alive(pid), r.err)
		}
	})
	t.Run("esc/PR-27 a busy loop", func(t *testing.T) {
		if r := confined(t, w, []string{"--timeout", "500ms"}, "/bin/sh", "-c", "while :; do :; done"); r.status != 124 {
			t.Errorf("status %d\n%s", r.status, r.err)
		}
	})
	t.Run("esc/PR-17 keeps standard output open", func(t *testing.T) {
		script := program("victim") + " hold " + at("held") + " & while [ ! -e " + at("held") + " ]; do :; done; echo done"
		r := confined(t, w, nil, "/bin/sh", "-c", script)
		if r.status != 0 || r.out != "done\n" || alive(pidIn(t, at("held"))) {
			t.Errorf("status %d, output %q\n%s", r.status, r.out, r.err)
		}
	})
	t.Run("esc/PR-20 few descriptors", func(t *testing.T) {
		const name = "PR-20 a low limit of descriptors"
		r := confined(t, w, []string{"--nofile", "32"}, "/bin/sh", "-c", "ulimit -n")
		if r.status != 0 || r.out != "32\n" {
			gap(t, name, fmt.Sprintf("status %d, %q %q", r.status, r.out, r.err))
			return
		}
		closed(t, name)
	})
	t.Run("esc/PR-23 endless output", func(t *testing.T) {
		r := confined(t, w, []string{"--output-limit", "1MiB"}, "/usr/bin/yes")
		if len(r.out) < 1<<20 || len(r.out) > 1<<20+4096 || r.status == 0 {
			t.Errorf("%d bytes, status %d\n%s", len(r.out), r.status, r.err)
		}
	})
}

// TestSignalsReachTheProgram is esc/LA-12: a signal to brainbox is one to the program,
// and nothing is left.
func TestSignalsReachTheProgram(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		path := filepath.Join(w.dir("W"), "signal-"+itoa(int(sig)))
		cmd := boxed(nil, program("victim"), "hold", path)
		cmd.Dir, cmd.Env = w.dir("W"), environ(t)
		must(t, cmd.Start())
		pid := pidIn(t, path)
		must(t, cmd.Process.Signal(sig))
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 128+int(sig) || alive(pid) {
			t.Errorf("%v: status %d, program alive: %v", sig, got, alive(pid))
		}
	}
}

// TestSignalAtAnyMoment is esc/LA-12: TERM reaches a program that runs, however short a
// time; before that it ends brainbox, and no program has run.
func TestSignalAtAnyMoment(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	runs, passed := 100, 0
	if testing.Short() {
		runs = 10
	}
	for i := range runs {
		mark := filepath.Join(w.dir("W"), fmt.Sprint("term-", i))
		cmd := exec.Command(program("brainbox"), boxArgs(nil, program("victim"), "hold", mark)...)
		cmd.Dir, cmd.Env = w.dir("W"), environ(t)
		must(t, cmd.Start())
		if i%4 == 0 { // as soon as it runs, which brainbox may not know yet
			waitFor(t, mark, func() bool { _, err := os.Lstat(mark); return err == nil })
		} else {
			time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond))))
		}
		must(t, cmd.Process.Signal(syscall.SIGTERM))
		_ = cmd.Wait()
		if left := marked(t, mark); len(left) != 0 {
			t.Errorf("run %d: processes %d are left", i, left)
		}
		_, err := os.Lstat(mark)
		switch status := cmd.ProcessState.ExitCode(); {
		case status == 128+int(syscall.SIGTERM):
			passed++
		case status != -1 || err == nil:
			t.Errorf("run %d: %v, and the program ran: %v", i, cmd.ProcessState, err == nil)
		}
	}
	if passed < runs/4 {
		t.Errorf("%d of %d signals reached the program, want a quarter at least", passed, runs)
	}
}

// TestKilledAtRandom is esc/LA-12 and esc/LA-13: whenever brainbox is killed, what it leaves
// is confined or ends, no mount is left, the checkout is as it was, and the next start takes
// the private folders away.
func TestKilledAtRandom(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	repository(t, w)
	before, mounts := tree(t, w.dir("O"), w.dir("R"), filepath.Join(w.dir("W"), ".git")), read(t, "/proc/self/mountinfo")
	base := t.TempDir() // of the private folders of these runs alone
	must(t, os.Chmod(base, 0o700))
	runs := 100
	if testing.Short() {
		runs = 10
	}
	seen := 0
	for i := range runs {
		mark := filepath.Join(w.dir("W"), fmt.Sprint("mark-", i))
		cmd := exec.Command(program("brainbox"), boxArgs(nil, program("victim"), "hold", mark)...)
		cmd.Dir, cmd.Env = w.dir("W"), environ(t, "TMPDIR="+base)
		must(t, cmd.Start())
		if i%4 == 0 { // once it is known to run
			pidIn(t, mark)
		} else {
			time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond))))
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		waitFor(t, "the end of all that was started", func() bool {
			left := marked(t, mark)
			seen += len(left)
			return len(left) == 0
		})
	}
	t.Logf("%d starts, %d sightings of what outlived brainbox for a moment", runs, seen)
	if diff := cmp.Diff(before, tree(t, w.dir("O"), w.dir("R"), filepath.Join(w.dir("W"), ".git"))); diff != "" {
		t.Errorf("what the program did not write changed (-before +after):\n%s", diff)
	}
	if after := read(t, "/proc/self/mountinfo"); after != mounts {
		t.Errorf("the mounts are not what they were:\n%s", cmp.Diff(mounts, after))
	}
	sweptByTheNext(t, w, base)
}

// sweptByTheNext starts once more when what was left is old enough, and wants all of it gone.
func sweptByTheNext(t *testing.T, w *world, base string) {
	t.Helper()
	folders := filepath.Join(base, "brainbox-"+itoa(os.Geteuid()))
	left, err := os.ReadDir(folders)
	must(t, err)
	if len(left) == 0 {
		t.Fatal("control: no kill left anything")
	}
	long := time.Now().Add(-time.Hour)
	for _, e := range left {
		must(t, os.Chtimes(filepath.Join(folders, e.Name()), long, long))
	}
	cmd := exec.Command(program("brainbox"), boxArgs(nil, "/bin/sleep", "1")...) // it sweeps meanwhile
	cmd.Env = environ(t, "TMPDIR="+base)
	if r := run(t, w.dir("W"), cmd); r.status != 0 {
		t.Fatalf("status %d\n%s", r.status, r.err)
	}
	if left, err := os.ReadDir(folders); err == nil && len(left) > 0 {
		t.Errorf("%d folders are left, such as %q", len(left), left[0].Name())
	}
}

// marked lists the processes whose arguments name the mark. A victim among them that
// is not confined fails the test.
func marked(t *testing.T, mark string) []int {
	t.Helper()
	var list []int
	entries, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err != nil || !strings.Contains(string(text), mark+"\x00") || !alive(pid) {
			continue
		}
		list = append(list, pid)
		name, filter, nnp := field(pid, "Name"), field(pid, "Seccomp"), field(pid, "NoNewPrivs")
		if name == "victim" && (filter == "0" || nnp == "0") {
			t.Errorf("process %d runs unconfined: Seccomp %s, NoNewPrivs %s", pid, filter, nnp)
		}
	}
	return list
}

// TestKilledBrainbox is esc/PR-15, which isolation landlock cannot hold: when
// brainbox itself is killed, the program ends with it, but a process that has left
// the tree stays, confined as it is. It is the row of clause "tree".
func TestKilledBrainbox(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	at := filepath.Join(w.dir("W"), "daemon")
	side := w.box(t)
	if got := side.ask(t, "daemon "+at); got != "ok" {
		t.Fatalf("daemon: %q", got)
	}
	pid := pidIn(t, at)
	must(t, side.cmd.Process.Kill())
	side.done()
	if inside() {
		waitFor(t, "the end of the tree", func() bool { return !alive(pid) })
		if got := check(t, w.dir("W")).state("tree"); pid < 1 || got != "enforced" {
			t.Errorf("process %d, clause tree is %q, want enforced", pid, got)
		}
		return
	}
	if alive(pid) {
		if field(pid, "Seccomp") != "2" || field(pid, "NoNewPrivs") != "1" {
			t.Errorf("process %d is left and unconfined", pid)
		}
		reap(t, pid)
	} else {
		t.Error("nothing is left: the row is no longer open")
	}
	const name = "PR-15 tree is declared open"
	switch declared := check(t, w.dir("W")); {
	case declared.state("tree") != "open":
		gap(t, name, "clause tree is "+declared.state("tree"))
	case strings.Contains(declared.mechanism("tree"), "cgroup"):
		closed(t, name) // open by a walk it always was
	}
}
