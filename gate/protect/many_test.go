package protect

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"brainbox/dirchain"
)

// TestManyTargets: a call takes no more descriptors than dirchain's largest batch, and is
// denied when it would; what it had is let go.
func TestManyTargets(t *testing.T) {
	deep := strings.Repeat("d/", 40)
	tree := vector{files: deep}.tree(t, dirchain.Options{})
	for _, c := range []struct {
		name, path string
		n          int
		want       Outcome
	}{
		{"control: few and deep", deep + "f", 20, Clear},
		{"control: many and flat", "f", MostAims, Clear},
		{"many and deep", deep + "f", 40, Unresolvable},
		{"control: hits by spelling", deep + ".envrc", 20, Hit},
		{"hits by spelling, many and deep", deep + ".envrc", 40, Unresolvable},
		{"more than are judged", "f", MostAims + 1, Unresolvable},
	} {
		before := openFiles(t)
		paths := make([]string, c.n)
		for i := range paths {
			paths[i] = c.path
		}
		g, mine, err := compiled(t, "", Options{Env: tree}, nil).Check(t.Context(), writes(paths...))
		if !mine || err != nil || g.Outcome != c.want {
			t.Errorf("%s: %+v, %v", c.name, g.Verdict, err)
		}
		if d, denied := g.Decide("x"); denied != (c.want != Clear) || c.want == Unresolvable && !strings.Contains(d.Message, "too many targets") {
			t.Errorf("%s: %+v", c.name, d)
		}
		if n := openFiles(t) - before; n > mostHeld || c.want == Unresolvable && n != 0 {
			t.Errorf("%s: %d descriptors are open", c.name, n)
		}
		g.Close()
		if after := openFiles(t); after != before {
			t.Errorf("%s: %d descriptors are left", c.name, after-before)
		}
	}
}

// TestLooksThatNeverReturn: a file system that hangs keeps some threads, not all.
func TestLooksThatNeverReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		env := &fake{resolve: func(context.Context) (Place, error) { <-hang; return Place{Path: "/x"}, nil }}
		j := compiled(t, "", Options{Env: env}, nil)
		for range mostLooks + 10 {
			if g, _, err := j.Check(t.Context(), writes("x")); err != nil || g.Outcome != Unresolvable || g.Cause != errWait.Error() {
				t.Fatalf("%+v, %v", g.Verdict, err)
			}
		}
		if _, err := j.Hold(t.Context(), "x", Where{Cwd: "/w"}, false); err == nil || env.asked.Load() != mostLooks {
			t.Errorf("asked %d times, %v", env.asked.Load(), err)
		}
		close(hang)
		synctest.Wait()
		if g, _, err := j.Check(t.Context(), writes("x")); err != nil || g.Outcome != Clear {
			t.Errorf("control: %+v, %v", g.Verdict, err)
		}
	})
}
