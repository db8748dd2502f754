package dirchain

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// vector is one attack on one operation, which is done in a process of its own.
type vector struct {
	name    string // its ids, and what is done
	op      op
	benign  func(t *testing.T, g ground)                   // what the operation needs
	hostile func(t *testing.T, g ground)                   // what an attacker has prepared
	inject  func(g ground, calls []string) []injection     // what he does meanwhile; calls is the control's trace
	opens   bool                                           // a directory elsewhere is opened, by the older walk
	want    []string                                       // the errors that may come of it; empty: none may
	after   func(t *testing.T, g ground, before, o string) // before and o: listings of the root
}

// last is the index, from 1, of the last call of a name before a point.
func last(calls []string, name, point string) int {
	end := slices.Index(calls, point)
	for i := end; i >= 0; i-- {
		if calls[i] == name {
			return i + 1
		}
	}
	return end + 1
}

func first(calls []string, name string) int { return slices.Index(calls, name) + 1 }

// temp is where the new file is made.
func temp(calls []string) int { return last(calls, "openat", "fill") }

// runVectors does each in both walks: first the control, which must succeed, then
// the attack on a ground of its own, with everything outside watched.
func runVectors(t *testing.T, vectors []vector) {
	t.Helper()
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) { v.run(t, opts) })
		})
	}
}

func (v vector) run(t *testing.T, opts Options) {
	t.Helper()
	control := newGround(t)
	if v.benign != nil {
		v.benign(t, control)
	}
	got := inChild(t, attack{Root: control.root, Opts: opts, Op: v.op})
	if got.Err != "" {
		t.Fatalf("control: %+v", got)
	}
	g := newGround(t)
	if v.benign != nil {
		v.benign(t, g)
	}
	if v.hostile != nil {
		v.hostile(t, g)
	}
	a := attack{Root: g.root, Opts: opts, Op: v.op}
	if v.inject != nil {
		a.Inject = v.inject(g, got.Calls)
	}
	before := listing(t, g.root)
	o := watch(t, g.out)
	got = inChild(t, a)
	if v.opens && opts.NoOpenat2 {
		o.opened(t)
	}
	o.untouched(t)
	if ok := slices.ContainsFunc(v.want, got.is); ok != (got.Err != "") || ok == (len(v.want) == 0) {
		t.Errorf("got %+v, want %q", got, v.want)
	}
	if got.Fired < len(a.Inject) || len(got.Leaked) > 0 || string(got.Data) == "secret" {
		t.Errorf("%d of %d injections: %+v", got.Fired, len(a.Inject), got)
	}
	after := listing(t, g.root)
	all := inside(t, g.root)
	for _, name := range temps(all) {
		if all[name] != "attacker" && all[name] != "L---------" { // theirs
			t.Errorf("%s is left, with %q", name, all[name])
		}
	}
	if v.after != nil {
		v.after(t, g, before, after)
	} else if v.inject == nil && v.want != nil && before != after {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
}

// listing is everything beneath a directory, with what files hold.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	for name, content := range inside(t, dir) {
		all = append(all, name+"="+content)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// has fails the test unless these lines are in a listing.
func has(lines ...string) func(t *testing.T, g ground, before, after string) {
	return func(t *testing.T, _ ground, _, after string) {
		t.Helper()
		all := strings.Split(after, "\n")
		for _, line := range lines {
			name, gone := strings.CutPrefix(line, "!")
			there := func(s string) bool { return s == name || gone && strings.HasPrefix(s, name+"=") }
			if slices.ContainsFunc(all, there) == gone {
				t.Errorf("want %s in\n%s", line, after)
			}
		}
	}
}

// at builds the injection of one interference at one place.
func (i injection) at(n int) []injection {
	i.N = n
	return []injection{i}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func hardlink(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Link(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
