package dirchain

import (
	"errors"
	"os"
	"testing"
)

// TestRemoveTreeReusedNumber: a file that came meanwhile stays, also when it has
// the inode number of one that this removal has just set free (ext4 gives it away
// at once; where a number is not given away the test holds as well).
func TestRemoveTreeReusedNumber(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "d/a d/m d/z d/sub/a")
		r := open(t, dir, opts)
		unlinked := 0
		r.hook = func(call string) error {
			switch {
			case call == "unlinkat":
				unlinked++
			case call == "statx" && unlinked == 1: // after the removal of a, before the look at m
				unlinked = 2
				return errors.Join(os.WriteFile(dir+"/d/new", []byte("saved meanwhile"), 0o644),
					os.Rename(dir+"/d/new", dir+"/d/m"))
			}
			return nil
		}
		res, err := r.RemoveTree(t.Context(), "d", RemoveTreeRequest{})
		if !errors.Is(err, ErrChanged) || res.Removed || len(res.Failed) != 1 || res.Failed[0].Path != "d/m" {
			t.Errorf("%+v, %v", res, err)
		}
		if got, err := os.ReadFile(dir + "/d/m"); err != nil || string(got) != "saved meanwhile" {
			t.Errorf("what came meanwhile: %q, %v", got, err)
		}
		if got := tree(t, dir); got != "d/ d/m" {
			t.Errorf("left: %q", got)
		}
	})
}
