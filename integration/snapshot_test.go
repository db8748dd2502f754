package integration

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// snapshot describes all that must not change: every file outside the writable
// folders, and the names at the top of / and of the home folder.
func (w *world) snapshot(t testing.TB) map[string]string {
	t.Helper()
	seen := tree(t, w.dir("O"), w.dir("R"))
	home, err := os.UserHomeDir()
	must(t, err)
	for _, top := range []string{"/", home} {
		entries, err := os.ReadDir(top)
		must(t, err)
		for _, e := range entries {
			seen["top "+filepath.Join(top, e.Name())] = e.Type().String()
		}
	}
	return seen
}

// tree describes every name below the roots: mode, owner, links, times, extended
// attributes and content.
func tree(t testing.TB, roots ...string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, root := range roots {
		must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			text, err := describe(path, d)
			seen[path] = text
			return err
		}))
	}
	return seen
}

func describe(path string, d fs.DirEntry) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return "", err
	}
	var names [4096]byte
	n, err := unix.Llistxattr(path, names[:])
	if err != nil {
		n = 0
	}
	text := fmt.Sprintf("inode %d mode %o owner %d:%d links %d mtime %v ctime %v xattr %q",
		st.Ino, st.Mode, st.Uid, st.Gid, st.Nlink, st.Mtim, st.Ctim, names[:n])
	if !d.Type().IsRegular() {
		return text, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d bytes %x", text, len(content), sha256.Sum256(content)), nil
}
