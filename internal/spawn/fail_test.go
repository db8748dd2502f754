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

	"brainbox/internal/needs"
)

// everything is a start with every kind of step. It writes w/ran when the program runs.
func everything(t testing.TB, w string) *Request {
	t.Helper()
	if err := errors.Join(os.Mkdir(w+"/d", 0o755), os.Mkdir(w+"/secret", 0o755), os.WriteFile(w+"/key", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	r := newRoom(t, w)
	r.ns.Net, r.ns.Loopback, r.ns.Hostname, r.ns.Dir = true, true, "room", w
	r.ns.Network = func(int, int) error { return nil }
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

// left is what a failed start must not add to: descriptors and mounts of this process.
type left struct {
	fds    int
	mounts string
}

func state(t testing.TB) left {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return left{len(names), read(t, "/proc/self/mountinfo")}
}

// point is one call of the lists: the nth of that step and name. Its index may change
// with the numbers of the descriptors, between which the init closes.
type point struct {
	list, step, nth int
	name            string
	entry           int16
}

// find returns the index of the point, or -1.
func (p point) find(calls []call) int {
	nth := p.nth
	for i := range calls {
		if int(calls[i].step) != p.step || calls[i].name != p.name {
			continue
		}
		if nth == 0 {
			return i
		}
		nth--
	}
	return -1
}

// points lists the calls of all three lists: the first of each kind in a short run.
func points(t testing.TB, r *Request) (all []point) {
	t.Helper()
	q := *r
	q.inject = &injection{edit: func(l []*[]call) {
		for n, list := range l {
			seen := map[string]int{}
			for _, c := range *list {
				key := fmt.Sprint(c.step, c.name)
				if seen[key] == 0 || !testing.Short() {
					all = append(all, point{n, int(c.step), seen[key], c.name, c.entry})
				}
				seen[key]++
			}
		}
		(*l[0])[0].fail()
	}}
	if _, err := Start(&q); err == nil {
		t.Fatal("the start that fails did not")
	}
	return all
}

// Every single call may fail: what failed is named, and nothing is left of the start.
func TestEveryCallInNamespacesCanFail(t *testing.T) {
	w := t.TempDir()
	everyCallCanFail(t, everything(t, w), w)
}

func TestEveryCallInNamespacesWithAListenerCanFail(t *testing.T) {
	needs.Notify(t)
	w := t.TempDir()
	r := everything(t, w)
	r.Filter, r.Listener, r.Mark = notifyUmask(), true, testMark
	r.Limits = append(r.Limits, Limit{Resource: unix.RLIMIT_NOFILE, Cur: 16, Max: 16})
	everyCallCanFail(t, r, w)
}

func everyCallCanFail(t *testing.T, r *Request, w string) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	at := points(t, r)
	before := state(t)
	for _, p := range at {
		q := *r
		found, told := false, false
		q.inject = &injection{edit: func(l []*[]call) {
			list := *l[p.list]
			if i := p.find(list); i >= 0 {
				found, told = true, p.list == 2 && i > 0 && (list[i-1].name == "sendmsg" || list[i-1].name == "close")
				list[i].fail()
			} else {
				(*l[0])[0].fail()
			}
		}}
		child, err := Start(&q)
		if !found {
			continue
		}
		var e *Error
		if told {
			// Start had its answer; the init ends all the same.
			if err != nil {
				if !isStep(err, StepReaper, unix.ESRCH) { // it was faster
					t.Errorf("%+v: %v", p, err)
				}
			} else if e, err := child.Init.Event(); err != io.EOF { //nolint:errorlint // as Event gives it
				t.Errorf("%+v: %+v, %v; want the end", p, e, err)
			} else {
				child.Init.End()
				unix.Close(child.PidFD)
				if r.Listener {
					unix.Close(child.Listener)
				}
			}
			continue
		}
		want := &Error{Step: Step(p.step), Call: p.name, Errno: unix.ENOSYS}
		if p.entry > 0 {
			want.Mount, want.Path = int(p.entry-1), r.Namespaces.Mounts[p.entry-1].Path
		}
		if !errors.As(err, &e) || !cmp.Equal(e, want) {
			t.Errorf("%+v: %#v", p, err)
		}
		if e != nil && e.NotOffered() != (want.Step == StepPrivate || want.Step == StepRoot) { // ENOSYS: an older kernel
			t.Errorf("%v: not offered is %v", e, e.NotOffered())
		}
		noChild(t)
		if p.list == 2 { // the program had been started, and was ended
			_ = os.Remove(w + "/ran")
		}
		if _, err := os.Stat(w + "/ran"); err == nil {
			t.Fatalf("%+v: the program ran", p)
		}
		if t.Failed() {
			break
		}
	}
	if after := state(t); after.fds > before.fds || after.mounts != before.mounts {
		t.Errorf("descriptors or mounts changed: %+v, before %+v", after, before)
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
