package dirchain

import (
	"os"
	"testing"
)

// TestRenameDisplacedIsGone: somebody else tidies up what a rename has replaced. The
// rename is done, and says so.
func TestRenameDisplacedIsGone(t *testing.T) {
	for _, point := range []string{"published", "unlinkat"} {
		t.Run(point, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir := t.TempDir()
				put(t, dir+"/from", "new")
				put(t, dir+"/to", "old")
				r := open(t, dir, opts)
				r.hook = at(point, func() error {
					removed := 0
					err := eachTemp(dir, func(tmp string) error {
						removed++
						return os.Remove(tmp)
					})
					if removed != 1 {
						t.Errorf("%d are removed", removed)
					}
					return err
				})
				res, err := r.Rename(t.Context(), "from", "to", RenameRequest{Replace: true})
				if err != nil || !res.Renamed {
					t.Errorf("%+v, %v", res, err)
				}
				if names(t, dir) != "to" || read(t, dir+"/to") != "new" {
					t.Errorf("names %q", names(t, dir))
				}
			})
		})
	}
}
