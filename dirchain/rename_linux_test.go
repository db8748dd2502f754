package dirchain

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type renameCase struct {
	from, to string
	replace  bool
	err      error
}

func renameCases() map[string]renameCase {
	return map[string]renameCase{
		"nothing there":                           {from: "none", to: "new", err: fs.ErrNotExist},
		"no parent of the new name":               {from: "f", to: "none/new", err: fs.ErrNotExist},
		"over a file":                             {from: "f", to: "g", err: fs.ErrExist},
		"over a directory":                        {from: "f", to: "e", err: fs.ErrExist},
		"over a link":                             {from: "f", to: "l", err: fs.ErrExist},
		"over itself":                             {from: "f", to: "f", err: fs.ErrExist},
		"replacing itself":                        {from: "f", to: "f", replace: true, err: ErrPath},
		"replacing an empty directory":            {from: "f", to: "e", replace: true, err: ErrNotRegular},
		"replacing a directory by another":        {from: "d", to: "e", replace: true, err: ErrNotRegular},
		"replacing a file by a directory":         {from: "d", to: "f", replace: true, err: ErrNotRegular},
		"replacing a link":                        {from: "f", to: "l", replace: true, err: ErrLink},
		"replacing a FIFO":                        {from: "f", to: "p", replace: true, err: ErrNotRegular},
		"esc/DC-05 replacing a file of two names": {from: "f", to: "hard", replace: true, err: ErrLinked},
		"replacing one name by the other":         {from: "hard", to: "d/f", replace: true, err: ErrLinked},
		"esc/DC-13 a set-user-ID file":            {from: "suid", to: "new", err: ErrMode},
		"replacing a set-user-ID file":            {from: "f", to: "suid", replace: true, err: ErrMode},
		"a directory into itself":                 {from: "d", to: "d/new", err: ErrPath},
		"a directory deep into itself":            {from: "d", to: "d/sub/new", err: ErrPath},
		"to its own parent":                       {from: "d/sub", to: "d", err: fs.ErrExist},
		"replacing its own parent":                {from: "d/sub", to: "d", replace: true, err: ErrNotRegular},
		"to a place through a link":               {from: "f", to: "out/new", err: ErrNotDirectory},
		"a file":                                  {from: "f", to: "new"},
		"a file to elsewhere":                     {from: "f", to: "d/sub/new"},
		"a file replaces another":                 {from: "f", to: "g", replace: true},
		"a file may replace, and need not":        {from: "f", to: "new", replace: true},
		"a file replaces another elsewhere":       {from: "d/sub/x", to: "g", replace: true},
		"a link, not what it names":               {from: "l", to: "d/new"},
		"a link to a directory, not that":         {from: "out", to: "d/new"},
		"a link replaces a file":                  {from: "l", to: "g", replace: true},
		"a FIFO":                                  {from: "p", to: "d/new"},
		"one name of a file":                      {from: "hard", to: "new"},
		"a tree":                                  {from: "d", to: "e/new"},
		"a tree that lies in another":             {from: "d/sub", to: "new"},
	}
}

func TestRename(t *testing.T) {
	for name, c := range renameCases() {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir, outside := t.TempDir(), t.TempDir()
				plant(t, outside, "secret")
				plant(t, dir, "f g suid e/ d/f d/sub/x p| l->"+outside+"/secret out->"+outside)
				if err := errors.Join(os.Link(dir+"/d/f", dir+"/hard"), os.Chmod(dir+"/suid", 0o755|fs.ModeSetuid)); err != nil {
					t.Fatal(err)
				}
				noLeak(t, dir)
				r := open(t, dir, opts)
				before := snap(t, dir)
				_, replaced := before[c.to]
				got, err := r.Rename(t.Context(), c.from, c.to, RenameRequest{Replace: c.replace})
				if !errors.Is(err, c.err) || got.Renamed != (c.err == nil) {
					t.Errorf("%+v, %v, want %v", got, err, c.err)
				}
				want := before
				if c.err == nil {
					want = before.moved(c.from, c.to)
					if st, err := r.statAt(r.fd, c.to); err != nil || st.ID != got.Stat.ID || replaced != (got.Replaced != nil) {
						t.Errorf("%+v is not %+v, %v", got, st, err)
					}
				}
				if diff := cmp.Diff(want, snap(t, dir)); diff != "" {
					t.Error(diff)
				}
				if got := tree(t, outside); got != "secret" {
					t.Errorf("outside: %s", got)
				}
			})
		})
	}
}

