package dirchain

import (
	"errors"
	"os"
	"testing"

	"brainbox/internal/needs"
)

// suiteMounts holds esc/DC-09: a bind mount has the device and the inode number of
// what it shows, and is refused all the same, by the number of its mount.
func suiteMounts(t *testing.T, dir string) {
	t.Helper()
	both(t, func(t *testing.T, opts Options) { testMounts(t, own(t, dir), opts) })
}

func testMounts(t *testing.T, dir string, opts Options) {
	inside, outside := dir+"/in", dir+"/out"
	put(t, outside+"/f", "outside")
	put(t, inside+"/folder/f", "inside")
	put(t, inside+"/file", "inside")
	put(t, inside+"/self/f", "inside")
	r, ctx := open(t, inside, opts), t.Context()
	t.Run("control", func(t *testing.T) {
		for _, path := range []string{"folder/f", "file", "self/f"} {
			for what, err := range all(ctx, r, path) {
				if err != nil {
					t.Errorf("%s %q before: %v", what, path, err)
				}
			}
			put(t, inside+"/"+path, "inside")
		}
	})
	t.Run("refused", func(t *testing.T) {
		bind(t, outside, inside+"/folder")
		bind(t, outside+"/f", inside+"/file")
		bind(t, inside+"/self", inside+"/self") // on itself: not another file, but another mount
		for _, path := range []string{"folder/f", "folder/new", "file", "self/f"} {
			for what, err := range all(ctx, r, path) {
				if !errors.Is(err, ErrMount) {
					t.Errorf("%s %q: %v, want %v", what, path, err, ErrMount)
				}
			}
			if held, err := r.Hold(path); !errors.Is(err, ErrMount) {
				t.Errorf("hold %q: %v, want %v", path, err, ErrMount)
				held.Close()
			}
		}
		if _, err := r.Write(ctx, "folder/d/f", WriteRequest{Content: text("x"), Parents: true}); !errors.Is(err, ErrMount) {
			t.Errorf("with parents: %v, want %v", err, ErrMount)
		}
		walked := map[string]error{}
		err := r.Walk(ctx, "", WalkLimits{}, func(e Entry) error { walked[e.Path] = e.Err; return nil })
		if err != nil || len(walked) != 3 || !errors.Is(walked["folder"], ErrMount) || !errors.Is(walked["self"], ErrMount) {
			t.Errorf("walk: %v, %v, want three entries, of which two are refused", walked, err)
		}
		if got := names(t, outside); got != "f" || read(t, outside+"/f") != "outside" {
			t.Errorf("outside: %q with %q", got, read(t, outside+"/f"))
		}
	})
	if got := read(t, inside+"/folder/f") + read(t, inside+"/file") + read(t, inside+"/self/f"); got != "insideinsideinside" {
		t.Errorf("inside: %q", got)
	}
	if err := wrote(ctx, r, "folder/f", Replace, "again", nil); err != nil {
		t.Errorf("once nothing is mounted: %v", err)
	}
}

// TestMountsHere tries it in the test's own temporary folder.
func TestMountsHere(t *testing.T) {
	if needs.InMounts(t) {
		suiteMounts(t, t.TempDir())
	}
}

// TestRootIsAMount: what is mounted at the root itself is no obstacle, and what is
// mounted over it later is noticed.
func TestRootIsAMount(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	both(t, func(t *testing.T, opts Options) {
		dir, outside := t.TempDir(), t.TempDir()
		bind(t, dir, dir)
		r, ctx := open(t, dir, opts), t.Context()
		if err := wrote(ctx, r, "f", Create, "x", nil); err != nil {
			t.Fatal(err)
		}
		t.Run("covered", func(t *testing.T) {
			bind(t, outside, dir)
			if err := wrote(ctx, r, "f", Replace, "y", nil); !errors.Is(err, ErrChanged) {
				t.Errorf("write: %v, want %v", err, ErrChanged)
			}
			bind(t, outside, dir)
		})
		if got := read(t, dir+"/f"); got != "x" || names(t, outside) != "" {
			t.Errorf("the file is %q, outside has %q", got, names(t, outside))
		}
		if err := os.Remove(dir + "/f"); err != nil {
			t.Fatal(err)
		}
	})
}
