package dirchain

import (
	"errors"
	"io/fs"
	"testing"

	"brainbox/internal/needs"
)

// TestBtrfsSubvolume: a subvolume is walked into as any directory, and what is in a
// snapshot is told from what it was made of.
func TestBtrfsSubvolume(t *testing.T) {
	if !needs.IsChild(t) {
		needs.Btrfs(t)
	}
	if !needs.InMounts(t) {
		return
	}
	both(t, func(t *testing.T, opts Options) {
		dir := mounted(t, image("btrfs", "mkfs.btrfs -q", "128M")+`
btrfs -q subvolume create dir/sub
btrfs -q subvolume create dir/sub/first
btrfs -q subvolume create dir/sub/second
printf old >dir/sub/f
btrfs -q subvolume snapshot dir/sub dir/snapshot`)
		opts.Protect = []string{"sub/protected"}
		put(t, dir+"/sub/protected", "protected")
		r, ctx := open(t, dir, opts), t.Context()
		held := heldFor(t, r, "sub/f")
		st, _ := held.Stat()
		if id := st.ID; id.Dev == r.id.Dev || id.Mount != r.id.Mount {
			t.Errorf("in the subvolume %v, the root is %v: want another device on the same mount", id, r.id)
		}

		// The snapshot's file has the same inode number and is another file.
		copied, _ := heldFor(t, r, "snapshot/f").Stat()
		if copied.ID.Ino != st.ID.Ino || copied.ID == st.ID {
			t.Errorf("in the snapshot %v, in the subvolume %v: want the same number and another device", copied.ID, st.ID)
		}
		req := WriteRequest{Mode: Replace, Content: text("new"), Held: held}
		if _, err := r.Write(ctx, "snapshot/f", req); !errors.Is(err, ErrChanged) {
			t.Errorf("write to the snapshot what was judged for the subvolume: %v, want %v", err, ErrChanged)
		}
		if err := wrote(ctx, r, "sub/protected", Replace, "x", nil); !errors.Is(err, ErrProtected) {
			t.Errorf("write to what is protected: %v, want %v", err, ErrProtected)
		}

		// What was a subvolume is an empty directory in the snapshot. All of them have
		// one identity, so nothing may be made in them: the kernel refuses.
		first, second := heldFor(t, r, "snapshot/first/x").Parent(), heldFor(t, r, "snapshot/second/x").Parent()
		if first != second || first.Ino != 2 {
			t.Errorf("placeholders %v and %v: want one identity with number 2", first, second)
		}
		for _, path := range []string{"snapshot/first/x", "snapshot/second/d/x"} {
			_, err := r.Write(ctx, path, WriteRequest{Content: text("x"), Parents: true})
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("write %q: %v, want %v", path, err, fs.ErrPermission)
			}
		}

		req.Content = text("new")
		if _, err := r.Write(ctx, "sub/f", req); err != nil {
			t.Errorf("write in the subvolume: %v", err)
		}
		if err := wrote(ctx, r, "sub/first/x", Create, "new", nil); err != nil {
			t.Errorf("write in a subvolume of the subvolume: %v", err)
		}
		found := 0
		err := r.Walk(ctx, "", WalkLimits{}, func(e Entry) error {
			if e.Path == "sub/first/x" || e.Path == "snapshot/f" {
				found++
			}
			return e.Err
		})
		if err != nil || found != 2 {
			t.Errorf("walk: %v, found %d of two files in subvolumes", err, found)
		}
		if a, b := read(t, dir+"/sub/f"), read(t, dir+"/snapshot/f"); a != "new" || b != "old" {
			t.Errorf("the subvolume has %q, the snapshot %q", a, b)
		}
	})
}

// heldFor is let go with the test.
func heldFor(t *testing.T, r *Root, path string) *Target {
	t.Helper()
	held, err := r.Hold(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(held.Close)
	return held
}
