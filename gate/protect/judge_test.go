package protect

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"brainbox/dirchain"

	"brainbox/internal/needs"
)

// compiled makes a judge that counts what it is told.
func compiled(t *testing.T, seat string, o Options, absences *[]Absence) *Judge {
	t.Helper()
	var s Seat
	var err error
	if seat != "" {
		if s, err = ParseSeat([]byte(seat)); err != nil {
			t.Fatal(err)
		}
	}
	if absences != nil {
		o.OnAbsent = func(a Absence) { *absences = append(*absences, a) }
	}
	j, mounted, err := Compile(s, o)
	if err != nil || !mounted {
		t.Fatal(mounted, err)
	}
	return j
}

func writes(paths ...string) Call {
	c := Call{Cwd: "/w/p"}
	for _, p := range paths {
		c.Aims = append(c.Aims, Aim{Path: p})
	}
	return c
}

// checked judges a call that is the judge's.
func checked(t *testing.T, j *Judge, c Call) Judgment {
	t.Helper()
	g, mine, err := j.Check(t.Context(), c)
	if !mine || err != nil {
		t.Fatalf("Check(%+v): %v, %v", c, mine, err)
	}
	t.Cleanup(g.Close)
	return g
}

// fake is an environment that does as a test says.
type fake struct {
	asked   atomic.Int32
	resolve func(ctx context.Context) (Place, error)
}

func (f *fake) Dir() string { return "/" }

func (f *fake) Resolve(ctx context.Context, _ string, _ bool) (Place, error) {
	f.asked.Add(1)
	return f.resolve(ctx)
}

func TestAbsence(t *testing.T) {
	t.Run("bg/C40", func(t *testing.T) {
		var absences []Absence
		v := vector{files: "loopa->loopb loopb->loopa"}
		got := checked(t, compiled(t, "", Options{Env: v.tree(t, dirchain.Options{})}, &absences), writes("loopa"))
		if told(got.Verdict) != "clear" || len(absences) != 1 || !absences[0].UnresolvedSymlink || absences[0].Cause == "" {
			t.Errorf("%s, absences %+v", told(got.Verdict), absences)
		}
	})
	t.Run("bg/C41 and nothing is looked at", func(t *testing.T) {
		env := &fake{resolve: func(context.Context) (Place, error) { return Place{}, errors.New("asked") }}
		got := checked(t, compiled(t, "", Options{Env: env}, nil), writes(".git"))
		if told(got.Verdict) != ".git spelling" || env.asked.Load() != 0 {
			t.Errorf("%s, asked %d times", told(got.Verdict), env.asked.Load())
		}
	})
	t.Run("on the hit arm too", func(t *testing.T) {
		var absences []Absence
		v := vector{files: "a->.git .git->z z->.git"}
		got := checked(t, compiled(t, "", Options{Env: v.tree(t, dirchain.Options{})}, &absences), writes("a"))
		if told(got.Verdict) != ".git chain" || len(absences) != 1 || !absences[0].UnresolvedSymlink {
			t.Errorf("%s, absences %+v", told(got.Verdict), absences)
		}
	})
	t.Run("bg/C42", func(t *testing.T) {
		needs.Kernel(t) // with openat2(2), which is what fails
		var absences []Absence
		var deny atomic.Bool
		v := vector{files: "a/b/ l->a"}
		env := v.tree(t, dirchain.Options{Trace: func(call string) error {
			if deny.Load() && call == "openat2" {
				return syscall.EACCES
			}
			return nil
		}})
		j := compiled(t, "", Options{Env: env}, &absences)
		if got := checked(t, j, writes("l/b/x")); told(got.Verdict) != "clear" || len(absences) != 0 || got.Held == nil {
			t.Errorf("control: %s, absences %+v", told(got.Verdict), absences)
		}
		deny.Store(true)
		if got := checked(t, j, writes("l/b/x")); told(got.Verdict) != "clear" || len(absences) != 1 || absences[0].UnresolvedSymlink || got.Held != nil {
			t.Errorf("%s, absences %+v", told(got.Verdict), absences)
		}
	})
	for name, resolve := range map[string]func(context.Context) (Place, error){
		"it panics":    func(context.Context) (Place, error) { panic("the other side is gone") },
		"it times out": func(context.Context) (Place, error) { return Place{}, errors.New("timed out") },
	} {
		t.Run("bg/C43 "+name, func(t *testing.T) {
			var absences []Absence
			got := checked(t, compiled(t, "", Options{Env: &fake{resolve: resolve}}, &absences), writes("x"))
			if told(got.Verdict) != "clear" || len(absences) != 1 || absences[0].UnresolvedSymlink {
				t.Errorf("%s, absences %+v", told(got.Verdict), absences)
			}
		})
	}
	t.Run("a link that leads out is one whose target is not known", func(t *testing.T) {
		var absences []Absence
		v := vector{files: "out->../../../../../../../../../../../.."}
		checked(t, compiled(t, "", Options{Env: v.tree(t, dirchain.Options{})}, &absences), writes("out", "x"))
		if len(absences) != 1 || !absences[0].UnresolvedSymlink {
			t.Errorf("absences %+v", absences)
		}
	})
	t.Run("a path that is not in the tree is no link", func(t *testing.T) {
		var absences []Absence
		tree := vector{}.tree(t, dirchain.Options{})
		tree.At = "/srv"
		checked(t, compiled(t, "", Options{Env: tree}, &absences), writes("/etc/x"))
		if len(absences) != 1 || absences[0].UnresolvedSymlink {
			t.Errorf("absences %+v", absences)
		}
	})
}

