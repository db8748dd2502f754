package launcher

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/notify"
	"brainbox/seccomp"
)

// watcher notes the calls.
type watcher struct {
	mu      sync.Mutex
	seen    map[string]int
	refused map[string]syscall.Errno
	threads map[int]bool
	plan    *Plan
}

func (w *watcher) See(c *notify.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[seccomp.Name(runtime.GOARCH, uint32(c.Nr))]++
	w.threads[c.TID] = true
}

func (w *watcher) Refuse(c *notify.Call, e syscall.Errno) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused[seccomp.Name(runtime.GOARCH, uint32(c.Nr))] = e
}

func (w *watcher) observe(p *Plan, _ *Facts) (Observer, error) {
	w.plan = p
	return w, nil
}

func newWatcher() *watcher {
	return &watcher{seen: map[string]int{}, refused: map[string]syscall.Errno{}, threads: map[int]bool{}}
}

// watched runs a script under observation, or without an observer.
func watched(t *testing.T, isolation, dir, script string, w *watcher) *Result {
	t.Helper()
	needs.Notify(t)
	if isolation == "namespaces" {
		needs.Userns(t)
	}
	f, p := planIn(t, isolation, dir, script)
	defer f.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	o := Options{Stdio: [3]int{int(null.Fd()), 2, 2}}
	if w != nil {
		o.Observe = w.observe
	}
	res, err := p.Run(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestObservedRun(t *testing.T) {
	for _, isolation := range []string{"landlock", "namespaces"} {
		t.Run(isolation, func(t *testing.T) {
			dir, out := t.TempDir(), t.TempDir()
			if err := os.WriteFile(out+"/secret", []byte("s"), 0o644); err != nil {
				t.Fatal(err)
			}
			script := "cat " + out + "/secret >got 2>/dev/null; echo $? >code; echo ok >ok; mkdir d; mv ok d/ok; (sh -c 'cat d/ok >copy'); unshare -m true 2>err; echo $? >unshare; exit 5"
			w := newWatcher()
			res := watched(t, isolation, dir, script, w)
			if res.Status != 5 || res.Watch.Panic != "" {
				t.Errorf("%+v", res)
			}
			if w.seen["mkdir"]+w.seen["mkdirat"] == 0 { // arm64 has the newer call alone
				t.Errorf("mkdir was not seen: %v", w.seen)
			}
			for _, name := range []string{"openat", "execve"} {
				if w.seen[name] == 0 {
					t.Errorf("%s was not seen: %v", name, w.seen)
				}
			}
			if w.refused["unshare"] != unix.EPERM {
				t.Errorf("refused: %v, want unshare with EPERM", w.refused)
			}
			if w.plan == nil || w.plan.Isolation != isolation || len(w.threads) < 4 {
				t.Errorf("plan %+v, threads %v", w.plan, w.threads)
			}
			names := []string{"got", "code", "copy", "d/ok", "err", "unshare"}
			observed := contents(dir, names)
			bare := t.TempDir()
			watched(t, isolation, bare, script, nil)
			if without := contents(bare, names); !slices.Equal(observed, without) {
				t.Errorf("observed %q, without %q", observed, without)
			}
			if observed[0] != "" || observed[1] == "0\n" || observed[3] != "ok\n" { // confined all the same, and not more
				t.Errorf("files: %q", observed)
			}
		})
	}
}

func contents(dir string, names []string) []string {
	var all []string
	for _, name := range names {
		text, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			text = []byte(err.Error())
		}
		all = append(all, strings.ReplaceAll(string(text), dir, ""))
	}
	return all
}
