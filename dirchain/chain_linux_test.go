package dirchain

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestParentsLeaveNothing is bk/FB11: a call that fails after a directory was made.
func TestParentsLeaveNothing(t *testing.T) {
	for _, fails := range []string{"openat2", "statx", "mkdirat"} {
		for nth := 1; nth < 4; nth++ {
			t.Run(fmt.Sprintf("%s %d", fails, nth), func(t *testing.T) {
				if fails == "openat2" {
					needs.Kernel(t) // there is nothing to fail without it
				}
				dir := t.TempDir()
				noLeak(t, dir)
				r := open(t, dir, Options{SkipSync: true})
				made, seen := 0, 0
				r.hook = func(call string) error {
					if call == "mkdirat" {
						made++
					}
					if call == fails && made > 0 {
						if seen++; seen == nth {
							return unix.EIO
						}
					}
					return nil
				}
				if _, err := r.Write(t.Context(), "a/b/c/f", WriteRequest{Parents: true}); !errors.Is(err, unix.EIO) {
					t.Errorf("write: %v", err)
				}
				if got := tree(t, dir); got != "" {
					t.Errorf("left behind: %s", got)
				}
			})
		}
	}
}

// TestParentsAreNotMadeInAProtectedPlace: not even for a moment, under a name that
// nobody listed.
func TestParentsAreNotMadeInAProtectedPlace(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "keep/f free/f")
		opts.Protect = []string{"keep"}
		r := open(t, dir, opts)
		if err := os.Rename(dir+"/keep", dir+"/other"); err != nil {
			t.Fatal(err)
		}
		made := 0
		r.hook = func(call string) error {
			if call == "mkdirat" {
				made++
			}
			return nil
		}
		_, err := r.Write(t.Context(), "other/a/b/f", WriteRequest{Parents: true})
		if !errors.Is(err, ErrProtected) || made != 0 {
			t.Errorf("in the protected place: %v, %d directories were made", err, made)
		}
		if _, err = r.Write(t.Context(), "free/a/b/f", WriteRequest{Parents: true}); err != nil || made != 2 {
			t.Errorf("beside it: %v, %d directories were made", err, made)
		}
	})
}

func TestWriteSyncsTheDirectoriesItMade(t *testing.T) {
	for path, want := range map[string]int{"f": 2, "there/f": 2, "there/a/f": 3, "a/b/c/f": 5} {
		t.Run(path, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, "there/")
			r := open(t, dir, Options{})
			n := 0
			r.hook = func(call string) error {
				if call == "fsync" {
					n++
				}
				return nil
			}
			if _, err := r.Write(t.Context(), path, WriteRequest{Parents: true}); err != nil || n != want {
				t.Errorf("%d fsyncs, want %d: the file, its directory, and one for each that was made (%v)", n, want, err)
			}
		})
	}
}
