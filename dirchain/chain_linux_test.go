package dirchain

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// TestParentsLeaveNothing is bk/FB11: a call that fails after a directory was made.
func TestParentsLeaveNothing(t *testing.T) {
	for _, fails := range []string{"openat2", "statx", "mkdirat"} {
		for nth := 1; nth < 4; nth++ {
			t.Run(fmt.Sprintf("%s %d", fails, nth), func(t *testing.T) {
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
