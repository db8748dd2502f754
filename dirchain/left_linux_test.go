package dirchain

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLeftIsTold: a new file that cannot be removed when its write fails is named in
// the error, behind what the write fails with.
func TestLeftIsTold(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		put(t, dir+"/f", "old")
		fail := ""
		opts.Trace = func(call string) error {
			if fail != "" && (call == fail || call == "unlinkat") {
				return unix.EIO
			}
			return nil
		}
		r, ctx := open(t, dir, opts), t.Context()
		broken := func() io.Reader { return io.MultiReader(text("x"), failing{}) }
		base := Sum([]byte("old"))
		for name, c := range map[string]struct {
			fail string
			want error
			act  func() error
		}{
			"staged": {"none", errTired, func() error {
				_, err := r.Write(ctx, "f", WriteRequest{Mode: Replace, Content: broken()})
				return err
			}},
			"not published": {"publish", unix.EIO, func() error { return wrote(ctx, r, "f", Replace, "new", &base) }},
			"of a batch": {"none", errTired, func() error {
				got, err := r.Batch(ctx, []BatchEntry{
					replace("f", "new"), {Path: "g", WriteRequest: WriteRequest{Content: broken()}},
				})
				if !errors.Is(err, errTired) || !errors.Is(got[1].Err, errTired) || !errors.Is(got[0].Err, unix.EIO) {
					t.Errorf("batch: %v, %v", got, err)
				}
				return errors.Join(got[0].Err, got[1].Err)
			}},
		} {
			fail = c.fail
			err := c.act()
			if fail = ""; !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			left := 0
			for _, n := range strings.Fields(names(t, dir)) {
				if !isTemp(n) {
					continue
				}
				left++
				if err == nil || !strings.Contains(err.Error(), n) {
					t.Errorf("%s: %q is left and not told: %v", name, n, err)
				}
				if err := os.Remove(dir + "/" + n); err != nil {
					t.Fatal(err)
				}
			}
			if left == 0 || read(t, dir+"/f") != "old" {
				t.Errorf("%s: %d are left, the file is %q", name, left, read(t, dir+"/f"))
			}
		}
	})
}
