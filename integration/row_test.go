package integration

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
)

// row is one line of the escape matrix.
type row struct {
	id      string // of the matrix, as "FS-01"
	name    string
	attempt string
	want    []string // the answers inside; nothing else will do, success least of all
	ns      []string // the same in isolation namespaces; nil: want, or that it is not there

	// The positive control. Zero: the same attempt outside answers "ok".
	control string // this attempt outside answers "ok" instead
	inside  string // this attempt inside answers "ok"
	differs bool   // outside the attempt is answered otherwise than with want

	root    bool // only root's control works
	user    bool // only an ordinary user is asked
	prepare func(t *testing.T, w *world)
	check   func(t *testing.T, w *world) // looks at the outside afterwards
}

// runRows runs rows with one confined start, and compares the outside.
// It returns both worlds for what a test still wants to look at.
func runRows(t *testing.T, rows []row, flags ...string) (real, control *world) {
	t.Helper()
	kernel(t)
	real, control = newWorld(t), newWorld(t)
	for _, r := range rows {
		for _, w := range []*world{real, control} {
			w.layout(t, r)
			if r.prepare != nil && !r.out() {
				r.prepare(t, w)
			}
		}
	}
	inside := real.box(t, flags...)
	outside := bare(t, control.dir("W"))
	if got := inside.ask(t, "status Seccomp"); got != "ok Seccomp=2" {
		t.Fatalf("the start: %q", got)
	}
	before := real.snapshot(t)
	for _, r := range rows {
		t.Run("esc/"+r.id+" "+r.name, func(t *testing.T) { r.run(t, real, control, inside, outside) })
	}
	if diff := cmp.Diff(before, real.snapshot(t)); diff != "" {
		t.Errorf("the outside changed (-before +after):\n%s", diff)
	}
	return real, control
}

// out says whether the row is for other users than this one.
func (r row) out() bool {
	return r.root && os.Geteuid() != 0 || r.user && os.Geteuid() == 0
}

// run makes the control and then the attempt.
func (r row) run(t *testing.T, real, control *world, inside, outside *side) {
	if r.root {
		needs.Root(t)
	}
	if r.user {
		needs.User(t)
	}
	r.controls(t, real, control, inside, outside)
	attempt := real.fill(r, r.attempt)
	got := inside.ask(t, attempt)
	want := r.wanted()
	gap, known := knownGaps[r.id+" "+r.name]
	switch {
	case known && !hit(got, want):
		t.Logf("known gap: %s: %q = %q, want one of %q", gap, attempt, got, want)
	case known:
		t.Errorf("the gap is closed, take it off the list: %q = %q", attempt, got)
	case !hit(got, want):
		t.Errorf("%q = %q, want one of %q", attempt, got, want)
	}
	if r.check != nil {
		r.check(t, real)
	}
}

// notThere are the answers about what isolation namespaces does not have inside at all, or
// has mounted read-only, or holds in its place.
var notThere = errnos("ENOENT", "ESRCH", "EROFS", "EXDEV", "EBUSY")

// hidden are the answers about a place that no grant names: that it is refused, or, in
// isolation namespaces, that it is not there.
func hidden(names ...string) []string {
	if inside() {
		names = append(names, "ENOENT")
	}
	return errnos(names...)
}

// wanted are the answers in the isolation of this run.
func (r row) wanted() []string {
	switch {
	case !inside():
		return r.want
	case r.ns != nil:
		return r.ns
	case strings.HasPrefix(r.want[0], "errno "):
		return slices.Concat(r.want, notThere)
	}
	return r.want
}

// controls runs the positive control: without it a refusal proves nothing.
func (r row) controls(t *testing.T, real, control *world, inside, outside *side) {
	t.Helper()
	if r.inside != "" {
		if got := inside.ask(t, real.fill(r, r.inside)); !hit(got, []string{"ok"}) {
			t.Errorf("control inside %q = %q, want ok", r.inside, got)
		}
		return
	}
	attempt := r.attempt
	if r.control != "" {
		attempt = r.control
	}
	attempt = control.fill(r, attempt)
	got := outside.ask(t, attempt)
	if r.differs && !hit(got, r.want) || !r.differs && hit(got, []string{"ok"}) {
		return
	}
	report := t.Skipf // gating: the same attempt has to work outside, internal/needs has no word for it
	if os.Getenv(needs.MustRun) != "" && !optional(r, got) {
		report = t.Fatalf
	}
	report("control outside %q = %q", attempt, got)
}

// optional says whether a control that does not work may be missing where everything
// must run: the kernel was built without the thing, the machine has it not, or only root
// may do it anyway (then root's run shows the row).
func optional(r row, got string) bool {
	return strings.Contains(r.name, "(if built)") || hit(got, errnos("ENOSYS", "ENOENT", "EOPNOTSUPP")) ||
		os.Geteuid() != 0 && hit(got, errnos("EPERM"))
}
