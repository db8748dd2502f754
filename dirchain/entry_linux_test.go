package dirchain

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEntryIsForItsCallbackAlone(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "a/f b/f")
		r := open(t, dir, opts)
		var kept []Entry
		var stats []Stat
		err := r.Walk(t.Context(), "", WalkLimits{}, func(e Entry) error {
			st, err := e.Stat()
			kept, stats = append(kept, e), append(stats, st)
			if e.Path == "b/f" { // its directory has the descriptor that a had
				for i, name := range []string{"a", "a/f", "b"} {
					_, serr := kept[i].Stat()
					if closed := errors.Is(serr, fs.ErrClosed); kept[i].Path != name || closed != (name == "a/f") {
						t.Errorf("%s inside b: %v", kept[i].Path, serr)
					}
				}
			}
			return err
		})
		if err != nil || len(kept) != 4 {
			t.Fatal(err, kept)
		}
		for i, e := range append(kept, Entry{}) {
			if _, err = e.Stat(); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("stat %q after the walk: %v", e.Path, err)
			}
			if err = e.Remove(stats[min(i, 3)]); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("remove %q after the walk: %v", e.Path, err)
			}
		}
		if got := tree(t, dir); got != "a/ a/f b/ b/f" {
			t.Errorf("tree: %s", got)
		}
	})
}

type entryCase struct {
	path    string
	protect []string
	before  func(*testing.T, string)
	err     error
	gone    bool
}

func entryCases() map[string]entryCase {
	other := func(t *testing.T, path string) { // another file gets the name
		t.Helper()
		if err := errors.Join(os.Rename(path, path+".gone"), os.WriteFile(path, []byte("other"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(_ *testing.T, path string) { _ = os.Rename(path, path+".gone") }
	directory := func(t *testing.T, path string) {
		t.Helper()
		if err := errors.Join(os.Rename(path, path+".gone"), os.Mkdir(path, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	away := func(t *testing.T, path string) { // the directory it is in is moved
		t.Helper()
		dir := path[:strings.LastIndexByte(path, '/')]
		if err := errors.Join(os.Rename(dir, dir+".gone"), os.Mkdir(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]entryCase{
		"another file is there":             {path: "a/f", before: other, err: ErrChanged},
		"a directory is there":              {path: "a/f", before: directory, err: ErrChanged},
		"nothing is there":                  {path: "a/f", before: gone, err: fs.ErrNotExist},
		"its directory is elsewhere":        {path: "a/f", before: away, err: ErrChanged},
		"a directory that is not empty":     {path: "a", err: syscall.ENOTEMPTY},
		"a protected place":                 {path: "a/f", protect: []string{"a/f"}, err: ErrProtected},
		"in a protected place":              {path: "a/f", protect: []string{"a"}, err: ErrProtected},
		"a directory with a protected one":  {path: "a", protect: []string{"a/no"}, err: ErrProtected},
		"a protected file by another name":  {path: "a/hard", protect: []string{"a/f"}, err: ErrProtected},
		"a file":                            {path: "a/f", gone: true},
		"bk/TT4 a link, not what it names":  {path: "a/l", gone: true},
		"bk/TT14 a FIFO without opening it": {path: "a/p", gone: true},
		"an empty directory":                {path: "a/d", gone: true},
	}
}

func TestEntryRemove(t *testing.T) {
	for name, c := range entryCases() {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir, outside := t.TempDir(), t.TempDir()
				plant(t, outside, "secret")
				plant(t, dir, "a/f a/p| a/d/ a/l->"+outside+"/secret")
				if err := os.Link(dir+"/a/f", dir+"/a/hard"); err != nil {
					t.Fatal(err)
				}
				noLeak(t, dir)
				opts.Protect = c.protect
				r := open(t, dir, opts)
				found, before := false, ""
				err := r.Walk(t.Context(), "", WalkLimits{}, func(e Entry) error {
					if e.Path != c.path {
						return nil
					}
					found = true
					st, err := e.Stat()
					if err != nil {
						t.Fatal(err)
					}
					if c.before != nil {
						c.before(t, dir+"/"+c.path)
					}
					before = tree(t, dir)
					if err = e.Remove(st); !errors.Is(err, c.err) || (err == nil) != c.gone {
						t.Errorf("remove: got %v, want %v", err, c.err)
					}
					return fs.SkipAll
				})
				if err != nil || !found {
					t.Fatal(err, found)
				}
				after := strings.Fields(tree(t, dir))
				want := strings.Fields(before)
				if c.gone {
					want = slices.DeleteFunc(want, func(s string) bool { return strings.TrimRight(s, "/@|") == c.path })
				}
				if diff := cmp.Diff(want, after); diff != "" {
					t.Errorf("tree:\n%s", diff)
				}
				if got := read(t, outside+"/secret"); got != "secret" {
					t.Errorf("outside: %q", got)
				}
			})
		})
	}
}
