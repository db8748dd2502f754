package dirchain

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestRemoveTree(t *testing.T) {
	all := RemoveTreeResult{Removed: true, Files: 6, Directories: 3, Bytes: 10}
	for name, c := range map[string]struct {
		path    string
		protect []string
		limits  WalkLimits
		err     error
		want    RemoveTreeResult
	}{
		"nothing there":                     {path: "none", err: fs.ErrNotExist},
		"a file":                            {path: "f", err: ErrNotDirectory},
		"a link to a directory":             {path: "out", err: ErrNotDirectory},
		"a protected place at the bottom":   {path: "d", protect: []string{"d/a/b/f"}, err: ErrProtected},
		"a protected place not there yet":   {path: "d", protect: []string{"d/z/none"}, err: ErrProtected},
		"a protected file by another name":  {path: "d", protect: []string{"f"}, err: ErrProtected},
		"a protected place that is no more": {path: "d", protect: []string{"d/none/f"}, err: ErrProtected},
		"too deep":                          {path: "d", limits: WalkLimits{Depth: 2}, err: ErrLimit},
		"too many":                          {path: "d", limits: WalkLimits{Entries: 7}, err: ErrLimit},
		"too long":                          {path: "d", limits: WalkLimits{Time: time.Nanosecond}, err: ErrLimit},
		"everything":                        {path: "d", limits: WalkLimits{Depth: 3, Entries: 8}, want: all},
		"an empty directory":                {path: "e", want: RemoveTreeResult{Removed: true, Directories: 1}},
		"beside a protected place":          {path: "d", protect: []string{"g"}, want: all},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir, outside := t.TempDir(), t.TempDir()
				plant(t, outside, "secret")
				plant(t, dir, "f g e/ d/a/b/f d/g d/p| d/l->"+outside+" d/a/l->"+outside+"/secret out->"+outside)
				if err := os.Link(dir+"/f", dir+"/d/hard"); err != nil {
					t.Fatal(err)
				}
				noLeak(t, dir)
				opts.Protect = c.protect
				r := open(t, dir, opts)
				before := snap(t, dir)
				got, err := r.RemoveTree(t.Context(), c.path, RemoveTreeRequest{Limits: c.limits})
				if !errors.Is(err, c.err) {
					t.Errorf("got %v, want %v", err, c.err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				want := before
				if c.err == nil {
					want = before.without(c.path)
				}
				if diff := cmp.Diff(want, snap(t, dir)); diff != "" {
					t.Error(diff)
				}
				if got := snap(t, outside); len(got) != 1 || got["secret"] != "secret" {
					t.Errorf("outside: %v", got)
				}
			})
		})
	}
}

// TestRemoveTreeThatFailsInTheMiddle is bk/TT12: the rest goes, and the report is
// what is true, whichever unlinkat fails.
func TestRemoveTreeThatFailsInTheMiddle(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		for n := 1; ; n++ {
			dir := t.TempDir()
			plant(t, dir, "d/a/b/f d/a/b/g d/c/f d/z")
			r := open(t, dir, opts)
			before := snap(t, dir)
			seen := 0
			r.hook = func(call string) error {
				if call != "unlinkat" {
					return nil
				}
				if seen++; seen == n {
					return unix.EPERM
				}
				return nil
			}
			got, err := r.RemoveTree(t.Context(), "d", RemoveTreeRequest{})
			after := snap(t, dir)
			if gone := len(before) - len(after); got.Files+got.Directories != gone || got.Removed != (gone == len(before)) {
				t.Errorf("at call %d: %d are gone, told is %+v", n, gone, got)
			}
			if seen < n {
				if err != nil || len(after) != 0 {
					t.Errorf("nothing failed: %v, %v", err, after)
				}
				return
			}
			if !errors.Is(err, unix.EPERM) || len(got.Failed) != 1 || !errors.Is(got.Failed[0].Err, unix.EPERM) {
				t.Fatalf("at call %d: %+v, %v", n, got, err)
			}
			// What failed is there, and the directories it is in; nothing else is.
			failed := got.Failed[0].Path
			for path := range after {
				if path != failed && !strings.HasPrefix(failed, path+"/") {
					t.Errorf("at call %d: %q is left, failed is %q", n, path, failed)
				}
			}
			if _, ok := after[failed]; !ok {
				t.Errorf("at call %d: %q is gone", n, failed)
			}
		}
	})
}

