package mask

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"brainbox/dirchain"
)

// byPathNote is in the outcome of what was written by its path.
const byPathNote = "written by its path: not protected against directories that are exchanged meanwhile"

// writeByPath is the fallback where directories cannot be held.
func (f *Fallback) writeByPath(target string, png []byte, e *effects) error {
	if inScratch(target) {
		return refuse(ApplicationFailed, "the scratch area needs Linux")
	}
	root := f.Root.Path()
	if root == "" {
		return refuse(ApplicationFailed, "the root has no path")
	}
	place, err := placeByPath(root, target)
	if err != nil {
		return err
	}
	if err = checkPlace(target, place); err != nil {
		return err
	}
	if inScratch(place) {
		return refuse(ApplicationFailed, "the scratch area needs Linux")
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err = replaceByPath(dir, place, png); err != nil {
		return err
	}
	sum := dirchain.Sum(png)
	e.changes = append(e.changes, Change{place, &sum})
	e.outcome = byPathNote
	return nil
}

// placeByPath follows the links of the directories of a target, and of a last name
// that exists, by their paths.
func placeByPath(root, target string) (string, error) {
	dir, tail := filepath.Join(root, path.Dir(target)), path.Base(target)
	if _, err := inside(root, filepath.Join(root, target)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for {
		rel, err := inside(root, dir)
		switch {
		case err == nil:
			return path.Join(rel, tail), nil
		case !errors.Is(err, fs.ErrNotExist) || dir == root:
			return "", err
		}
		if _, err = os.Lstat(dir); err == nil {
			return "", refuse(AliasDenied, "a directory is a link to nothing")
		}
		dir, tail = filepath.Dir(dir), path.Join(filepath.Base(dir), tail)
	}
}

// inside resolves what exists, and refuses what is not beneath root.
func inside(root, name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return "", errors.Join(dirchain.ErrNotDirectory, err)
	case err != nil:
		return "", err
	}
	if rel, ok := strings.CutPrefix(real+"/", strings.TrimSuffix(root, "/")+"/"); ok {
		return strings.TrimSuffix(rel, "/"), nil
	}
	return "", dirchain.ErrOutside
}

// replaceByPath puts a new file in place. What it replaces must be a regular file,
// whose permission bits the new one gets before it has a byte.
func replaceByPath(dir *os.Root, place string, data []byte) (err error) {
	if err = dir.MkdirAll(path.Dir(place), 0o755); err != nil {
		return err
	}
	perm, keep := fs.FileMode(0o644), false
	switch st, err := dir.Lstat(place); {
	case err == nil && !st.Mode().IsRegular():
		return &Refusal{Code: AliasDenied, Err: fmt.Errorf("%w (%v)", dirchain.ErrNotRegular, st.Mode().Type())}
	case err == nil:
		perm, keep = st.Mode().Perm(), true
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	var bits [8]byte
	if _, err = rand.Read(bits[:]); err != nil {
		return err
	}
	temp := path.Join(path.Dir(place), ".brainbox-"+hex.EncodeToString(bits[:])+".tmp")
	file, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = dir.Remove(temp) // the first error is the one to tell
		}
	}()
	if err = fill(file, perm, keep, data); err != nil {
		return err
	}
	return dir.Rename(temp, place)
}

// fill writes and closes a new file.
func fill(file *os.File, perm fs.FileMode, keep bool, data []byte) error {
	var err error
	if keep {
		err = file.Chmod(perm)
	}
	if err == nil {
		_, err = file.Write(data)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
