package dirchain

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

type removeCase struct {
	path  string
	base  *Hash
	err   error
	names uint32
}

func removeCases() map[string]removeCase {
	same, other := Sum([]byte("f")), Sum([]byte("other"))
	return map[string]removeCase{
		"nothing there":                        {path: "none", err: fs.ErrNotExist},
		"no parent":                            {path: "none/f", err: fs.ErrNotExist},
		"a directory that is not empty":        {path: "d", err: unix.ENOTEMPTY},
		"another base":                         {path: "f", base: &other, err: ErrStale},
		"a base for a link":                    {path: "l", base: &same, err: ErrNotRegular},
		"a base for a directory":               {path: "e", base: &same, err: ErrNotRegular},
		"a file":                               {path: "f"},
		"a file with its base":                 {path: "f", base: &same},
		"bk/TT4 a link, not what it names":     {path: "l"},
		"a link to a directory, not that":      {path: "out"},
		"a FIFO":                               {path: "p"},
		"a socket":                             {path: "s"},
		"an empty directory":                   {path: "e"},
		"esc/DC-05 one name of a file":         {path: "hard", names: 1},
		"one name of a file with its own base": {path: "d/f", base: &same, names: 1},
	}
}

func TestRemove(t *testing.T) {
	for name, c := range removeCases() {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir, outside := t.TempDir(), t.TempDir()
				plant(t, outside, "secret")
				plant(t, dir, "f e/ d/ p| l->"+outside+"/secret out->"+outside)
				err := errors.Join(
					os.WriteFile(dir+"/d/f", []byte("f"), 0o644), os.Link(dir+"/d/f", dir+"/hard"),
					unix.Mknod(dir+"/s", unix.S_IFSOCK|0o600, 0),
				)
				if err != nil {
					t.Fatal(err)
				}
				noLeak(t, dir)
				r := open(t, dir, opts)
				before := snap(t, dir)
				renames := 0
				r.hook = func(call string) error {
					if call == "renameat2" {
						renames++
					}
					return nil
				}
				got, err := r.Remove(t.Context(), c.path, RemoveRequest{Base: c.base})
				if !errors.Is(err, c.err) || got.Removed != (c.err == nil) || got.Names != c.names {
					t.Errorf("%+v, %v, want %v", got, err, c.err)
				}
				want := before
				if c.err == nil {
					want = before.without(c.path)
				} else if renames != 0 {
					t.Errorf("it lost its name for a moment")
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

// TestRemoveOfWhatWasJudged: with a target that was judged, what has the name since
// is not removed.
func TestRemoveOfWhatWasJudged(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "a b")
		r := open(t, dir, opts)
		held := holdAll(t, r, []string{"a", "b"})
		defer letGo(held)
		if err := os.Rename(dir+"/b", dir+"/a"); err != nil {
			t.Fatal(err)
		}
		for i, path := range []string{"a", "b"} {
			_, err := r.Remove(t.Context(), path, RemoveRequest{Held: held[i]})
			if !errors.Is(err, ErrChanged) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if got := tree(t, dir); got != "a" {
			t.Errorf("tree: %s", got)
		}
	})
}

// TestRemoveWithABaseSeesAWriter: at whichever call somebody writes to the file, it
// is there with what was written, or it was removed before.
func TestRemoveWithABaseSeesAWriter(t *testing.T) {
	ops := operations()
	for i := range ops {
		if ops[i].name == "remove a file with a base" {
			ops = ops[i : i+1]
			break
		}
	}
	late := 0
	each(t, ops, false, func(t *testing.T, op operation, dir string, r *Root, at *atCall) {
		wrote, open := false, -1
		fd, err := unix.Open(dir+"/p/f", unix.O_WRONLY|unix.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		open = fd
		defer func() { _ = unix.Close(open) }()
		at.do = func() error {
			n, err := unix.Write(open, []byte("more"))
			wrote = n == 4 && err == nil
			return err
		}
		done, err := op.do(t.Context(), r, nil)
		got := snap(t, dir)["p/f"]
		switch {
		case wrote && !done && (!errors.Is(err, ErrStale) || got != "p/fmore"):
			t.Errorf("at call %d: %q, %v", at.n, got, err)
		case wrote && done:
			late++ // between the last look and unlinkat
		case !wrote && (!done || err != nil):
			t.Errorf("without a writer: %v, %v", done, err)
		}
	})
	if late > 2*4 {
		t.Errorf("%d writes were not seen", late)
	}
}

// TestRemoveTellsWhereItIs: the entry is set aside, is not the judged one, and
// cannot get its name back because there is a third one.
func TestRemoveTellsWhereItIs(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "f g h")
	r := open(t, dir, Options{})
	r.hook = func(call string) error {
		switch call {
		case "aside":
			return os.Rename(dir+"/g", dir+"/f")
		case "drop":
			return os.Rename(dir+"/h", dir+"/f")
		}
		return nil
	}
	_, err := r.Remove(t.Context(), "f", RemoveRequest{})
	all := names(t, dir)
	tmp, _, _ := strings.Cut(all, " ")
	if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), tmp) || !strings.HasPrefix(tmp, ".brainbox-") {
		t.Errorf("%v, there are %q", err, all)
	}
	if read(t, dir+"/"+tmp) != "g" || read(t, dir+"/f") != "h" {
		t.Errorf("there are %q", all)
	}
}