// TestRenameOfWhatWasJudged: each end is the one that was judged.
func TestRenameOfWhatWasJudged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		err    error
	}{
		"another entry":             {func(dir string) error { return os.Rename(dir+"/a/other", dir+"/a/f") }, ErrChanged},
		"another directory of it":   {func(dir string) error { return exchange(dir, "a") }, ErrChanged},
		"another target":            {func(dir string) error { return os.Rename(dir+"/b/other", dir+"/b/g") }, ErrChanged},
		"a target that is no more":  {func(dir string) error { return os.Remove(dir + "/b/g") }, ErrChanged},
		"another directory of that": {func(dir string) error { return exchange(dir, "b") }, ErrChanged},
		"nothing else":              {func(string) error { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir := t.TempDir()
				plant(t, dir, "a/f a/other b/g b/other")
				r := open(t, dir, opts)
				held := holdAll(t, r, []string{"a/f", "b/g"})
				defer letGo(held)
				if err := c.change(dir); err != nil {
					t.Fatal(err)
				}
				want := snap(t, dir)
				_, err := r.Rename(t.Context(), "a/f", "b/g", RenameRequest{Replace: true, HeldFrom: held[0], HeldTo: held[1]})
				if !errors.Is(err, c.err) {
					t.Errorf("got %v, want %v", err, c.err)
				}
				if err == nil {
					want = want.moved("a/f", "b/g")
				}
				if diff := cmp.Diff(want, snap(t, dir)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// exchange puts a copy in the place of a directory.
func exchange(dir, name string) error {
	return errors.Join(os.Rename(dir+"/"+name, dir+"/was"), os.CopyFS(dir+"/"+name, os.DirFS(dir+"/was")))
}

// TestRenameTakesTheTargetBack: the file that is to be replaced is exchanged, or gets
// another name, when it is too late to see it before.
func TestRenameTakesTheTargetBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		err    error
		want   func(snapshot) snapshot
	}{
		"another file": {
			func(dir string) error { return os.Rename(dir+"/q/other", dir+"/q/g") }, ErrChanged,
			func(s snapshot) snapshot { return s.moved("q/other", "q/g") },
		},
		"another name of it": {
			func(dir string) error { return os.Link(dir+"/q/g", dir+"/q/hard") }, ErrLinked,
			func(s snapshot) snapshot { s = maps.Clone(s); s["q/hard"] = s["q/g"]; return s },
		},
		"a directory": {
			func(dir string) error { return errors.Join(os.Remove(dir+"/q/g"), os.Mkdir(dir+"/q/g", 0o755)) }, ErrChanged,
			func(s snapshot) snapshot { return s.with("q/g") },
		},
		"nothing": {
			func(dir string) error { return os.Remove(dir + "/q/g") }, fs.ErrNotExist,
			func(s snapshot) snapshot { return s.without("q/g") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir := t.TempDir()
				plant(t, dir, "p/f q/g q/other")
				r := open(t, dir, opts)
				before := snap(t, dir)
				r.hook = func(call string) error {
					if call == "publish" {
						return c.change(dir)
					}
					return nil
				}
				got, err := r.Rename(t.Context(), "p/f", "q/g", RenameRequest{Replace: true})
				if !errors.Is(err, c.err) || got.Renamed {
					t.Errorf("%+v, %v, want %v", got, err, c.err)
				}
				if diff := cmp.Diff(c.want(before), snap(t, dir)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestRenameByMany: of those that give one name to their files exactly one does,
// and each file is somewhere.
func TestRenameByMany(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir, Options{SkipSync: true})
	for i := range 20 {
		sub := fmt.Sprint("d", i)
		plant(t, dir, strings.ReplaceAll("d/0 d/1 d/2 d/3 d/4 d/5 d/6 d/7 d/x/", "d/", sub+"/"))
		var done int
		var mu sync.Mutex
		var all sync.WaitGroup
		for k := range 8 {
			all.Go(func() {
				got, err := r.Rename(t.Context(), fmt.Sprint(sub, "/", k), sub+"/x/new", RenameRequest{})
				mu.Lock()
				defer mu.Unlock()
				if got.Renamed {
					done++
				} else if !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if done != 1 || len(snap(t, dir+"/"+sub)) != 9 {
			t.Errorf("%d have done it: %s", done, tree(t, dir+"/"+sub))
		}
	}
}
