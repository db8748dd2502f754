package integration

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
)

// TestOpenListIsDeclared compares the open list with what brainbox check says: a gap
// is never silent, in either direction.
func TestOpenListIsDeclared(t *testing.T) {
	needs.LandlockABI(t, abi())
	needs.Seccomp(t)
	w := newWorld(t)
	repository(t, w)
	declared := check(t, w.dir("W"))
	want := "open"
	listed := []string{"tree"} // its row is TestKilledBrainbox
	if inside() {
		want, listed = "enforced", nil
	}
	for _, r := range openRows() {
		if !inside() {
			listed = append(listed, r.clause)
		}
		if got := declared.state(r.clause); got != want {
			t.Errorf("%v: the clause is %q in brainbox check, want %s", r, got, want)
		}
	}
	for _, c := range declared.Clauses {
		if c.State == "open" && !slices.Contains(listed, c.Clause) {
			t.Errorf("clause %q is open and no row of the matrix shows it", c.Clause)
		}
		if c.State == "refused" {
			t.Errorf("clause %q is refused by the default policy", c.Clause)
		}
	}
}

// TestOpenListIsOpen makes the attempts of the open list: each has to succeed, so
// that the list does not outlive its reason. In isolation namespaces each is held.
func TestOpenListIsOpen(t *testing.T) {
	needs.LandlockABI(t, abi())
	needs.Seccomp(t)
	w := newWorld(t)
	must(t, os.WriteFile(filepath.Join(w.dir("O"), "open"), []byte(canaryText), 0o644))
	must(t, os.Symlink("open", filepath.Join(w.dir("O"), "open-link")))
	rows := openRows()
	for _, r := range rows {
		w.layout(t, r.row)
		if r.prepare != nil {
			r.prepare(t, w)
		}
	}
	side := w.box(t)
	before := w.canary.state(t)
	for _, r := range rows {
		t.Run(r.String(), func(t *testing.T) {
			attempt, want := w.fill(r.row, r.attempt), []string{"ok"}
			if r.user && os.Geteuid() == 0 {
				want = errnos("EPERM")
			}
			if inside() {
				r.held(t, w, side)
				return
			}
			if got := side.ask(t, attempt); !hit(got, want) {
				t.Errorf("%q = %q: no longer open", attempt, got)
			}
			if r.check != nil {
				r.check(t, w)
			}
		})
	}
	if after := w.canary.state(t); (after == before) != (os.Geteuid() == 0 || inside()) {
		t.Errorf("esc/PR-12: the canary was %q and is %q", before, after)
	}
}

// held makes the attempt in isolation namespaces, and compares the outside.
func (r openRow) held(t *testing.T, w *world, side *side) {
	t.Helper()
	before := tree(t, w.dir("O"), filepath.Join(w.dir("W"), ".git"))
	want := append(errnos("EACCES", "EPERM", "ENOSYS"), notThere...) // fchmodat2 came with Linux 6.6
	if r.ns != nil {
		want = r.ns
	}
	attempt := w.fill(r.row, r.attempt)
	if got := side.ask(t, attempt); !hit(got, want) {
		t.Errorf("%q = %q, want one of %q", attempt, got, want)
	}
	if diff := cmp.Diff(before, tree(t, w.dir("O"), filepath.Join(w.dir("W"), ".git"))); diff != "" {
		t.Errorf("the outside changed (-before +after):\n%s", diff)
	}
	if path := w.vars["SHM"]; path != "" {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%q is in the host's shared memory", path)
		}
	}
}
