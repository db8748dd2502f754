package launcher

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/policy"
)

// hostVariable tells a child of a test where the command is.
const hostVariable = "BRAINBOX_TEST_HOST"

// hostDir builds the brainbox command once for the tests of a Host.
var hostDir = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(hostVariable); dir != "" {
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "brainbox-host-test-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", dir+"/brainbox", "brainbox/cmd/brainbox")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return dir, nil
})

// BuiltHost is hostDir for package launcher_test.
func BuiltHost() (string, error) { return hostDir() }

func newHost(t *testing.T) *Host {
	t.Helper()
	dir, err := hostDir()
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHost(HostOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// planFor decides on /bin/sh -c script with the system folders and w writable.
func planFor(t *testing.T, w, script string) (*Facts, *Plan) {
	t.Helper()
	return planIn(t, "landlock", w, script)
}

func planIn(t *testing.T, isolation, w, script string, sockets ...string) (*Facts, *Plan) {
	t.Helper()
	return planAsked(t, isolation, w, script, false, sockets...)
}

func planAsked(t *testing.T, isolation, w, script string, untried bool, sockets ...string) (*Facts, *Plan) {
	t.Helper()
	return planWith(t, "minimal", isolation, w, script, untried, sockets...)
}

func planWith(t *testing.T, profile, isolation, w, script string, untried bool, sockets ...string) (*Facts, *Plan) {
	t.Helper()
	place, err := Look([]string{"PATH=/usr/bin:/bin"})
	if err != nil {
		t.Fatal(err)
	}
	place.Cwd = w
	flags := policy.NewFlagLayer()
	if err := flags.AddGrant("--rwx", w, policy.RightWriteExec); err != nil {
		t.Fatal(err)
	}
	if err := flags.Set("sandbox.isolation", "--isolation "+isolation, isolation); err != nil {
		t.Fatal(err)
	}
	for _, path := range sockets {
		if err := flags.Set("network.unix", "--unix "+path, path); err != nil {
			t.Fatal(err)
		}
	}
	layers, err := policy.Layers(profile, nil, flags)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Resolve(policy.Input{Vars: place.Vars()}, layers...)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Observe(p, place, Request{Command: []string{"/bin/sh", "-c", script}, Untried: untried})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, NewPlan(p, f)
}

func startWith(t *testing.T, h *Host, w, script string) (*Session, *Facts) {
	t.Helper()
	f, p := planFor(t, w, script)
	s, err := h.Start(p, f, Options{Stdio: [3]int{0, 2, 2}})
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

func TestHostRunsConfined(t *testing.T) {
	needs.LandlockABI(t, 6)
	h := newHost(t)
	for range 3 { // the spawner is used again
		w, out := t.TempDir(), t.TempDir()
		if err := os.WriteFile(out+"/secret", []byte("s"), 0o644); err != nil {
			t.Fatal(err)
		}
		s, f := startWith(t, h, w, "cat "+out+"/secret >got 2>/dev/null; echo ok >ok; grep Seccomp: /proc/self/status >st; exit 5")
		res, err := s.Wait()
		if err != nil || res.Status != 5 {
			t.Fatalf("Wait = %+v, %v; want status 5", res, err)
		}
		got, _ := os.ReadFile(w + "/got")
		ok, _ := os.ReadFile(w + "/ok")
		st, _ := os.ReadFile(w + "/st")
		if len(got) != 0 || string(ok) != "ok\n" || !strings.Contains(string(st), "2") {
			t.Errorf("got %q, ok %q, status %q", got, ok, st)
		}
		if _, err := os.Stat(f.RunDir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the run's folder is left: %v", err)
		}
	}
	if n := len(h.idle); n != 1 {
		t.Errorf("%d idle spawners, want 1", n)
	}
}

// A spawner makes the namespaces itself, from the descriptors that it is sent.
func TestHostRunsInNamespaces(t *testing.T) {
	needs.Userns(t)
	needs.LandlockABI(t, 1)
	h := newHost(t)
	for range 2 {
		w := resolved(t.TempDir())
		if err := os.MkdirAll(w+"/made/x", 0o755); err != nil {
			t.Fatal(err)
		}
		f, p := planIn(t, "namespaces", w, "ls -d /proc/[0-9]* | wc -l >n; echo $$ >pid; ls -A / >root; exit 5")
		s, err := h.Start(p, f, Options{Stdio: [3]int{0, 2, 2}})
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.ReadFile("/proc/" + itoa(s.PID) + "/status"); err == nil && !strings.Contains(string(st), "NSpid:\t"+itoa(s.PID)+"\t") {
			t.Errorf("process %d is not the command:\n%s", s.PID, st)
		}
		res, err := s.Wait()
		if err != nil || res.Status != 5 || res.After == nil {
			t.Fatalf("Wait = %+v, %v; want status 5", res, err)
		}
		pid, _ := os.ReadFile(w + "/pid")
		root, _ := os.ReadFile(w + "/root")
		if string(pid) != "2\n" || strings.Contains(string(root), "home\n") {
			t.Errorf("process %q, root %q", pid, root)
		}
		if _, err := os.Stat(f.RunDir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the run's folder is left: %v", err)
		}
	}
	if n := len(h.idle); n != 1 {
		t.Errorf("%d idle spawners, want 1", n)
	}
}

// A program in namespaces that ends at once has been reaped by its init before the spawner
// could open it by its number: its start was an unexpected answer then, now and again.
func TestHostTellsOfAShortProgram(t *testing.T) {
	needs.Userns(t)
	h := newHost(t)
	w := resolved(t.TempDir())
	for range 30 {
		f, p := planIn(t, "namespaces", w, "exit 5")
		s, err := h.Start(p, f, Options{Stdio: [3]int{0, 2, 2}})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := s.Wait(); err != nil || res.Status != 5 || s.PID <= 0 {
			t.Fatalf("Wait = %+v, %v; want status 5", res, err)
		}
	}
}

func TestHostSignals(t *testing.T) {
	h := newHost(t)
	w := t.TempDir()
	s, _ := startWith(t, h, w, "trap 'exit 9' TERM; echo >ready; while :; do sleep 0.01; done")
	soon(t, "the program has its trap", func() bool { _, err := os.Stat(w + "/ready"); return err == nil })
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Wait(); err != nil || res.Status != 9 {
		t.Errorf("Wait = %+v, %v; want status 9", res, err)
	}
}

func TestHostTellsAFailedStart(t *testing.T) {
	h := newHost(t)
	f, p := planFor(t, t.TempDir(), "")
	p.File = "/usr" // a folder: execve says EACCES
	_, err := h.Start(p, f, Options{Stdio: [3]int{0, 2, 2}})
	var r *Refusal
	if !errors.As(err, &r) || r.Status != StatusNotRun {
		t.Errorf("Start: %v, want status 126", err)
	}
	if _, err := os.Stat(f.RunDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the run's folder is left: %v", err)
	}
}

// TestHostEndsWithItsCaller closes the host's end in the middle of a run: the program and
// its daemons must end.
func TestHostEndsWithItsCaller(t *testing.T) {
	h := newHost(t)
	w := t.TempDir()
	s, _ := startWith(t, h, w, "setsid sleep 1000 & echo $! >daemon; echo $$ >leader; wait")
	defer s.session.close()
	soon(t, "the program has begun", func() bool { b, _ := os.ReadFile(w + "/leader"); return len(b) > 0 })
	leader := s.PidFD
	if err := s.spawner.Close(); err != nil {
		t.Fatal(err)
	}
	fds := []unix.PollFd{{Fd: int32(leader.Fd()), Events: unix.POLLIN}}
	soon(t, "the program ends with its host", func() bool { n, err := unix.Poll(fds, 10); return n == 1 && err == nil }) // else a signal of the runtime's
	daemon, _ := os.ReadFile(w + "/daemon")
	pid := strings.TrimSpace(string(daemon))
	if pid == "" {
		t.Fatal("there is no daemon")
	}
	soon(t, "the daemon ends with its host", func() bool {
		st, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		return err != nil || strings.Contains(string(st), ") Z")
	})
}

// soon waits for something that is about to be so.
func soon(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(wrapPatience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so: %s", what)
		}
	}
}
