package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"brainbox/internal/needs"
)

// TestManyStarts is esc/SC-08: of many starts at once, none is unconfined, and no
// supervisor is confined. brainbox is written in Go, where work moves between
// threads: a restriction on one thread and a start on another is what must not be.
func TestManyStarts(t *testing.T) {
	needs.LandlockABI(t, abi())
	needs.Seccomp(t)
	starts, atOnce := 1000, 16
	if testing.Short() {
		starts = 64
	}
	w := newWorld(t)
	secret := filepath.Join(w.dir("O"), "secret")
	must(t, os.WriteFile(secret, []byte(canaryText), 0o644))
	control := output(t, w, exec.Command(program("victim"), "child-check", secret))
	if want := "ok NoNewPrivs=0 Seccomp=0 secret=read"; control != want {
		t.Fatalf("control: %q, want %q", control, want)
	}
	env := environ(t)
	turns := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	wrong := map[string]int{}
	for range atOnce {
		wg.Go(func() {
			for range turns {
				if err := oneStart(w.dir("W"), env, secret); err != nil {
					mu.Lock()
					wrong[err.Error()]++
					mu.Unlock()
				}
			}
		})
	}
	for i := range starts {
		turns <- i
	}
	close(turns)
	wg.Wait()
	for what, n := range wrong {
		t.Errorf("%d of %d starts: %s", n, starts, what)
	}
}

// oneStart starts a child that checks itself and then waits for a line, looks at the
// supervisor while the child lives, and lets both end.
func oneStart(dir string, env []string, secret string) error {
	cmd := exec.Command(program("brainbox"), boxArgs(nil, program("victim"))...)
	cmd.Dir, cmd.Env = dir, env
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(in, "child-check "+secret); err != nil {
		return fmt.Errorf("%w: %s", err, stderr.String())
	}
	answer := make([]byte, 4096)
	n, err := out.Read(answer)
	if err != nil {
		return fmt.Errorf("%w: %s", err, stderr.String())
	}
	supervisor := confinedThreads(cmd.Process.Pid)
	if err := in.Close(); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, stderr.String())
	}
	if got := strings.TrimSpace(string(answer[:n])); !refusedSecret(got) {
		return fmt.Errorf("the child says %q", got)
	}
	return supervisor
}

// confinedThreads says whether any thread of a process is confined. A Landlock domain
// shows itself by no_new_privs, which brainbox sets in the child only.
func confinedThreads(pid int) error {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, thread := range threads {
		text, err := os.ReadFile(filepath.Join(dir, thread.Name(), "status"))
		if err != nil {
			continue // it ended
		}
		if !strings.Contains(string(text), "\nSeccomp:\t0\n") || !strings.Contains(string(text), "\nNoNewPrivs:\t0\n") {
			return fmt.Errorf("a thread of brainbox is confined: %s", text)
		}
	}
	if len(threads) == 0 {
		return fmt.Errorf("no thread of %d", pid)
	}
	return nil
}
