package dispatch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"brainbox/internal/trustpath"

	"golang.org/x/sys/unix"
)

// folder is where commands run and where fresh folders are made.
type folder struct {
	rule    trustpath.Rule
	root    *os.File // O_PATH; nil: a fresh folder for every call
	below   string   // what is below root
	scratch string
}

// newFolder decides where commands run: in the value of the variable when it leads, by whatever
// links, to a folder inside one of the roots and outside every tree that a sandbox writes to;
// else in a fresh one.
func newFolder(cfg CommandConfig, rule trustpath.Rule, getenv func(string) string) (folder, error) {
	f := folder{rule: rule, scratch: cfg.Scratch}
	if f.scratch == "" {
		f.scratch = os.TempDir()
	}
	dir, err := trustpath.Open(f.scratch, rule)
	if err != nil {
		return f, &ConfigError{Code: CodeHostInvalid, Msg: "the folder for fresh folders", Err: err}
	}
	dir.Close()
	if cfg.CwdEnv == "" {
		return f, nil
	}
	at := getenv(cfg.CwdEnv)
	if at == "" || !filepath.IsAbs(at) {
		return f, nil
	}
	if at, err = filepath.EvalSymlinks(at); err != nil {
		return f, nil
	}
	for _, name := range cfg.Roots {
		root, err := filepath.EvalSymlinks(name)
		if err != nil || !filepath.IsAbs(root) {
			return f, &ConfigError{Code: CodeHostInvalid, Msg: "a root for folders", Err: errors.Join(err, fs.ErrInvalid)}
		}
		below, err := filepath.Rel(root, at)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue
		}
		if f.root, err = trustpath.Open(root, rule); err != nil {
			return f, nil
		}
		f.below = below
		return f, nil
	}
	return f, nil
}

func (f *folder) close() {
	if f.root != nil {
		f.root.Close()
	}
}

// open returns the folder for one call, O_PATH, and the path of a fresh one that has to be
// removed, which is empty if the configured one is used.
func (f *folder) open() (dir *os.File, fresh string, err error) {
	if f.root != nil {
		if dir := f.configured(); dir != nil {
			return dir, "", nil
		}
	}
	return f.fresh("brainbox-call-")
}

// configured opens the configured folder, with no link on the way below the root.
func (f *folder) configured() *os.File {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := unix.Openat2(int(f.root.Fd()), f.below, &how)
	if err != nil {
		return nil
	}
	dir := os.NewFile(uintptr(fd), f.below)
	if !f.outside(fd) {
		dir.Close()
		return nil
	}
	return dir
}

// outside reports whether neither the folder nor one above it is a tree of a sandbox.
func (f *folder) outside(fd int) bool {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return false
	}
	now, err := trustpath.Open(path, f.rule)
	if err != nil {
		return false
	}
	defer now.Close()
	var a, b unix.Stat_t
	return unix.Fstat(int(now.Fd()), &a) == nil && unix.Fstat(fd, &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino
}

// fresh makes an empty folder, 0700.
func (f *folder) fresh(prefix string) (*os.File, string, error) {
	path, err := os.MkdirTemp(f.scratch, prefix)
	if err != nil {
		return nil, "", err
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		remove(path)
		return nil, "", &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), path, nil
}

// remove removes a fresh folder with what a command left in it, read-only folders included.
// Nothing of the command runs any more.
func remove(path string) {
	if path == "" || os.RemoveAll(path) == nil {
		return
	}
	_ = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && err == nil {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(path)
}
