package dirchain

import (
	"errors"
	"os"
	"testing"
)

// TestProtectedPlaceThatCame: a protected place that was not there when the root
// was opened is known under another name as soon as one operation has seen it.
func TestProtectedPlaceThatCame(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		opts.Protect = []string{"sub/.git"}
		r, ctx := open(t, dir, opts), t.Context()
		plant(t, dir, "sub/.git/hooks/ sub/f g")
		if err := wrote(ctx, r, "g", Replace, "any operation", nil); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+"/sub", dir+"/x"); err != nil {
			t.Fatal(err)
		}
		_, making := r.Mkdir(ctx, "x/.git/made", MkdirRequest{})
		_, moving := r.Rename(ctx, "x/.git", "y", RenameRequest{})
		_, felling := r.RemoveTree(ctx, "x", RemoveTreeRequest{})
		for what, err := range map[string]error{
			"write": wrote(ctx, r, "x/.git/hooks/pre-commit", Create, "evil", nil),
			"mkdir": making, "rename": moving, "remove tree": felling,
		} {
			if !errors.Is(err, ErrProtected) {
				t.Errorf("%s under another name: %v, want %v", what, err, ErrProtected)
			}
		}
		if err := wrote(ctx, r, "x/f", Replace, "control", nil); err != nil {
			t.Errorf("beside it: %v", err)
		}
		if got := tree(t, dir); got != "g x/ x/.git/ x/.git/hooks/ x/f" {
			t.Errorf("left: %q", got)
		}
	})
}

// TestProtectedPlaceThatChanges: of what comes to a protected name one after the
// other, what was there at the start and what was seen last are known, and no more
// descriptors are held for it.
func TestProtectedPlaceThatChanges(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "p/first g")
		opts.Protect, opts.SkipSync = []string{"p"}, true
		r, ctx := open(t, dir, opts), t.Context()
		before := 0
		for i := range 20 {
			if err := os.Rename(dir+"/p", dir+"/old"+string(rune('a'+i))); err != nil {
				t.Fatal(err)
			}
			plant(t, dir, "p/")
			if err := wrote(ctx, r, "g", Replace, "x", nil); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				before = stillOpen(t)
			}
		}
		if got := stillOpen(t); got != before {
			t.Errorf("%d descriptors are open, want %d", got, before)
		}
		if err := os.Rename(dir+"/p", dir+"/last"); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"olda/f", "last/f"} {
			if err := wrote(ctx, r, path, Create, "x", nil); !errors.Is(err, ErrProtected) {
				t.Errorf("write %q: %v, want %v", path, err, ErrProtected)
			}
		}
		if err := os.Rename(dir+"/olda", dir+"/p"); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]error{"p/f": ErrProtected, "g": nil, "last/f": nil} {
			if err := wrote(ctx, r, path, CreateOrReplace, "x", nil); !errors.Is(err, want) {
				t.Errorf("write %q once the first is back: %v, want %v", path, err, want)
			}
		}
	})
}
