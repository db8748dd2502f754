package dirchain

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// suiteOperations does every operation once.
func suiteOperations(t *testing.T, dir string, opts Options) {
	plant(t, dir, field)
	plain := snap(t, dir)
	r := open(t, dir, opts)
	for _, op := range operations() {
		if done, err := op.do(t.Context(), r, nil); err != nil || !done {
			t.Errorf("%s: %v, %v", op.name, done, err)
		}
		if diff := cmp.Diff(op.want(plain), snap(t, dir)); diff != "" {
			t.Errorf("%s:\n%s", op.name, diff)
		}
		restore(t, dir, plain)
	}
	res, err := r.RemoveTree(t.Context(), "p", RemoveTreeRequest{})
	if err != nil || res.Files != 5 || res.Directories != 3 {
		t.Errorf("remove a tree: %+v, %v", res, err)
	}
	if got := tree(t, dir); got != "q/ q/x" {
		t.Errorf("tree: %s", got)
	}
}

// lowerCase is what is done with a file that is in the lower layer alone.
type lowerCase struct {
	do     func(ctx context.Context, r *Root) error
	err    error
	want   string
	clears bool // a directory with whiteouts is removed
}

func lowerCases() map[string]lowerCase {
	base := Sum([]byte("old"))
	return map[string]lowerCase{
		"remove a file": {func(ctx context.Context, r *Root) error {
			_, err := r.Remove(ctx, "a/b/f", RemoveRequest{Base: &base})
			return err
		}, nil, "a/ a/b/", false},
		"rename a file": {func(ctx context.Context, r *Root) error {
			_, err := r.Rename(ctx, "a/b/f", "a/g", RenameRequest{})
			return err
		}, nil, "a/ a/b/ a/g", false},
		"rename a directory": {func(ctx context.Context, r *Root) error {
			_, err := r.Rename(ctx, "a/b", "c", RenameRequest{})
			return err
		}, unix.EXDEV, "a/ a/b/ a/b/f", false},
		"remove a directory": {func(ctx context.Context, r *Root) error {
			_, err := r.Remove(ctx, "a/b/f", RemoveRequest{})
			if err == nil {
				_, err = r.Remove(ctx, "a/b", RemoveRequest{})
			}
			return err
		}, nil, "a/", true},
		"remove a tree": {func(ctx context.Context, r *Root) error {
			_, err := r.RemoveTree(ctx, "a", RemoveTreeRequest{})
			return err
		}, nil, "", true},
		"remove in a walk": {func(ctx context.Context, r *Root) error {
			return r.Walk(ctx, "a", WalkLimits{Post: true}, func(e Entry) error {
				if e.IsDir() && !e.Post {
					return nil
				}
				st, err := e.Stat()
				if err == nil {
					err = e.Remove(st)
				}
				return err
			})
		}, nil, "a/", true},
		"make a directory": {func(ctx context.Context, r *Root) error {
			_, err := r.Mkdir(ctx, "a/b/c/d", MkdirRequest{Parents: true})
			return err
		}, nil, "a/ a/b/ a/b/c/ a/b/c/d/ a/b/f", false},
	}
}

// TestOperationsOnALowerLayer: what is in the lower layer of an overlay alone is
// copied up by the operation itself, and is still what was judged. A directory there
// cannot be renamed without redirect_dir; it is removed all the same.
func TestOperationsOnALowerLayer(t *testing.T) {
	for name, script := range overlays() {
		t.Run(name, func(t *testing.T) {
			if !needs.IsChild(t) {
				needs.Overlay(t)
			}
			if !needs.InMounts(t) {
				return
			}
			// Without trusted or user attributes on the upper layer, as for an ordinary
			// user on tmpfs, no directory with whiteouts can be removed at all (EIO).
			clears := os.RemoveAll(mounted(t, script)+"/a") == nil
			if !clears {
				t.Log("directories of a lower layer cannot be removed here")
			}
			both(t, func(t *testing.T, opts Options) {
				for name, c := range lowerCases() {
					if c.clears && !clears {
						continue
					}
					t.Run(name, func(t *testing.T) {
						dir := mounted(t, script)
						if err := c.do(t.Context(), open(t, dir, opts)); !errors.Is(err, c.err) {
							t.Errorf("got %v, want %v", err, c.err)
						}
						if got := tree(t, dir); got != c.want {
							t.Errorf("tree: got %q, want %q", got, c.want)
						}
					})
				}
			})
		})
	}
}

// TestOperationsMeetMounts is esc/DC-09, bk/TT10, bk/FB23: what is mounted on is
// neither removed, moved, replaced nor entered; not mounted on it is.
func TestOperationsMeetMounts(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	both(t, func(t *testing.T, opts Options) {
		dir, outside := t.TempDir(), t.TempDir()
		plant(t, outside, "secret")
		plant(t, dir, "d/f f old e/g")
		r, ctx := open(t, dir, opts), t.Context()
		try := func(t *testing.T, want error) {
			t.Helper()
			for op, do := range effects() {
				for _, path := range []string{"d", "f", "d/f", "d/new"} {
					skip := path != "d/new" && (op == "mkdir" || op == "rename to") || // refused already for what is there
						path != "d" && op == "remove tree" || path == "d" && op == "batch"
					if err := do(ctx, r, path); !skip && !errors.Is(err, want) {
						t.Errorf("%s %q: %v, want %v", op, path, err, want)
					}
				}
			}
			if _, err := r.RemoveTree(ctx, ".", RemoveTreeRequest{}); !errors.Is(err, ErrPath) {
				t.Errorf("the root: %v", err)
			}
		}
		t.Run("refused", func(t *testing.T) {
			bind(t, outside, dir+"/d")
			bind(t, outside+"/secret", dir+"/f")
			bind(t, outside+"/secret", dir+"/e/g")
			before := snap(t, dir)
			try(t, ErrMount)
			if _, err := r.RemoveTree(ctx, "e", RemoveTreeRequest{}); !errors.Is(err, ErrMount) {
				t.Errorf("a tree with a file that is mounted on: %v", err)
			}
			if diff := cmp.Diff(before, snap(t, dir)); diff != "" {
				t.Error(diff)
			}
			got, err := walked(r, "", WalkLimits{}, func(e Entry) error {
				st, serr := e.Stat()
				if serr != nil || !e.IsDir() && e.Path != "e/g" {
					return serr
				}
				if err := e.Remove(st); e.Path != "e" && !errors.Is(err, ErrMount) {
					t.Errorf("remove %q in a walk: %v, want %v", e.Path, err, ErrMount)
				}
				return nil
			})
			if err != nil || got != "d/! e/ e/g f old" {
				t.Errorf("walk: %s, %v", got, err)
			}
		})
		if got := tree(t, outside); got != "secret" {
			t.Errorf("outside: %s", got)
		}
		for _, path := range []string{"d", "e"} {
			if _, err := r.RemoveTree(ctx, path, RemoveTreeRequest{}); err != nil {
				t.Errorf("%q when nothing is mounted: %v", path, err)
			}
		}
	})
}
