package dirchain

import (
	"slices"
	"testing"
)

// TestEveryCrash kills the process at every call of every effect: the target has
// the old bytes or the new ones, at most one temporary file is left, and it is in
// nobody's way.
func TestEveryCrash(t *testing.T) {
	inMemory(t)
	for name, p := range scenarios {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) { everyCrash(t, attack{Opts: opts, Op: p}) })
		})
	}
}

func everyCrash(t *testing.T, a attack) {
	t.Helper()
	g := newGround(t)
	calls := dryRun(t, g.another(t, 0), a)
	step := 1
	if testing.Short() {
		step = 7
	}
	seen := map[bool]bool{}
	for at := 1; at <= len(calls); at += step {
		g := g.another(t, at)
		b := a
		b.Root, b.Inject = g.root, append([]injection{{N: at, Do: "kill"}}, a.Inject...)
		if got := inChild(t, b); got.Err != "killed" {
			t.Fatalf("at %d: %+v", at, got)
		}
		seen[crashed(t, g, a, calls[:at])] = true
	}
	if !testing.Short() && len(seen) != 2 {
		t.Errorf("before and after were not both seen: %v", seen)
	}
}

// crashed judges what is left, and tells whether the effect is there.
func crashed(t *testing.T, g ground, a attack, calls []string) bool {
	t.Helper()
	all := inside(t, g.root)
	left := temps(all)
	now, there := all[a.Op.Path]
	done := now == a.Op.after()
	if !done && there != a.Op.existing() || there && !done && now != "old" || len(left) > 1 {
		t.Errorf("killed at %v: %v", calls, all)
	}
	again := a
	again.Root, again.Inject = g.root, nil
	if done { // what is to be done is done again on top of it
		again.Op = op{Path: a.Op.Path, Mode: Replace, Content: "new", Base: a.Op.after()}
	}
	got := perform(again)
	after := inside(t, g.root)
	if got.Err != "" || after[a.Op.Path] != again.Op.after() || !slices.Equal(temps(after), left) {
		t.Errorf("killed at %v, the next write: %+v, %v", calls, got, after)
	}
	return done
}
