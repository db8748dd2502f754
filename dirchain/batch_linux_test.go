package dirchain

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// one is an entry that makes a file with its path as its content.
func one(path string) BatchEntry {
	return BatchEntry{Path: path, WriteRequest: WriteRequest{Content: text(path), Parents: true}}
}

func replace(path, content string) BatchEntry {
	return BatchEntry{Path: path, WriteRequest: WriteRequest{Mode: Replace, Content: text(content)}}
}

type batchCase struct {
	entries []BatchEntry
	err     error
	at      int // the entry that is told; -1: none
	want    snapshot
}

func batchCases() map[string]batchCase {
	other := Sum([]byte("other"))
	stale := replace("a/f", "x")
	stale.Base = &other
	many := make([]BatchEntry, 0, MaxBatch+1)
	for i := range MaxBatch + 1 {
		many = append(many, one(fmt.Sprint("new/", i)))
	}
	linked := replace("a/one", "x")
	linked.ReplaceLinked = true
	linkedToo := replace("a/two", "x")
	linkedToo.ReplaceLinked = true
	tired := one("new/f")
	tired.Content = io.MultiReader(text("x"), failing{})
	edit := BatchEntry{Path: "a/f", Edit: &EditRequest{Old: []byte("/"), New: []byte("-")}}
	noEdit := BatchEntry{Path: "b", Edit: &EditRequest{Old: []byte("x")}}
	two := snapshot{"new": "/", "new/f": "new/f", "new/a": "/", "new/a/g": "new/a/g"}
	mixed := snapshot{"b": "x", "a/f": "a-f", "z": "z"}
	return map[string]batchCase{
		"none":                              {nil, ErrBatch, -1, nil},
		"too many":                          {many, ErrBatch, -1, nil},
		"one path twice":                    {[]BatchEntry{one("new"), one("z"), one("new")}, ErrBatch, -1, nil},
		"a file and what would be in it":    {[]BatchEntry{one("new"), one("new/f")}, ErrBatch, -1, nil},
		"what is in it, and the file":       {[]BatchEntry{one("new/f"), one("new")}, ErrBatch, -1, nil},
		"two names of one file":             {[]BatchEntry{one("new/f"), linked, linkedToo}, ErrBatch, 2, nil},
		"the last exists":                   {[]BatchEntry{one("new/a/f"), one("new/b"), one("a/f")}, fs.ErrExist, 2, nil},
		"the second is missing":             {[]BatchEntry{one("new/f"), replace("none", "x"), one("z")}, fs.ErrNotExist, 1, nil},
		"the second is stale":               {[]BatchEntry{one("new/f"), stale}, ErrStale, 1, nil},
		"the second is protected":           {[]BatchEntry{one("new/f"), one("keep/f")}, ErrProtected, 1, nil},
		"the second has a bad path":         {[]BatchEntry{one("new/f"), one("../f")}, ErrPath, 1, nil},
		"the second is a link":              {[]BatchEntry{one("new/f"), replace("l", "x")}, ErrLink, 1, nil},
		"the content of the first breaks":   {[]BatchEntry{tired, one("new/g")}, errTired, 0, nil},
		"an edit without its text":          {[]BatchEntry{one("new/f"), noEdit}, ErrMatch, 1, nil},
		"one":                               {[]BatchEntry{one("new/f")}, nil, -1, snapshot{"new": "/", "new/f": "new/f"}},
		"as many as there may be":           {many[:MaxBatch], nil, -1, nil},
		"new ones, in one directory":        {[]BatchEntry{one("new/f"), one("new/a/g")}, nil, -1, two},
		"an old one, an edit and a new one": {[]BatchEntry{replace("b", "x"), edit, one("z")}, nil, -1, mixed},
	}
}