// TestRemoveTreeIsNotLedAway is esc/DC-11, bk/TT6: at each call a directory in the
// tree is exchanged for a link to outside, or for one that came from elsewhere.
func TestRemoveTreeIsNotLedAway(t *testing.T) {
	for name, decoy := range map[string]func(dir, outside string) error{
		"for a link to outside": func(dir, outside string) error { return os.Symlink(outside, dir+"/d/a") },
		"for another directory": func(dir, _ string) error { return os.Rename(dir+"/valued", dir+"/d/a") },
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				step := 1
				if testing.Short() {
					step = 5
				}
				for n := 1; ; n += step {
					dir, outside := t.TempDir(), t.TempDir()
					plant(t, outside, "b/f b/g c")
					plant(t, dir, "d/a/b/f d/a/b/g d/a/c d/z valued/b/f valued/b/g valued/c")
					r := open(t, dir, opts)
					at := &atCall{n: n, do: func() error {
						if os.Rename(dir+"/d/a", dir+"/held") != nil {
							return nil // it is gone already
						}
						return decoy(dir, outside)
					}}
					r.hook = at.hook
					got, err := r.RemoveTree(t.Context(), "d", RemoveTreeRequest{})
					r.hook = nil
					if left := tree(t, outside); left != "b/ b/f b/g c" {
						t.Fatalf("at call %d: outside: %s", n, left)
					}
					after := snap(t, dir)
					valued := 0
					for path, what := range after {
						if strings.HasPrefix(what, "valued/") && strings.Contains(path, "/") {
							valued++
						}
					}
					// It is gone only where it was there when the tree was looked at.
					if valued != 3 && (valued != 0 || err != nil || !got.Removed) {
						t.Errorf("at call %d: %d files are left: %+v, %v", n, valued, got, err)
					}
					if _, there := after["d"]; there == got.Removed || got.Removed && err != nil {
						t.Errorf("at call %d: %+v, %v, there is %v", n, got, err, after)
					}
					if at.seen < n {
						return
					}
				}
			})
		})
	}
}

// TestRemoveTreeLeavesWhatCameLater: what was not there when the tree was judged is
// not removed.
func TestRemoveTreeLeavesWhatCameLater(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "d/a/f d/b/f valued/f moved")
		r := open(t, dir, opts)
		r.hook = func(call string) error {
			if call != "judged" {
				return nil
			}
			return errors.Join(os.Rename(dir+"/valued", dir+"/d/a/valued"), os.Rename(dir+"/moved", dir+"/d/moved"))
		}
		got, err := r.RemoveTree(t.Context(), "d", RemoveTreeRequest{})
		if !errors.Is(err, ErrChanged) || got.Files != 2 || got.Directories != 1 || len(got.Failed) != 2 {
			t.Errorf("%+v, %v", got, err)
		}
		if left := tree(t, dir); left != "d/ d/a/ d/a/valued/ d/a/valued/f d/moved" {
			t.Errorf("left: %s", left)
		}
	})
}

func TestRemoveTreeOfWhatWasJudged(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "d/f other/f")
		r := open(t, dir, opts)
		held := holdAll(t, r, []string{"d"})
		defer letGo(held)
		if err := exchange(dir, "d"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.RemoveTree(t.Context(), "d", RemoveTreeRequest{Held: held[0]}); !errors.Is(err, ErrChanged) {
			t.Errorf("another directory: %v", err)
		}
		if got := tree(t, dir); got != "d/ d/f other/ other/f was/ was/f" {
			t.Errorf("tree: %s", got)
		}
	})
}
