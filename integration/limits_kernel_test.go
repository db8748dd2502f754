package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brainbox/internal/needs"
)

// runsGroup is the group that a run's own group is made in.
func runsGroup(t *testing.T) string {
	t.Helper()
	for line := range strings.Lines(read(t, "/proc/self/cgroup")) {
		if group, v2 := strings.CutPrefix(strings.TrimSpace(line), "0::"); v2 {
			dir := filepath.Join("/sys/fs/cgroup", group)
			if _, err := os.Stat("/sys/fs/cgroup/unified"); err == nil { // beside version 1
				dir = filepath.Join("/sys/fs/cgroup/unified", group)
			}
			if filepath.Base(dir) == "brainbox-self" {
				dir = filepath.Dir(dir)
			}
			return dir
		}
	}
	t.Fatal("this process is in no cgroup v2 group")
	return ""
}

// groupsIn are the groups of runs below dir.
func groupsIn(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(dir + "/brainbox-*")
	must(t, err)
	var list []string
	for _, g := range all {
		if filepath.Base(g) != "brainbox-self" {
			list = append(list, g)
		}
	}
	return list
}

// TestLimitsInTheKernel: the kernel has every limit as it was asked for, it throttles by the
// one of the processors, and nothing of the group is left.
func TestLimitsInTheKernel(t *testing.T) {
	kernel(t)
	needs.CgroupMemory(t)
	w, own := newWorld(t), runsGroup(t)
	if left := groupsIn(t, own); len(left) != 0 {
		t.Fatalf("before: %q", left)
	}
	cmd := exec.Command(program("brainbox"), boxArgs([]string{"--memory", "32MiB", "--cpu", "0.2", "--pids", "40"},
		"/bin/sh", "-c", ": >up; while [ ! -e go ]; do :; done; exit 7")...)
	cmd.Dir, cmd.Env = w.dir("W"), environ(t)
	var errs strings.Builder
	cmd.Stderr = &errs
	must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	waitFor(t, "the program's first file", func() bool {
		_, err := os.Stat(w.dir("W") + "/up")
		return err == nil
	})
	groups := groupsIn(t, own)
	if len(groups) != 1 {
		t.Fatalf("groups %q, want one; %s", groups, errs.String())
	}
	want := map[string]string{"memory.max": "33554432", "memory.oom.group": "1", "cpu.max": "20000 100000", "pids.max": "40"}
	if inside() && os.Geteuid() != 0 { // the user namespace counts
		want["pids.max"] = "max"
	}
	if _, err := os.Stat(groups[0] + "/memory.swap.max"); err == nil {
		want["memory.swap.max"] = "0"
	}
	for file, value := range want {
		if got := strings.TrimSpace(read(t, groups[0]+"/"+file)); got != value {
			t.Errorf("%s is %q, want %q", file, got, value)
		}
	}
	waitFor(t, "throttling", func() bool {
		_, rest, _ := strings.Cut(read(t, groups[0]+"/cpu.stat"), "nr_throttled ")
		return rest != "" && !strings.HasPrefix(rest, "0\n")
	})
	must(t, os.WriteFile(w.dir("W")+"/go", nil, 0o600))
	_ = cmd.Wait() // the status says it
	if got := cmd.ProcessState.ExitCode(); got != 7 {
		t.Errorf("status %d, want 7; %s", got, errs.String())
	}
	if left := groupsIn(t, own); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// TestOutOfMemoryEndsAll: when the limit is reached the whole tree ends (memory.oom.group), and
// not the greedy process alone, after which the others would go on with half of the work. Both
// are told apart from a SIGKILL of another's.
func TestOutOfMemoryEndsAll(t *testing.T) {
	kernel(t)
	needs.CgroupMemory(t)
	w := newWorld(t)
	script := "(" + memoryBomb + ") >size; echo survived"
	r := confined(t, w, []string{"--memory", "32MiB"}, "/bin/sh", "-c", script)
	if r.status != 137 || strings.Contains(r.out, "survived") || !strings.Contains(r.err, "brainbox: out of memory: the run reached its limit of 33554432 bytes") {
		t.Errorf("status %d, %q, %q", r.status, r.out, r.err)
	}
	r = confined(t, w, []string{"--memory", "1GiB"}, "/bin/sh", "-c", script)
	if r.status != 0 || r.out != "survived\n" || strings.TrimSpace(read(t, w.dir("W")+"/size")) != "100663296" {
		t.Errorf("control: status %d, %q, %q", r.status, r.out, r.err)
	}
	r = confined(t, w, []string{"--memory", "32MiB"}, "/bin/sh", "-c", "kill -KILL $$")
	if r.status != 137 || strings.Contains(r.err, "out of memory") {
		t.Errorf("another SIGKILL: status %d, %q", r.status, r.err)
	}
}
