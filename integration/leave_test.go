package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestNothingIsLeft is esc/LA-13: after a run its private folders, its cgroup and its
// mounts are gone, and nothing was put into the checkout.
func TestNothingIsLeft(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	repository(t, w)
	before := tree(t, w.dir("W"))
	mounts := read(t, "/proc/self/mountinfo")
	inside := w.box(t)
	private := privateFolders(t, inside)
	inside.done()
	for _, dir := range private {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%q is left", dir)
		}
	}
	if diff := cmp.Diff(before, tree(t, w.dir("W"))); diff != "" {
		t.Errorf("the checkout changed (-before +after):\n%s", diff)
	}
	if after := read(t, "/proc/self/mountinfo"); strings.Contains(after, private[0]) || len(mounts) == 0 {
		t.Errorf("a mount is left:\n%s", after)
	}
}

// TestKilledLeavesNothingForLong is esc/LA-13 after a kill: the next start removes
// what a killed brainbox could not.
func TestKilledLeavesNothingForLong(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	inside := w.box(t)
	private := privateFolders(t, inside)
	must(t, inside.cmd.Process.Kill())
	inside.done()
	if _, err := os.Lstat(private[0]); err != nil {
		t.Fatalf("control: %v: nothing was left by the kill", err)
	}
	// A start leaves alone what another one may be making at this moment: age it.
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(private[0], long, long))
	if r := confined(t, w, nil, "/bin/true"); r.status != 0 {
		t.Fatalf("status %d\n%s", r.status, r.err)
	}
	for _, dir := range private {
		name := "LA-13 cgroup after a kill"
		if !strings.HasPrefix(dir, "/sys/") {
			name = "LA-13 folder after a kill"
		}
		if _, err := os.Lstat(dir); err == nil {
			gap(t, name, dir+" is left after the next start")
			_ = os.Remove(dir)
			continue
		}
		closed(t, name)
	}
}

// privateFolders are the run's own folder and, if it has one, its cgroup.
func privateFolders(t *testing.T, side *side) []string {
	t.Helper()
	tmp := strings.Trim(strings.TrimPrefix(side.ask(t, "env TMPDIR"), "ok "), `"`)
	if st, err := os.Stat(tmp); err != nil || st.Mode().Perm() != 0o700 {
		t.Fatalf("TMPDIR inside is %q: %v", tmp, err)
	}
	dirs := []string{filepath.Dir(tmp)}
	pid := strings.TrimPrefix(side.ask(t, call(unix.SYS_GETPID)), "ok ")
	if inside() {
		pid = itoa(initOf(t, side.cmd.Process.Pid)) // which is in the same cgroup
	}
	for line := range strings.Lines(read(t, "/proc/"+pid+"/cgroup")) {
		if group, v2 := strings.CutPrefix(strings.TrimSpace(line), "0::"); v2 && strings.Contains(group, "brainbox-") && filepath.Base(group) != "brainbox-self" {
			for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
				if _, err := os.Stat(mount + group); err == nil {
					dirs = append(dirs, mount+group)
				}
			}
		}
	}
	return dirs
}

// initOf is the init that a brainbox has started.
func initOf(t testing.TB, brainbox int) int {
	t.Helper()
	for _, n := range processes(t) {
		if field(n, "PPid") == itoa(brainbox) {
			return n
		}
	}
	t.Fatalf("brainbox %d has no child", brainbox)
	return 0
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// TestTwoRuns is esc/LA-14: of two runs in one checkout the one does not notice the
// end of the other.
func TestTwoRuns(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	first, second := w.box(t), w.box(t)
	a, b := privateFolders(t, first), privateFolders(t, second)
	if a[0] == b[0] {
		t.Errorf("both runs have the private folder %q", a[0])
	}
	if got := second.ask(t, openat(a[0], 0)); !hit(got, hidden("EACCES")) {
		t.Errorf("the second run opens the first one's folder: %q", got)
	}
	first.done()
	if r := confined(t, w, nil, "/bin/true"); r.status != 0 { // cleans up what nobody holds
		t.Fatalf("status %d\n%s", r.status, r.err)
	}
	if got := second.ask(t, "write "+filepath.Join(b[0], "tmp", "x")+" 0x40 text"); got != "ok" {
		t.Errorf("the second run, after the first one's end: %q", got)
	}
	if got := first.cmd.ProcessState.ExitCode(); got != 0 {
		t.Errorf("the first run ended with %d", got)
	}
}

// TestExitStatus is esc/LA-18 and esc/LA-15.
func TestExitStatus(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	plain := filepath.Join(w.dir("W"), "plain")
	must(t, os.WriteFile(plain, []byte("text"), 0o644))
	script := filepath.Join(w.dir("W"), "script")
	must(t, os.WriteFile(script, []byte("#!"+filepath.Join(w.dir("O"), "interpreter")+"\n"), 0o755))
	copyProgram(t, program("victim"), filepath.Join(w.dir("O"), "interpreter"))
	for _, tt := range []struct {
		name    string
		want    int
		command []string
	}{
		{"status 0", 0, []string{"/bin/true"}},
		{"status 7", 7, []string{"/bin/sh", "-c", "exit 7"}},
		{"status 255", 255, []string{"/bin/sh", "-c", "exit 255"}},
		{"SIGTERM", 143, []string{program("victim"), "die", "SIGTERM"}},
		{"SIGKILL", 137, []string{program("victim"), "die", "SIGKILL"}},
		{"SIGHUP", 129, []string{program("victim"), "die", "SIGHUP"}},
		{"not there", 127, []string{filepath.Join(w.dir("W"), "none")}},
		{"no such name", 127, []string{"brainbox-no-such-program"}},
		{"not executable", 126, []string{plain}},
		{"outside every grant", 126, []string{filepath.Join(w.dir("O"), "interpreter")}},
		{"interpreter outside every grant", 126, []string{script}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := confined(t, w, nil, tt.command...)
			if r.status != tt.want {
				t.Errorf("status %d, want %d\n%s", r.status, tt.want, r.err)
			}
			if own := tt.want >= 125 && tt.want <= 127; own != strings.HasPrefix(r.err, "brainbox: ") {
				t.Errorf("status %d with %q on standard error", r.status, r.err)
			}
		})
	}
	if r := run(t, w.dir("W"), exec.Command(script)); r.status != 0 {
		t.Errorf("control: the script outside: status %d", r.status)
	}
}
