package dirchain

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// operation is one that is done wholly or not at all.
type operation struct {
	name string
	leaf string // the entry that goes or comes, in the directory p
	do   func(ctx context.Context, r *Root, held []*Target) (done bool, err error)
	want func(before snapshot) snapshot
	// hold are the paths that may be judged before, and then be handed to do.
	hold []string
}

const field = "p/d/ p/f p/g p/l->f p/p| p/t/f q/x"

func operations() []operation {
	base := Sum([]byte("p/f"))
	mkdir := func(name, path, made string, req MkdirRequest) operation {
		do := func(ctx context.Context, r *Root, held []*Target) (bool, error) {
			if req.Held = nil; len(held) > 0 {
				req.Held = held[0]
			}
			res, err := r.Mkdir(ctx, path, req)
			return res.Created, err
		}
		want := func(s snapshot) snapshot { return s.with(strings.Fields(made)...) }
		return operation{name, strings.Fields(made)[0], do, want, []string{path}}
	}
	remove := func(name, path string, req RemoveRequest) operation {
		do := func(ctx context.Context, r *Root, held []*Target) (bool, error) {
			if req.Held = nil; len(held) > 0 {
				req.Held = held[0]
			}
			res, err := r.Remove(ctx, path, req)
			return res.Removed, err
		}
		return operation{name, path, do, func(s snapshot) snapshot { return s.without(path) }, []string{path}}
	}
	rename := func(name, from, to string, replace bool) operation {
		do := func(ctx context.Context, r *Root, held []*Target) (bool, error) {
			req := RenameRequest{Replace: replace}
			if len(held) > 0 {
				req.HeldFrom, req.HeldTo = held[0], held[1]
			}
			res, err := r.Rename(ctx, from, to, req)
			return res.Renamed, err
		}
		return operation{name, from, do, func(s snapshot) snapshot { return s.moved(from, to) }, []string{from, to}}
	}
	return []operation{
		mkdir("make a directory", "p/new", "p/new", MkdirRequest{}),
		mkdir("make parents", "p/a/b/c", "p/a p/a/b p/a/b/c", MkdirRequest{Parents: true}),
		remove("remove a file", "p/f", RemoveRequest{}),
		remove("remove a file with a base", "p/f", RemoveRequest{Base: &base}),
		remove("remove a link", "p/l", RemoveRequest{}),
		remove("remove a FIFO", "p/p", RemoveRequest{}),
		remove("remove a directory", "p/d", RemoveRequest{}),
		rename("rename a file", "p/f", "q/new", false),
		rename("rename a link", "p/l", "q/new", false),
		rename("rename a FIFO", "p/p", "q/new", false),
		rename("rename a tree", "p/t", "q/new", false),
		rename("rename beside", "p/f", "p/new", false),
		rename("rename to above", "p/f", "new", false),
		rename("replace a file", "p/f", "q/x", true),
		rename("replace a file beside", "p/f", "p/g", true),
		rename("replace a file by a link", "p/l", "q/x", true),
	}
}

// atCall does something before the nth call or point of an operation, until that
// one is the last. It says how many were met.
type atCall struct {
	n, seen int
	do      func() error
}

func (a *atCall) hook(string) error {
	if a.seen++; a.seen == a.n {
		return a.do()
	}
	return nil
}

// each runs every operation once for each of its calls, by both walks.
func each(t *testing.T, ops []operation, sync bool, test func(*testing.T, operation, string, *Root, *atCall)) {
	t.Helper()
	step := 1
	if testing.Short() {
		step = 5
	}
	for _, op := range ops {
		t.Run(op.name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				opts.SkipSync = !sync
				dir := t.TempDir()
				plant(t, dir, field)
				plain := snap(t, dir)
				for n, last := 1, false; !last && !t.Failed(); n += step {
					r, err := OpenRoot(dir, opts)
					if err != nil {
						t.Fatal(err)
					}
					at := &atCall{n: n}
					r.hook = at.hook
					test(t, op, dir, r, at)
					last = at.seen < n
					if err = r.Close(); err != nil {
						t.Fatal(err)
					}
					if left := descriptors(t, dir); len(left) != 0 {
						t.Errorf("at call %d: descriptors left: %q", n, left)
					}
					restore(t, dir, plain)
				}
			})
		})
	}
}

// restore brings the field back.
func restore(t *testing.T, dir string, plain snapshot) {
	t.Helper()
	for path, what := range snap(t, dir) {
		if plain[path] != what {
			if err := os.RemoveAll(dir + "/" + path); err != nil {
				t.Fatal(err)
			}
		}
	}
	for one := range strings.FieldsSeq(field) {
		path, _, _ := strings.Cut(strings.TrimRight(one, "/|"), "->")
		if _, err := os.Lstat(dir + "/" + path); err != nil {
			plant(t, dir, one)
		}
	}
	if diff := cmp.Diff(plain, snap(t, dir)); diff != "" {
		t.Fatal(diff)
	}
}
