package dirchain

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// effects are the operations that change something at one path; "old" exists.
func effects() map[string]func(context.Context, *Root, string) error {
	return map[string]func(context.Context, *Root, string) error{
		"mkdir": func(ctx context.Context, r *Root, path string) error {
			_, err := r.Mkdir(ctx, path, MkdirRequest{})
			return err
		},
		"mkdir with parents": func(ctx context.Context, r *Root, path string) error {
			_, err := r.Mkdir(ctx, path, MkdirRequest{Parents: true})
			return err
		},
		"remove": func(ctx context.Context, r *Root, path string) error {
			_, err := r.Remove(ctx, path, RemoveRequest{})
			return err
		},
		"remove tree": func(ctx context.Context, r *Root, path string) error {
			_, err := r.RemoveTree(ctx, path, RemoveTreeRequest{})
			return err
		},
		"rename": func(ctx context.Context, r *Root, path string) error {
			_, err := r.Rename(ctx, path, "new", RenameRequest{})
			return err
		},
		"rename to": func(ctx context.Context, r *Root, path string) error {
			_, err := r.Rename(ctx, "old", path, RenameRequest{})
			return err
		},
		"replace": func(ctx context.Context, r *Root, path string) error {
			_, err := r.Rename(ctx, "old", path, RenameRequest{Replace: true})
			return err
		},
		"batch": func(ctx context.Context, r *Root, path string) error {
			last := WriteRequest{Mode: CreateOrReplace, Parents: true}
			_, err := r.Batch(ctx, []BatchEntry{{Path: "first"}, {Path: path, WriteRequest: last}})
			return err
		},
	}
}

type refusal struct {
	path    string
	protect []string
	before  func(t *testing.T, r *Root, dir string)
	also    []error // may be answered too
	err     error
	only    string // the operations that it is for, by their beginnings; empty: all
}

func refusals() map[string]refusal {
	kind := because(ErrFilesystem, "for the test")
	return map[string]refusal{
		"bk/FB15 the empty path":         {path: "", err: ErrPath},
		"bk/FB15 the root":               {path: ".", err: ErrPath},
		"bk/FB15 above the root":         {path: "..", err: ErrPath},
		"bk/FB15 back above":             {path: "d/..", err: ErrPath},
		"absolute":                       {path: "/d", err: ErrPath},
		"esc/DC-18 a slash at the end":   {path: "d/", err: ErrPath},
		"two slashes":                    {path: "d//f", err: ErrPath},
		"esc/DC-18 a NUL":                {path: "a\x00b", err: ErrPath},
		"esc/DC-18 a newline":            {path: "a\nb", err: ErrPath},
		"esc/DC-18 no UTF-8":             {path: "a\xff", err: ErrPath},
		"esc/DC-18 256 bytes":            {path: strings.Repeat("a", 256), err: ErrPath},
		"esc/DC-18 4097 bytes":           {path: strings.Repeat("a/", 2048) + "a", err: ErrPath},
		"bk/FB5 bk/RR4 through a link":   {path: "out/secret", err: ErrNotDirectory, also: []error{ErrLink}},
		"bk/RR5 through a dangling link": {path: "gone/f", err: ErrNotDirectory, also: []error{ErrLink}},
		"through a file":                 {path: "old/f", err: ErrNotDirectory},
		"through a FIFO":                 {path: "p/f", err: ErrNotDirectory},
		"a protected place":              {path: "keep", protect: []string{"keep"}, err: ErrProtected},
		"a protected place that is not there": {
			path: "none", protect: []string{"none"}, err: ErrProtected,
		},
		"in a protected place": {path: "keep/in", protect: []string{"keep"}, err: ErrProtected},
		"in a protected place under another name": {
			path: "moved/in", protect: []string{"keep"}, err: ErrProtected, also: []error{ErrNotRegular},
			before: func(t *testing.T, _ *Root, dir string) {
				if err := os.Rename(dir+"/keep", dir+"/moved"); err != nil {
					t.Fatal(err)
				}
			},
		},
		"what holds a protected place": {path: "keep", protect: []string{"keep/in/f"}, err: ErrProtected, only: "rem ren"},
		"what would hold one":          {path: "none", protect: []string{"none/f"}, err: ErrProtected, only: "rename to,repl"},
		"another name of a protected file": {
			path: "hard", protect: []string{"keep/f"}, err: ErrProtected, only: "rem ren repl",
			before: func(t *testing.T, _ *Root, dir string) {
				if err := os.Link(dir+"/keep/f", dir+"/hard"); err != nil {
					t.Fatal(err)
				}
			},
		},
		"a file system that cannot tell": {
			path: "d/f", err: ErrFilesystem, before: func(_ *testing.T, r *Root, _ string) { r.kind = kind },
		},
		"esc/DC-19 a root that is elsewhere": {
			path: "d/f", err: ErrChanged,
			before: func(t *testing.T, _ *Root, dir string) {
				if err := errors.Join(os.Rename(dir, dir+".gone"), os.Mkdir(dir, 0o755)); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.Rename(dir+".gone", dir+"/gone") })
			},
		},
		"a closed root": {path: "d/f", err: fs.ErrClosed, before: func(_ *testing.T, r *Root, _ string) { _ = r.Close() }},
	}
}

