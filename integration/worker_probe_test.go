package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
	"brainbox/launcher"
)

func (w *workerWorld) probes(t testing.TB, change func(*hostConfig)) *side {
	t.Helper()
	c := hostConfig{Worker: w.worker(), Mode: "probe"}
	if change != nil {
		change(&c)
	}
	return w.start(t, c)
}

// names lists the repository.
func (w *workerWorld) names(t testing.TB) []string {
	t.Helper()
	var all []string
	entries, err := os.ReadDir(w.repo)
	must(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestWorkerProbe: bk/WP1. bk/WP10: variables of the host change nothing.
func TestWorkerProbe(t *testing.T) {
	w := newWorkerWorld(t)
	before := w.names(t)
	s := w.probes(t, func(c *hostConfig) {
		c.environ = []string{
			"BRAINBOX_INJECT=mount", "BRAINBOX_NO_PROBE=1", "BRAINBOX_MUTATION=skip-probe,writable-repo,no-landlock",
			"BRAINBOX_SANDBOX=off", "BRAIN_UI_EXEC_WRAPPER=/bin/true",
		}
	})
	for range 2 {
		if got := s.ask(t, "probe"); !strings.HasPrefix(got, "held ") {
			t.Errorf("probe: %s", got)
		}
		if diff := cmp.Diff(before, w.names(t)); diff != "" {
			t.Errorf("the repository (-before +after):\n%s", diff)
		}
	}
}

// TestWorkerProbeRefuses: bk/WP3, bk/WP5, bk/WP10, bk/WP11, and that a fixture which was
// written to is removed all the same.
func TestWorkerProbeRefuses(t *testing.T) {
	readOnly := func(w *workerWorld, t *testing.T) {
		needs.User(t) // root writes wherever the mode says no
		must(t, os.Chmod(w.repo, 0o555))
		t.Cleanup(func() { _ = os.Chmod(w.repo, 0o755) })
	}
	nothing := func(*workerWorld, *testing.T) {}
	for _, c := range []struct {
		name    string
		prepare func(*workerWorld, *testing.T)
		change  func(*hostConfig)
		want    string
	}{
		{"WP3 no launcher", nothing, func(c *hostConfig) { c.Worker.Dir = "/usr/share" }, "there is no brainbox command"},
		{"WP5 writable repo", nothing, func(c *hostConfig) {
			c.mutations = []string{"writable-repo", "no-landlock"}
		}, "read-only repository failed"},
		{"WP10 writable repo, and variables against the probe", nothing, func(c *hostConfig) {
			c.mutations = []string{"writable-repo", "no-landlock"}
			c.environ = []string{"BRAINBOX_NO_PROBE=1", "BRAINBOX_PROBE=off", "BRAINBOX_SKIP_PROBE=1"}
		}, "read-only repository failed"},
		{"WP11 repo that the host cannot write", readOnly, func(*hostConfig) {}, "the host cannot make the probe's sentinel in the repo"},
		{"shared network", nothing, func(c *hostConfig) { c.mutations = []string{"host-net"} }, "private network namespace with only loopback failed"},
		{"scratch on a disk", nothing, func(c *hostConfig) { c.mutations = []string{"host-scratch", "no-landlock"} }, "writable scratch failed"},
		{"no pid namespace", nothing, func(c *hostConfig) { c.mutations = []string{"share-pid", "host-proc"} }, "pid namespace failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkerWorld(t)
			c.prepare(w, t)
			before := w.names(t)
			r := readRefusal(t, w.probes(t, c.change).ask(t, "probe"))
			if !strings.Contains(r.Requirement, c.want) {
				t.Errorf("%q, want %q", r.Requirement, c.want)
			}
			if diff := cmp.Diff(before, w.names(t)); diff != "" {
				t.Errorf("the repository (-before +after):\n%s", diff)
			}
			text, err := os.ReadFile(w.vars["P"])
			if err != nil || string(text) != policyText {
				t.Errorf("the policy is %q, %v", text, err)
			}
			if c.want == "there is no brainbox command" {
				return
			}
			// Positive control: the same world and an unbroken host.
			must(t, os.Chmod(w.repo, 0o755))
			if got := w.probes(t, nil).ask(t, "probe"); !strings.HasPrefix(got, "held ") {
				t.Errorf("control: %s", got)
			}
		})
	}
}

// TestWorkerProbeTuple: what the answer was given on is in the refusal.
func TestWorkerProbeTuple(t *testing.T) {
	w := newWorkerWorld(t)
	r := readRefusal(t, w.probes(t, func(c *hostConfig) { c.mutations = []string{"host-net"} }).ask(t, "probe"))
	if len(r.ProbeID) != 16 || r.Tuple["kernel"] == "" || r.Tuple["seccomp"] != true || r.Tuple["scratchFs"] != "tmpfs" || r.Tuple["repoFs"] == "" {
		t.Errorf("%+v", r)
	}
}

// TestWorkerProbeHangs: bk/WP6.
func TestWorkerProbeHangs(t *testing.T) {
	w := newWorkerWorld(t)
	before := w.names(t)
	s := w.probes(t, func(c *hostConfig) { c.mutations = []string{"hang"} })
	r := readRefusal(t, s.ask(t, "probe"))
	if !strings.Contains(r.Requirement, "did not end in 5s") {
		t.Errorf("%q", r.Requirement)
	}
	if diff := cmp.Diff(before, w.names(t)); diff != "" {
		t.Errorf("the repository (-before +after):\n%s", diff)
	}
	if left := childrenOf(t, s.cmd.Process.Pid); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func childrenOf(t testing.TB, pid int) []string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	must(t, err)
	return strings.Fields(string(text))
}

// inUserns starts a host in a user namespace of its own, as root there.
func inUserns(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
}

// TestWorkerProbeIsFresh: bk/WP4, bk/WP7. The limit is that of a user namespace of the
// test's own.
func TestWorkerProbeIsFresh(t *testing.T) {
	w := newWorkerWorld(t)
	cmd := w.command(t, hostConfig{Worker: w.worker(), Mode: "probe"})
	inUserns(cmd)
	s := open(t, cmd)
	if got := s.ask(t, "probe"); !strings.HasPrefix(got, "held ") { // and the positive control
		t.Fatalf("probe: %s", got)
	}
	if got := s.ask(t, "disable"); got != "disabled <nil>" {
		t.Fatalf("user namespaces could not be taken away: %s", got)
	}
	r := readRefusal(t, s.ask(t, "probe"))
	if !strings.Contains(r.Requirement, "namespaces") || !strings.Contains(r.Route, "user namespaces") {
		t.Errorf("%+v", r)
	}
}

// TestWorkerRefusedByPlace: bk/WP12, bk/WP13, bk/WP19, bk/WP20, on real places. No probe is
// made for what the rules refuse.
func TestWorkerRefusedByPlace(t *testing.T) {
	w := newWorkerWorld(t)
	must(t, os.Symlink(w.repo, filepath.Join(w.root, "to-repo")))
	must(t, os.Symlink("/dev/shm", filepath.Join(w.root, "to-shm")))
	must(t, os.Mkdir(filepath.Join(w.root, "disk"), 0o700))
	for _, c := range []struct {
		name, want string
		change     func(*launcher.Worker)
	}{
		{"WP12 scratch is a link into the repo", "scratch must be separate", func(k *launcher.Worker) { k.Scratch = filepath.Join(w.root, "to-repo/work") }},
		{"WP12 scratch in the repo", "scratch must be separate", func(k *launcher.Worker) { k.Scratch = w.repo + "/s" }},
		{"WP12 repo in scratch", "scratch must be separate", func(k *launcher.Worker) { k.Scratch = w.root }},
		{"WP12 repo /tmp", "scratch must be separate", func(k *launcher.Worker) { k.Repo = "/tmp" }},
		{"WP13 relative repo", "absolute repo path and program required", func(k *launcher.Worker) { k.Repo = "repo" }},
		{"WP13 relative program", "absolute repo path and program required", func(k *launcher.Worker) { k.Command = []string{"sh"} }},
		{"WP19 state on a disk", "runtime state must be separate tmpfs", func(k *launcher.Worker) { k.State = filepath.Join(w.root, "disk") }},
		{"WP19 state is a link", "runtime state must be separate tmpfs", func(k *launcher.Worker) { k.State = filepath.Join(w.root, "to-shm") }},
		{"WP20 read path above the repo", "too broad", func(k *launcher.Worker) { k.Read = []string{w.root} }},
		{"WP20 read path /home", "too broad", func(k *launcher.Worker) { k.Read = []string{"/home"} }},
		{"WP20 read path that leads above the repo", "too broad", func(k *launcher.Worker) { k.Read = []string{filepath.Join(w.root, "to-repo")} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := w.worker()
			c.change(&k)
			r := readRefusal(t, w.start(t, hostConfig{Worker: k}).line(t, "start"))
			if !strings.Contains(r.Requirement, c.want) || r.ProbeID != "" {
				t.Errorf("%q, probe %q; want %q without a probe", r.Requirement, r.ProbeID, c.want)
			}
		})
	}
}