// What is not judged in time, or for a task that has ended, is not known.
func TestBoundedWait(t *testing.T) {
	stuck := func() (*fake, chan struct{}) {
		release := make(chan struct{})
		return &fake{resolve: func(context.Context) (Place, error) {
			<-release
			return Place{Path: "/w/p/x"}, nil
		}}, release
	}
	unresolvable := func(t *testing.T, g Judgment, why string) {
		t.Helper()
		d, ok := g.Decide("write_file")
		if told(g.Verdict) != "unresolvable" || g.UnresolvedSymlink || !g.Unresolved() || g.Mandated() || !ok || d.Action.String() != "deny" {
			t.Errorf("%s, %+v", told(g.Verdict), d)
		}
		if !strings.Contains(d.Message, why) || strings.Contains(d.Message, "/w/p") {
			t.Errorf("%q does not say %q", d.Message, why)
		}
	}
	t.Run("bg/C44", func(t *testing.T) {
		env, release := stuck()
		defer close(release)
		unresolvable(t, checked(t, compiled(t, "", Options{Env: env, Wait: time.Millisecond}, nil), writes("x")), "in time")
	})
	t.Run("bg/C44 an environment that gives up because the time did", func(t *testing.T) {
		env := &fake{resolve: func(ctx context.Context) (Place, error) {
			<-ctx.Done()
			return Place{}, ctx.Err()
		}}
		unresolvable(t, checked(t, compiled(t, "", Options{Env: env, Wait: time.Millisecond}, nil), writes("x")), "in time")
	})
	t.Run("bg/C45", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		env, release := stuck()
		defer close(release)
		inner := env.resolve
		env.resolve = func(ctx context.Context) (Place, error) {
			cancel()
			return inner(ctx)
		}
		g, _, _ := compiled(t, "", Options{Env: env}, nil).Check(ctx, writes("x"))
		unresolvable(t, g, "ended")
		for _, j := range []*Judge{compiled(t, "", Options{Env: env}, nil), compiled(t, "", Options{}, nil)} {
			g, _, _ = j.Check(ctx, writes(".git"))
			unresolvable(t, g, "ended")
		}
	})
	t.Run("the worst of several", func(t *testing.T) {
		env, release := stuck()
		defer close(release)
		unresolvable(t, checked(t, compiled(t, "", Options{Env: env, Wait: time.Millisecond}, nil), writes(".git", "x")), "in time")
	})
}

// Whatever comes late is closed too.
func TestLatePlaceIsClosed(t *testing.T) {
	tree := vector{}.tree(t, dirchain.Options{})
	before := openFiles(t)
	release, ended := make(chan struct{}), make(chan struct{})
	env := &fake{resolve: func(context.Context) (Place, error) {
		<-release
		return tree.Resolve(context.Background(), "/w/p/x", false)
	}}
	j := compiled(t, "", Options{Env: env, Wait: time.Millisecond}, nil)
	if g := checked(t, j, writes("x")); told(g.Verdict) != "unresolvable" {
		t.Errorf("%s", told(g.Verdict))
	}
	if h, err := j.Hold(t.Context(), "/w/p/x", Where{}, false); err == nil || h != nil {
		t.Errorf("Hold = %v, %v", h, err)
	}
	close(release)
	go func() { // both late looks end; nothing tells when but the descriptors
		for openFilesNow() != before {
			time.Sleep(time.Millisecond)
		}
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Errorf("%d descriptors are open, want %d", openFilesNow(), before)
	}
}

func TestNoTable(t *testing.T) {
	t.Run("bg/C59", func(t *testing.T) {
		s, err := ParseSeat([]byte(`[]`))
		if err != nil {
			t.Fatal(err)
		}
		j, mounted, err := Compile(s, Options{})
		if j != nil || mounted || err != nil {
			t.Errorf("Compile = %v, %v, %v", j, mounted, err)
		}
	})
	for name, j := range map[string]*Judge{"nil": nil, "zero": {}} { // somebody forgot to compile
		g, mine, err := j.Check(t.Context(), writes("x"))
		if !mine || err != nil || !g.Unresolved() {
			t.Errorf("%s: %+v, %v, %v", name, g, mine, err)
		}
		if v := j.Judge(t.Context(), "x", Where{}); !v.Unresolved() {
			t.Errorf("%s: %+v", name, v)
		}
		if _, err := j.Hold(t.Context(), "x", Where{}, false); err == nil {
			t.Errorf("%s: Hold", name)
		}
	}
	var v Verdict
	if d, ok := v.Decide("t"); !ok || d.Action.String() != "deny" {
		t.Errorf("the zero verdict: %+v", d)
	}
}

// The environment's variables say where the data is.
func TestDataRoot(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"BRAINBOX_DATA_DIR": "/x/", "XDG_STATE_HOME": "/s", "HOME": "/h"}, "/x"},
		{map[string]string{"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/brainbox"},
		{map[string]string{"HOME": "/h"}, "/h/.local/state/brainbox"},
		{map[string]string{"BRAINBOX_DATA_DIR": "x", "XDG_STATE_HOME": ".", "HOME": "/h"}, "/h/.local/state/brainbox"},
		{nil, ""},
	} {
		if got := DataRoot(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("DataRoot(%v) = %q, want %q", c.env, got, c.want)
		}
	}
}

func TestAbsenceIsTheCallersPanic(t *testing.T) {
	tree := vector{files: "loop->loop"}.tree(t, dirchain.Options{})
	before := openFiles(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		j, _, err := Compile(Seat{}, Options{Env: tree, OnAbsent: func(Absence) { panic("caller") }})
		if err != nil {
			t.Fatal(err)
		}
		_, _, _ = j.Check(t.Context(), writes("x", "loop"))
	}()
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors are open, want %d", after, before)
	}
}
