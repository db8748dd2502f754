package launcher

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"brainbox/internal/spawn"
)

const (
	pruneEvery = 24 * time.Hour
	pruneAfter = 7 * 24 * time.Hour
)

// prune removes what a wrapper's programs left in their temporary folder a week ago. It
// looks at most once a day: the folder's own access to a marker says when.
func prune(dir string) {
	marker := dir + "/../pruned"
	if st, err := os.Lstat(marker); err == nil && time.Since(st.ModTime()) < pruneEvery {
		return
	}
	// It is opened only where it is not there: an earlier program of the user's may hold a lease.
	if err := os.Chtimes(marker, time.Now(), time.Now()); errors.Is(err, fs.ErrNotExist) {
		if f, err := os.OpenFile(marker, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			_ = f.Close()
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > pruneAfter {
			removeTree(dir, e.Name())
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// becomeRequest is spawn.Become; alone here, because it is irreversible.
func becomeRequest(r *spawn.Request) error { return spawn.Become(r) }