func TestBatch(t *testing.T) {
	for name := range batchCases() {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				c := batchCases()[name] // its readers are read once
				dir := t.TempDir()
				plant(t, dir, "a/f a/one b keep/ l->b")
				if err := os.Link(dir+"/a/one", dir+"/a/two"); err != nil {
					t.Fatal(err)
				}
				noLeak(t, dir)
				opts.Protect = []string{"keep"}
				r := open(t, dir, opts)
				want := snap(t, dir)
				got, err := r.Batch(t.Context(), c.entries)
				if !errors.Is(err, c.err) || len(got) != len(c.entries) {
					t.Errorf("%+v, %v, want %v", got, err, c.err)
				}
				for i, res := range got {
					if res.Applied != (c.err == nil) || (res.Err != nil) != (i == c.at) {
						t.Errorf("entry %d: %+v", i, res)
					}
				}
				for path, what := range c.want {
					want[path] = what
				}
				if c.err == nil && len(c.entries) == MaxBatch {
					want = want.with("new")
					for _, e := range c.entries {
						want[e.Path] = e.Path
					}
				}
				if diff := cmp.Diff(want, snap(t, dir)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

var errTired = errors.New("no more")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errTired }

// TestBatchWhoseCallsFail: whichever call fails, what is told to be applied is, and
// nothing else is; and nothing is left.
func TestBatchWhoseCallsFail(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		partly := 0
		for n := 1; ; n++ {
			dir := t.TempDir()
			plant(t, dir, "a/f b")
			r, err := OpenRoot(dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			at := &atCall{n: n, do: func() error { return unix.EIO }}
			r.hook = at.hook
			got, err := r.Batch(t.Context(), []BatchEntry{one("new/f"), replace("a/f", "x"), one("new/g"), replace("b", "y")})
			want, applied := snapshot{"a": "/", "a/f": "a/f", "b": "b"}, 0
			for i, path := range []string{"new/f", "a/f", "new/g", "b"} {
				if got[i].Applied {
					applied++
					want[path] = []string{"new/f", "x", "new/g", "y"}[i]
				}
			}
			if got[0].Applied || got[2].Applied {
				want["new"] = "/"
			}
			after := snap(t, dir)
			maps.DeleteFunc(after, func(path, _ string) bool {
				tmp := path[strings.LastIndexByte(path, '/')+1:]
				return err != nil && strings.Contains(err.Error(), tmp) && strings.HasPrefix(tmp, ".brainbox-") // told
			})
			if diff := cmp.Diff(want, after); diff != "" {
				t.Errorf("at call %d: %+v, %v\n%s", n, got, err, diff)
			}
			if err == nil && applied != 4 || err != nil && !errors.Is(err, unix.EIO) {
				t.Errorf("at call %d: %d applied, %v", n, applied, err)
			}
			for i, res := range got {
				if res.Err != nil && !errors.Is(err, res.Err) {
					t.Errorf("at call %d: entry %d: %v, in all %v", n, i, res.Err, err)
				}
			}
			if applied > 0 && applied < 4 {
				partly++
			}
			if err = r.Close(); err != nil {
				t.Fatal(err)
			}
			if left := descriptors(t, dir); len(left) != 0 {
				t.Errorf("at call %d: descriptors left: %q", n, left)
			}
			if at.seen < n {
				break
			}
		}
		if partly == 0 {
			t.Error("no failure between two commits was met")
		}
	})
}

// TestBatchLooksAtAllBeforeTheFirst: a file that is written to after it was staged
// keeps the whole batch back.
func TestBatchLooksAtAllBeforeTheFirst(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "a b")
		r := open(t, dir, opts)
		base := Sum([]byte("b"))
		last := replace("b", "x")
		last.Base, last.Content = &base, onRead{text("x"), func() {
			if err := os.WriteFile(dir+"/b", []byte("more"), 0o644); err != nil {
				t.Error(err)
			}
		}}
		got, err := r.Batch(t.Context(), []BatchEntry{replace("a", "x"), last})
		if !errors.Is(err, ErrStale) || got[0].Applied || got[1].Applied || got[1].Err == nil {
			t.Errorf("%+v, %v", got, err)
		}
		if diff := cmp.Diff(snapshot{"a": "a", "b": "more"}, snap(t, dir)); diff != "" {
			t.Error(diff)
		}
	})
}

// onRead does something before its content is read.
type onRead struct {
	io.Reader
	do func()
}

func (o onRead) Read(b []byte) (int, error) { o.do(); return o.Reader.Read(b) }
