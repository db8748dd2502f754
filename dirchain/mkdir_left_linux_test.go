package dirchain

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMkdirLeftIsTold: a directory that was made where it was not meant to be, and
// in which somebody has put something since, stays and is told.
func TestMkdirLeftIsTold(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "p/")
		r := open(t, dir, opts)
		r.hook = at("made", func() error {
			return errors.Join(os.Rename(dir+"/p", dir+"/away"), os.Mkdir(dir+"/p", 0o755),
				os.WriteFile(dir+"/away/new/theirs", nil, 0o644))
		})
		res, err := r.Mkdir(t.Context(), "p/new", MkdirRequest{})
		if !errors.Is(err, ErrChanged) || !errors.Is(err, unix.ENOTEMPTY) || res.Created {
			t.Errorf("%+v, %v", res, err)
		}
		if got := tree(t, dir); got != "away/ away/new/ away/new/theirs p/" {
			t.Errorf("left: %q", got)
		}
	})
}
