package launcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
)

// program is the C program of these tests, static.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "watched")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out, err := exec.CommandContext(context.Background(), "cc", "-static", "-pthread", "-o", dir+"/watched", "testdata/watched/watched.c").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return os.ReadFile(dir + "/watched")
})

// compileWatched puts it into dir.
func compileWatched(t *testing.T, dir string) {
	t.Helper()
	needs.Tool(t, "cc")
	text, err := program()
	if err == nil {
		err = os.WriteFile(dir+"/watched", text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func secretIn(t *testing.T) string {
	t.Helper()
	secret := t.TempDir() + "/secret"
	if err := os.WriteFile(secret, []byte("s"), 0o644); err != nil {
		t.Fatal(err)
	}
	return secret
}

// What a program gets is the same to the last error, and nothing that it does, in a thread or
// in a grandchild, is missed.
func TestAProgramGetsTheSameWithAnObserver(t *testing.T) {
	needs.LandlockABI(t, 1)
	for _, isolation := range []string{"landlock", "namespaces"} {
		t.Run(isolation, func(t *testing.T) {
			secret := secretIn(t)
			run := func(w *watcher) (string, int) {
				dir := resolved(t.TempDir())
				compileWatched(t, dir)
				res := watched(t, isolation, dir, "exec ./watched everything "+secret+" >out", w)
				return read(t, dir+"/out"), res.Status
			}
			w := newWatcher()
			got, status := run(w)
			want, wantStatus := run(nil)
			if got != want || status != wantStatus || status != 7 {
				t.Errorf("status %d, without an observer %d; (-without +with):\n%s", status, wantStatus, cmp.Diff(want, got))
			}
			for _, line := range []string{"open 0", "mkdir 0", "grandchild 0", "thread 0", "bad address 14"} { // the program did something
				if !strings.Contains(got, line+"\n") {
					t.Errorf("%q is not in\n%s", line, got)
				}
			}
			if strings.Contains(got, "secret 0\n") {
				t.Errorf("the secret was read:\n%s", got)
			}
			counts := map[string]int{"mkdir": 3, "rename": 1, "symlink": 1, "truncate": 1, "execve": 3}
			for name, n := range counts {
				if w.seen[name] != n && w.seen[name+"at"] != n && w.seen[name+"at2"] != n {
					t.Errorf("%s was seen %d times, want %d: %v", name, w.seen[name], n, w.seen)
				}
			}
			for _, name := range []string{"socket", "ptrace", "unshare", "io_uring_setup"} {
				if w.refused[name] == 0 {
					t.Errorf("%s: nobody told of the refusal: %v", name, w.refused)
				}
			}
			if len(w.threads) != 3 {
				t.Errorf("calls of %d threads, want those of the program, its thread and its grandchild", len(w.threads))
			}
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Signals that restart a call lose none of it, and nothing is left of very many calls.
func TestManyObservedCalls(t *testing.T) {
	for _, arg := range []string{"", " signals"} {
		dir := resolved(t.TempDir())
		compileWatched(t, dir)
		watched(t, "landlock", dir, "exec ./watched opens 10"+arg+" >out", newWatcher()) // what is made once
		before, memory := descriptors(t), heap()
		w := newWatcher()
		watched(t, "landlock", dir, "exec ./watched opens 10000"+arg+" >out", w)
		want := map[string]string{"": "opened, error 0, signals 0\n", " signals": "opened, error 0, signals 1\n"}[arg]
		if got := read(t, dir+"/out"); got != want {
			t.Errorf("%q: %q", arg, got)
		}
		if n := w.seen["open"] + w.seen["openat"]; n < 10000 {
			t.Errorf("%d calls were seen", n)
		}
		if now := descriptors(t); now != before {
			t.Errorf("%d descriptors, %d before", now, before)
		}
		if grown := heap() - memory; grown > 1<<20 {
			t.Errorf("the heap has %d bytes more", grown)
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// With the end of whoever observes the calls of what is left fail. They are not made
// unobserved, and the confinement holds as before.
func TestTheEndOfTheObserver(t *testing.T) {
	needs.Notify(t)
	needs.LandlockABI(t, 1)
	dir, secret := os.Getenv("WATCHED_DIR"), os.Getenv("WATCHED_SECRET")
	if dir != "" {
		watched(t, "landlock", dir, "exec ./watched daemon "+secret+" log", newWatcher())
		return
	}
	dir, secret = resolved(t.TempDir()), secretIn(t)
	compileWatched(t, dir)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestTheEndOfTheObserver$")
	cmd.Env = append(os.Environ(), "WATCHED_DIR="+dir, "WATCHED_SECRET="+secret)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	waitFor(t, dir+"/log", "0 13\n") // its own file and not the secret: the positive control
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := waitFor(t, dir+"/log", "38 38\n"); got != "0 13\n38 38\n" {
		t.Errorf("the program got %q", got)
	}
}

// waitFor waits until a file ends with a text.
func waitFor(t *testing.T, path, end string) string {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if strings.HasSuffix(string(text), end) {
			return string(text)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has %q, want %q", path, text, end)
		}
	}
}

// The broker answers what it always does, and the observer sees it.
func TestObserverAndBroker(t *testing.T) {
	needs.Notify(t)
	needs.LandlockABI(t, 1)
	dir := resolved(t.TempDir())
	compileWatched(t, dir)
	socks, err := os.MkdirTemp("", "watched") //nolint:usetesting // TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(socks) })
	listed, other := socks+"/listed", socks+"/other"
	for _, path := range []string{listed, other} {
		l, err := net.Listen("unix", path) //nolint:noctx // a test's own
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
	}
	w := newWatcher()
	f, p := planIn(t, "landlock", dir, "exec ./watched connect "+listed+" "+other+" >out", listed)
	if p.Refusal != nil || p.Broker == nil {
		t.Skipf("needs: a broker: %+v", p.Refusal) // gating: Landlock may judge sockets itself
	}
	res, err := p.Run(f, Options{Observe: w.observe})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, dir+"/out"), "socket 0\nconnect 0\nsocket 0\nconnect 13\n"; got != want {
		t.Errorf("the program got %q, want %q", got, want)
	}
	if w.seen["connect"] != 2 || w.seen["execve"] == 0 || res.Broker.Connected != 1 || res.Broker.Refused != 1 {
		t.Errorf("%v, %+v", w.seen, res.Broker)
	}
}