// TestEffectsRefuse: every operation refuses every one of these, and nothing is
// another one afterwards.
func TestEffectsRefuse(t *testing.T) {
	for name, c := range refusals() {
		t.Run(name, func(t *testing.T) {
			for op, do := range effects() {
				if c.only != "" && !begins(op, c.only) {
					continue
				}
				t.Run(op, func(t *testing.T) {
					both(t, func(t *testing.T, opts Options) {
						dir, outside := t.TempDir()+"/root", t.TempDir()
						plant(t, outside, "secret")
						plant(t, dir, "d/f old p| keep/in/ keep/f gone->"+outside+"/none/none out->"+outside)
						noLeak(t, dir)
						opts.Protect = c.protect
						r := open(t, dir, opts)
						if c.before != nil {
							c.before(t, r, dir)
						}
						before := snap(t, dir)
						err := do(t.Context(), r, c.path)
						ok := errors.Is(err, c.err)
						for _, also := range c.also {
							ok = ok || errors.Is(err, also)
						}
						var e *Error
						if !ok || !errors.As(err, &e) {
							t.Errorf("got %v, want %v", err, c.err)
						}
						if diff := cmp.Diff(before, snap(t, dir)); diff != "" {
							t.Errorf("%v:\n%s", err, diff)
						}
						if got := tree(t, outside); got != "secret" {
							t.Errorf("outside: %s", got)
						}
					})
				})
			}
		})
	}
}

func begins(s, words string) bool {
	for _, w := range strings.FieldsFunc(words, func(r rune) bool { return r == ' ' || r == ',' }) {
		if strings.HasPrefix(s, w) {
			return true
		}
	}
	return false
}

// TestEffectsStopWithTheirContext: an operation whose context has ended does nothing.
func TestEffectsStopWithTheirContext(t *testing.T) {
	paths := map[string]string{"remove": "old", "remove tree": "d", "rename": "old", "replace": "d/f"}
	for op, do := range effects() {
		t.Run(op, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, "d/f old")
			r := open(t, dir, Options{})
			before := snap(t, dir)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			path := paths[op]
			if path == "" {
				path = "d/new"
			}
			if err := do(ctx, r, path); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, snap(t, dir)); diff != "" {
				t.Error(diff)
			}
			if err := do(t.Context(), r, path); err != nil {
				t.Errorf("without: %v", err)
			}
		})
	}
}

// TestNothingIsOpenedThatWaits is esc/DC-06, bk/TT14: the test ends, and no reader
// or writer of the FIFO was there.
func TestNothingIsOpenedThatWaits(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "p| q| d/p| f")
		base := Sum(nil)
		r := open(t, dir, opts)
		if _, err := r.Remove(t.Context(), "p", RemoveRequest{Base: &base}); !errors.Is(err, ErrNotRegular) {
			t.Errorf("with a base: %v", err)
		}
		if _, err := r.Rename(t.Context(), "f", "p", RenameRequest{Replace: true}); !errors.Is(err, ErrNotRegular) {
			t.Errorf("replaced: %v", err)
		}
		_, err1 := r.Remove(t.Context(), "p", RemoveRequest{})
		_, err2 := r.Rename(t.Context(), "q", "new", RenameRequest{})
		_, err3 := r.RemoveTree(t.Context(), "d", RemoveTreeRequest{})
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Error(err)
		}
		if got := tree(t, dir); got != "f new|" {
			t.Errorf("tree: %s", got)
		}
	})
}
