package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brainbox/internal/needs"
	"brainbox/launcher"
)

// hostConfig is what integration/workerhost reads.
type hostConfig struct {
	Worker launcher.Worker
	Turn   launcher.Turn
	Mode   string
	Leak   string
	Held   string
	Init   string

	mutations []string // layers that a build for tests leaves out
	environ   []string // of the host
}

// workerWorld is a repository with a policy in it, and what an attack may look for.
type workerWorld struct {
	root, repo string
	vars       map[string]string
}

const policyText = "the policy, as it was\n"

// newWorkerWorld makes a fresh repository.
func newWorkerWorld(t *testing.T) *workerWorld {
	t.Helper()
	needs.Userns(t)
	needs.LandlockABI(t, 6)
	needs.Seccomp(t)
	// Not below /tmp: there the worker's own tmpfs is around the repository, so that Landlock
	// grants it too, and the mount alone holds it.
	root, err := os.MkdirTemp("/var/tmp", "brainbox-test-") //nolint:usetesting // t.TempDir is below /tmp
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	must(t, os.Chmod(root, 0o755))
	w := &workerWorld{root: root, repo: filepath.Join(root, "repo"), vars: map[string]string{}}
	for _, dir := range []string{"repo", "repo/policy", "repo/work", "repo/elsewhere", "repo/.scratch", "scratch", "outside"} {
		must(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	p := filepath.Join(w.repo, "policy/protected")
	must(t, os.WriteFile(p, []byte(policyText), 0o644))
	must(t, os.WriteFile(filepath.Join(w.repo, "work/file"), []byte("work\n"), 0o644))
	must(t, os.Link(p, filepath.Join(w.repo, "elsewhere/alias")))
	must(t, os.Link(p, filepath.Join(root, "scratch/alias")))
	must(t, os.Symlink("policy/protected", filepath.Join(w.repo, "link")))
	must(t, os.Symlink("policy", filepath.Join(w.repo, "linkdir")))
	w.vars["R"], w.vars["P"], w.vars["S"], w.vars["O"] = w.repo, p, launcher.ScratchDir, filepath.Join(root, "outside")
	return w
}

// worker is one that runs the victim in it.
func (w *workerWorld) worker() launcher.Worker {
	return launcher.Worker{
		Dir: bin, Repo: w.repo, Command: []string{program("victim")}, Read: []string{bin},
		Env: map[string]string{"PATH": "/usr/bin:/bin", "HOME": launcher.ScratchDir},
	}
}

// fill puts the world's names into an attempt.
func (w *workerWorld) fill(attempt string) string {
	for name, value := range w.vars {
		attempt = strings.ReplaceAll(attempt, "{"+name+"}", value)
	}
	return attempt
}

// manifest is everything of the host's that a worker could have changed. It is taken by the
// test, which is neither host nor worker.
func (w *workerWorld) manifest(t testing.TB) map[string]string {
	t.Helper()
	return tree(t, w.root)
}

// command is a host that has read c.
func (w *workerWorld) command(t testing.TB, c hostConfig) *exec.Cmd {
	t.Helper()
	host := program("workerhost")
	if len(c.mutations) > 0 {
		c.Worker.Dir, host = filepath.Join(bin, "mutated"), filepath.Join(bin, "mutated", "workerhost")
	}
	text, err := json.Marshal(c)
	must(t, err)
	file := filepath.Join(t.TempDir(), "config.json")
	must(t, os.WriteFile(file, text, 0o644))
	cmd := exec.Command(host, file)
	cmd.Dir = "/"
	cmd.Env = append([]string{
		"PATH=/usr/bin:/bin", "CANARY_HOST=of the host", "BRAINBOX_MUTATION=" + strings.Join(c.mutations, ","),
		"BRAINBOX_MUTATION_SCRATCH=" + filepath.Join(w.root, "scratch"),
		"BRAINBOX_MUTATION_STDOUT=" + w.vars["P"],
	}, c.environ...)
	return cmd
}

// start starts a worker with the victim in it.
func (w *workerWorld) start(t testing.TB, c hostConfig) *side {
	t.Helper()
	return open(t, w.command(t, c))
}

// refusal is the one line that a host prints when nothing was started.
type refusal struct {
	Class, Requirement, Route, Message, ProbeID string
	Tuple                                       map[string]any
}

func readRefusal(t testing.TB, line string) refusal {
	t.Helper()
	var r refusal
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if r.Class != launcher.WorkerHostUnsupported || r.Requirement == "" || r.Route == "" || !strings.Contains(r.Message, r.Requirement) {
		t.Errorf("refusal %+v", r)
	}
	return r
}

// gone waits for the end of a process. One that nobody has waited for yet has ended.
func gone(pid int) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(text), ") Z ") {
			return true
		}
	}
	return false
}
