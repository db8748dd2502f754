package dirchain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type mkdirCase struct {
	path string
	req  MkdirRequest
	err  error
	want MkdirResult // but for ID
	made string      // paths
}

func mkdirCases() map[string]mkdirCase {
	with, made := MkdirRequest{Parents: true}, MkdirResult{Created: true}
	return map[string]mkdirCase{
		"a directory is there":                {path: "d", err: fs.ErrExist},
		"a file is there":                     {path: "f", err: fs.ErrExist},
		"a link to a directory is there":      {path: "l", err: fs.ErrExist},
		"a FIFO is there":                     {path: "p", err: fs.ErrExist},
		"a file is there, with parents":       {path: "f", req: with, err: fs.ErrExist},
		"a link to a directory, with parents": {path: "l", req: with, err: fs.ErrExist},
		"bk/FB5 a link on the way":            {path: "l/new", err: ErrNotDirectory},
		"bk/FB5 a link, with parents":         {path: "l/a/b", req: with, err: ErrNotDirectory},
		"no parent":                           {path: "a/b", err: fs.ErrNotExist},
		"esc/DC-13 a set-user-ID bit":         {path: "new", req: MkdirRequest{Perm: 0o4755}, err: ErrMode},
		"esc/DC-13 a set-group-ID bit":        {path: "new", req: MkdirRequest{Perm: 0o2755}, err: ErrMode},
		"esc/DC-13 a sticky bit":              {path: "new", req: MkdirRequest{Perm: 0o1777}, err: ErrMode},
		"a new one":                           {path: "new", want: made, made: "new"},
		"in another":                          {path: "d/new", want: made, made: "d/new"},
		"one that is there, with parents":     {path: "d", req: with},
		"bk/FB16 nested": {
			path: "d/a/b/c", req: with, want: MkdirResult{Created: true, Parents: 2}, made: "d/a d/a/b d/a/b/c",
		},
		"parents that are there, with parents": {path: "d/new", req: with, want: made, made: "d/new"},
		"one that its owner may not even read": {path: "new", req: MkdirRequest{Perm: 0o111}, want: made, made: "new"},
		"one with the bits of others alone":    {path: "new", req: MkdirRequest{Perm: 0o022}, want: made, made: "new"},
	}
}

func TestMkdir(t *testing.T) {
	for name, c := range mkdirCases() {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir, outside := t.TempDir(), t.TempDir()
				plant(t, dir, "d/ f p| l->"+outside)
				noLeak(t, dir)
				r := open(t, dir, opts)
				before := snap(t, dir)
				got, err := r.Mkdir(t.Context(), c.path, c.req)
				if !errors.Is(err, c.err) {
					t.Fatalf("got %v, want %v", err, c.err)
				}
				if err == nil {
					judgeMade(t, r, dir, c.path, c.req, got)
				}
				got.ID = Identity{}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				_ = os.Chmod(dir+"/new", 0o755) // so that it can be looked into
				if diff := cmp.Diff(before.with(strings.Fields(c.made)...), snap(t, dir)); diff != "" {
					t.Error(diff)
				}
				if got := tree(t, outside); got != "" {
					t.Errorf("outside: %s", got)
				}
			})
		})
	}
}

// judgeMade looks at a directory that Mkdir made or met.
func judgeMade(t *testing.T, r *Root, dir, path string, req MkdirRequest, got MkdirResult) {
	t.Helper()
	st, err := r.statAt(r.fd, path)
	if err != nil || st.ID != got.ID {
		t.Errorf("%+v is not %+v, %v", got.ID, st.ID, err)
	}
	mask := uint32(syscall.Umask(0))
	syscall.Umask(int(mask))
	want := req.Perm & 0o755 &^ mask
	if req.Perm == 0 {
		want = 0o755 &^ mask
	}
	if mode := st.Mode & 0o7777; got.Created && mode != want {
		t.Errorf("mode %#o, want %#o", mode, want)
	}
}

func TestMkdirOfWhatWasJudged(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "a/ b/")
		r := open(t, dir, opts)
		held := holdAll(t, r, []string{"a/new"})
		defer letGo(held)
		if _, err := r.Mkdir(t.Context(), "b/new", MkdirRequest{Held: held[0]}); !errors.Is(err, ErrChanged) {
			t.Errorf("elsewhere: %v", err)
		}
		if err := errors.Join(os.Rename(dir+"/a", dir+"/c"), os.Mkdir(dir+"/a", 0o755)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Mkdir(t.Context(), "a/new", MkdirRequest{Held: held[0]}); !errors.Is(err, ErrChanged) {
			t.Errorf("in another directory: %v", err)
		}
		if got := tree(t, dir); got != "a/ b/ c/" {
			t.Errorf("tree: %s", got)
		}
	})
}

// TestMkdirByMany: of those that make one directory exactly one has made it; with
// parents the others are content.
func TestMkdirByMany(t *testing.T) {
	for _, parents := range []bool{false, true} {
		t.Run(fmt.Sprint("parents ", parents), func(t *testing.T) {
			dir := t.TempDir()
			r := open(t, dir, Options{SkipSync: true})
			for i := range 20 {
				path := fmt.Sprint("d", i)
				if parents {
					path += "/a/b"
				}
				var made, refused int
				var mu sync.Mutex
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						got, err := r.Mkdir(t.Context(), path, MkdirRequest{Parents: parents})
						mu.Lock()
						defer mu.Unlock()
						if got.Created {
							made++
						}
						if err != nil {
							refused++
							if parents || !errors.Is(err, fs.ErrExist) {
								t.Error(err)
							}
						}
					})
				}
				all.Wait()
				if made != 1 || refused != 0 && parents {
					t.Errorf("%d have made it, %d were refused", made, refused)
				}
				if st, err := os.Lstat(dir + "/" + path); err != nil || !st.IsDir() {
					t.Error(err)
				}
			}
		})
	}
}
