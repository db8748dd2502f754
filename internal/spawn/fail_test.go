package spawn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// everything is a start with every kind of step. It writes w/ran when the program runs.
func everything(t testing.TB, w string) *Request {
	t.Helper()
	if err := errors.Join(os.Mkdir(w+"/d", 0o755), os.Mkdir(w+"/secret", 0o755), os.WriteFile(w+"/key", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	r := newRoom(t, w)
	r.ns.Net, r.ns.Loopback, r.ns.Hostname, r.ns.Dir = true, true, "room", w
	r.add(Mount{Kind: KindDir, Path: "/run", Mode: 0o755}, Mount{Kind: KindFS, Path: "/run", FSType: "tmpfs", Writable: true, Options: []string{"size=65536"}},
		Mount{Kind: KindFile, Path: "/run/f", Mode: 0o600, Data: []byte("x")}, Mount{Kind: KindSeal, Path: "/run"}, Mount{Kind: KindGrant, Path: "/run", Access: 1 << 2},
		Mount{Kind: KindSelf, Path: w + "/d", Held: hold(t, w+"/d"), Writable: true},
		Mount{Kind: KindMask, Path: w + "/secret", Held: hold(t, w+"/secret")}, Mount{Kind: KindMask, Path: w + "/key", Held: hold(t, w+"/key")},
		Mount{Kind: KindBind, Path: w + "/d", Source: "/usr", Held: hold(t, "/usr"), Over: hold(t, w+"/d")})
	q := r.request("echo ran >" + w + "/ran")
	q.Dir, q.Filter = hold(t, w), allowAll()
	q.Ruleset = ruleset(t, "/usr", "/lib", "/lib64", "/bin", "/dev/null", "/proc", w)
	q.Limits = []Limit{{Resource: unix.RLIMIT_CORE}}
	if os.Geteuid() == 0 {
		q.Identity = &Identity{}
	}
	q.Probes = []Probe{{Name: "mount", Nr: unix.SYS_MOUNT, Errnos: []syscall.Errno{unix.EPERM, unix.EFAULT}}}
	return q
}

// state is what a failed start must not change: descriptors and mounts of this process.
func state(t testing.TB) [2]string {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return [2]string{fmt.Sprint(len(names)), read(t, "/proc/self/mountinfo")}
}

// points lists the calls of all three lists as (list, index): the first of each kind in a
// short run.
func points(t testing.TB, r *Request) (all [][2]int, calls []call) {
	t.Helper()
	q := *r
	var lists [][]call
	q.inject = &injection{edit: func(l []*[]call) {
		for _, c := range l {
			lists = append(lists, *c)
		}
		(*l[0])[0].fail()
	}}
	if _, err := Start(&q); err == nil {
		t.Fatal("the start that fails did not")
	}
	seen := map[string]bool{}
	for n, list := range lists {
		for i, c := range list {
			key := fmt.Sprint(n, c.step, c.name, c.entry)
			if seen[key] && testing.Short() {
				continue
			}
			seen[key] = true
			all, calls = append(all, [2]int{n, i}), append(calls, c)
		}
	}
	return all, calls
}

// Every single call may fail: what failed is named, and nothing is left of the start.
func TestEveryCallInNamespacesCanFail(t *testing.T) {
	w := t.TempDir()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := everything(t, w)
	at, calls := points(t, r)
	before := state(t)
	for k, p := range at {
		q := *r
		q.inject = &injection{edit: func(l []*[]call) { (*l[p[0]])[p[1]].fail() }}
		child, err := Start(&q)
		var e *Error
		c := calls[k]
		if told := p[0] == 2 && k > 0 && (calls[k-1].name == "sendmsg" || calls[k-1].name == "close"); told {
			// Start had its answer; the init ends all the same.
			if err != nil {
				if !isStep(err, StepReaper, unix.ESRCH) { // it was faster
					t.Errorf("%v %s: %v", c.step, c.name, err)
				}
			} else if e, err := child.Init.Event(); err != io.EOF { //nolint:errorlint // as Event gives it
				t.Errorf("%v %s: %+v, %v; want the end", c.step, c.name, e, err)
			} else {
				child.Init.End()
				unix.Close(child.PidFD)
			}
			continue
		}
		want := &Error{Step: c.step, Call: c.name, Errno: unix.ENOSYS}
		if c.entry > 0 {
			want.Mount, want.Path = int(c.entry-1), r.Namespaces.Mounts[c.entry-1].Path
		}
		if !errors.As(err, &e) || !cmp.Equal(e, want) {
			t.Errorf("list %d, call %d (%v %s): %#v", p[0], p[1], c.step, c.name, err)
		}
		if e != nil && e.NotOffered() != (c.step == StepPrivate) {
			t.Errorf("%v: not offered is %v", e, e.NotOffered())
		}
		noChild(t)
		if p[0] == 2 { // the program had been started, and was ended
			_ = os.Remove(w + "/ran")
		}
		if _, err := os.Stat(w + "/ran"); err == nil {
			t.Fatalf("list %d, call %d: the program ran", p[0], p[1])
		}
		if t.Failed() {
			break
		}
	}
	if diff := cmp.Diff(before, state(t)); diff != "" {
		t.Errorf("descriptors or mounts (-before +after):\n%s", diff)
	}
	if _, e := output(t, r); e != (Event{Exited, 0}) { // positive control
		t.Errorf("without: %+v", e)
	}
	read(t, w+"/ran")
	t.Logf("%d calls", len(at))
}

// The same by name, as a build for tests does it.
func TestEveryNamespaceStepCanFail(t *testing.T) {
	r := everything(t, t.TempDir())
	for _, step := range append(NamespaceSteps(), Steps()...) {
		if step == StepCommand || step == StepDeathSignal || step == StepIdentity && os.Geteuid() != 0 {
			continue // its one call is no list's, or there is none
		}
		injected := Inject(*r, step)
		if _, err := Start(&injected); !isStep(err, step, unix.ENOSYS) {
			t.Errorf("%v: %v", step, err)
		}
		noChild(t)
	}
}
