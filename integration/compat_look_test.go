package integration

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// short shows a file's content: itself where that can be read, else its hash.
func short(content []byte) string {
	if len(content) <= 200 {
		return fmt.Sprintf("%q", content)
	}
	return fmt.Sprintf("%d bytes %x", len(content), sha256.Sum256(content))
}

// shapes reduces a work tree to names and modes.
func shapes(tree map[string]string) {
	for name, text := range tree {
		tree[name], _, _ = strings.Cut(text, " ")
	}
}

// topLevel describes / and the names in it. The times of the names are the host's own
// business: /tmp changes all the time.
func topLevel(t *testing.T) map[string]string {
	t.Helper()
	seen := map[string]string{}
	entries, err := os.ReadDir("/")
	must(t, err)
	var st unix.Stat_t
	must(t, unix.Stat("/", &st))
	seen["/"] = fmt.Sprintf("%d %o %d:%d %v", st.Ino, st.Mode, st.Uid, st.Gid, st.Mtim)
	for _, e := range entries {
		must(t, unix.Lstat("/"+e.Name(), &st))
		seen["/"+e.Name()] = fmt.Sprintf("%d %o %d:%d", st.Ino, st.Mode, st.Uid, st.Gid)
	}
	return seen
}

// removeAll removes a folder in which folders may be read-only, as the module cache of
// go is.
func removeAll(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.RemoveAll(dir)
}
