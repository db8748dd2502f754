package protect

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"brainbox/dirchain"
)

// written does the effect of a judged write, as a host does.
func written(t *testing.T, root *dirchain.Root, h *Held) error {
	t.Helper()
	if h.Target() == nil {
		t.Fatal("nothing is held")
	}
	_, err := root.Write(t.Context(), h.Rel(), dirchain.WriteRequest{
		Mode: dirchain.CreateOrReplace, Content: strings.NewReader("judged"), Parents: true, Held: h.Target(),
	})
	return err
}

// TestJudgedIsWritten: the file that was judged is the file that is written, or none is.
func TestJudgedIsWritten(t *testing.T) {
	for _, c := range []struct {
		name, files, path string
		change            func(p string) error
		at                string // where the text is then; empty: nowhere
	}{
		{"control: a file", "a/ a/f", "a/f", nil, "a/f"},
		{"control: a new file", "a/", "a/n", nil, "a/n"},
		{"control: new directories", "a/", "a/n/m/f", nil, "a/n/m/f"},
		{"control: through a link", "a/ l->a", "l/n/f", nil, "a/n/f"},
		{"control: a link to a file", "a/ a/f l->a/f", "l", nil, "a/f"},
		{"control: a dangling link", "a/ l->a/f", "l", nil, "a/f"},
		{"the link leads elsewhere by now", "a/ b/ l->a", "l/f", func(p string) error {
			return errors.Join(os.Remove(p+"/l"), os.Symlink("b", p+"/l"))
		}, "a/f"},
		{"the directory is another one", "a/ b/", "a/f", func(p string) error {
			return errors.Join(os.Rename(p+"/a", p+"/away"), os.Rename(p+"/b", p+"/a"))
		}, ""},
		{"the directory is a link", "a/ .git/", "a/f", func(p string) error {
			return errors.Join(os.Rename(p+"/a", p+"/away"), os.Symlink(".git", p+"/a"))
		}, ""},
		{"a directory that was missing is a link", "a/ .git/", "a/n/f", func(p string) error { return os.Symlink("../.git", p+"/a/n") }, ""},
		{"a directory that was missing is there", "a/", "a/n/f", func(p string) error { return os.Mkdir(p+"/a/n", 0o755) }, ""},
		{"the file is a link", "a/ a/f .git/", "a/f", func(p string) error {
			return errors.Join(os.Remove(p+"/a/f"), os.Symlink("../.git/f", p+"/a/f"))
		}, ""},
		{"the new file is a link", "a/ .git/", "a/f", func(p string) error { return os.Symlink("../.git/f", p+"/a/f") }, ""},
		{"the file is another one", "a/ a/f a/g", "a/f", func(p string) error { return os.Rename(p+"/a/g", p+"/a/f") }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := vector{files: c.files}.tree(t, dirchain.Options{SkipSync: true})
			p := tree.Root.Path() + "/w/p"
			before := openFiles(t)
			g, _, err := compiled(t, "", Options{Env: tree}, nil).Check(t.Context(), writes(c.path))
			if err != nil || told(g.Verdict) != "clear" {
				t.Fatal(told(g.Verdict), err)
			}
			if c.change != nil {
				if err = c.change(p); err != nil {
					t.Fatal(err)
				}
			}
			if err = written(t, tree.Root, g.Held); (err == nil) != (c.at != "") {
				t.Errorf("write: %v, want it at %q", err, c.at)
			}
			if got := texts(t, p); got != c.at {
				t.Errorf("the text is at %q, want %q", got, c.at)
			}
			g.Close()
			g.Close() // once is enough
			if after := openFiles(t); after != before {
				t.Errorf("%d descriptors are open, want %d", after, before)
			}
		})
	}
}

// texts finds the files that hold what was written.
func texts(t *testing.T, dir string) string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(dir + "/" + path)
		if string(text) == "judged" {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

// A hit that is approved is held for its own place.
func TestHold(t *testing.T) {
	tree := vector{files: ".git/ .git/config l->.git plain->l"}.tree(t, dirchain.Options{SkipSync: true})
	j := compiled(t, "", Options{Env: tree}, nil)
	before := openFiles(t)
	for _, c := range []struct {
		path, want string
		entry      bool
	}{
		{".git/config", "/w/p/.git/config", false},
		{"plain/config", "/w/p/.git/config", false},
		{"plain", "/w/p/.git", false},
		{"plain", "/w/p/plain", true},
		{"plain/n/m", "/w/p/.git/n/m", true},
		{"/w/p/plain", "/w/p/plain", true},
	} {
		h, err := j.Hold(t.Context(), c.path, Where{Cwd: "/w/p"}, c.entry)
		if err != nil || h.Path() != c.want || "/"+h.Rel() != c.want {
			t.Errorf("Hold(%q): %q, %v, want %q", c.path, h.Path(), err, c.want)
		}
		h.Close()
	}
	h, err := j.Hold(t.Context(), "plain/config", Where{Cwd: "/w/p"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err = written(t, tree.Root, h); err != nil || texts(t, tree.Root.Path()) != "w/p/.git/config" {
		t.Errorf("write: %v, at %s", err, texts(t, tree.Root.Path()))
	}
	h.Close()
	h, err = j.Hold(t.Context(), "plain", Where{Cwd: "/w/p"}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = tree.Root.Remove(t.Context(), h.Rel(), dirchain.RemoveRequest{Held: h.Target()}); err != nil {
		t.Errorf("remove: %v", err)
	}
	h.Close()
	if _, err = os.Lstat(tree.Root.Path() + "/w/p/.git/config"); err != nil {
		t.Errorf("what the removed link led to: %v", err)
	}
	for _, path := range []string{"/", `a\b`, "x\x7f"} { // places that no mediated write has
		if h, err = j.Hold(t.Context(), path, Where{Cwd: "/w/p"}, false); err == nil {
			t.Errorf("Hold(%q) = %v", path, h.Path())
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors are open, want %d", after, before)
	}
	var none *Held
	none.Close()
	if none.Path() != "" || none.Rel() != "" || none.Target() != nil {
		t.Error("a place that is not held has a path")
	}
}

// Many calls at once, some of which end early: every place is let go.
func TestConcurrent(t *testing.T) {
	tree := vector{files: ".git/ a/ l->.git"}.tree(t, dirchain.Options{})
	before := openFiles(t)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			j, _, err := Compile(Seat{}, Options{Env: tree, OnAbsent: func(Absence) {}})
			if err != nil {
				t.Error(err)
			}
			if i%3 == 0 {
				go cancel()
			}
			g, _, err := j.Check(ctx, writes("a/x", "l/x", ".git/x", "n/m/x"))
			if err != nil || g.Outcome == Clear {
				t.Errorf("%s, %v", told(g.Verdict), err)
			}
			go g.Close()
			g.Close()
			cancel()
		})
	}
	all.Wait()
	for end := time.Now().Add(20 * time.Second); openFilesNow() != before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) { // the last late look has ended by then
			t.Fatalf("%d descriptors are open, want %d", openFilesNow(), before)
		}
	}
}
