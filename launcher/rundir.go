package launcher

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// runDir is the private folder of one run: home, tmp, and the canary that the self-test
// must not be able to write. It is locked while the run lives, so that a later start can
// tell a living run from a dead one.
type runDir struct {
	path      string
	fd        int  // the folder, locked
	home, tmp int  // 0: not made
	gitConfig int  // 0: not made
	alone     bool // no other run has a folder beside this one
}

// newRunName returns a name for a run that no other has.
func newRunName() (string, error) {
	var b [8]byte
	if _, err := unix.Getrandom(b[:], 0); err != nil {
		return "", os.NewSyscallError("getrandom", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// makeRunDir creates path with the folders that the plan wants, below a base that must be
// the caller's own and closed to others.
func makeRunDir(path string, withHome bool, id *IdentityFact) (*runDir, error) {
	base, err := openBase(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer unix.Close(base)
	name := filepath.Base(path)
	if err := unix.Mkdirat(base, name, 0o700); err != nil {
		return nil, &fs.PathError{Op: "mkdirat", Path: path, Err: err}
	}
	r := &runDir{path: path, alone: oneFolder(base)}
	if r.fd, err = openFolder(base, name, path); err != nil {
		_ = unix.Unlinkat(base, name, unix.AT_REMOVEDIR)
		return nil, err
	}
	if err := unix.Flock(r.fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		r.close()
		return nil, &fs.PathError{Op: "flock", Path: path, Err: err}
	}
	if err := r.fill(withHome, id); err != nil {
		r.remove()
		return nil, err
	}
	return r, nil
}

// oneFolder reports whether the folder that was just made is the only one in base: its ".."
// is the third link to base then (inode(7)). A file system that does not count so has
// another number, and always the same.
func oneFolder(base int) bool {
	var st unix.Stat_t
	return unix.Fstat(base, &st) == nil && st.Nlink == 3
}

func (r *runDir) fill(withHome bool, id *IdentityFact) (err error) {
	if r.tmp, err = r.mkdir("tmp", id); err != nil {
		return err
	}
	if withHome {
		if r.home, err = r.mkdir("home", id); err != nil {
			return err
		}
	}
	if id == nil {
		return nil // the self-test tries to make the canary itself
	}
	// Only the kernel's rules may be what refuses the canary: the program's user must be
	// able to write it by its mode, and reach it.
	return errors.Join(r.makeCanary(int(id.GID)), unix.Fchmod(r.fd, 0o711))
}

func (r *runDir) mkdir(name string, id *IdentityFact) (int, error) {
	if err := unix.Mkdirat(r.fd, name, 0o700); err != nil {
		return 0, &fs.PathError{Op: "mkdirat", Path: r.path + "/" + name, Err: err}
	}
	fd, err := openFolder(r.fd, name, r.path+"/"+name)
	if err == nil && id != nil {
		err = unix.Fchown(fd, int(id.UID), int(id.GID))
	}
	return fd, err
}

// openBase opens <base>/brainbox-<uid>, made if it is missing. A folder that somebody
// else made there, or that others can enter, is refused: it could be watched or swapped.
func openBase(dir string) (int, error) { return openBaseAt(unix.AT_FDCWD, dir, dir) }

// openBaseAt is openBase for a name below a held folder.
func openBaseAt(at int, name, dir string) (int, error) {
	mode := uint32(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711 // the user that root lets the program become must get through
	}
	if err := unix.Mkdirat(at, name, mode); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, &fs.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	fd, err := openFolder(at, name, dir)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || int(st.Uid) != os.Geteuid() || st.Mode&0o077&^mode != 0 {
		unix.Close(fd)
		return -1, &Refusal{
			Status: StatusRefused, Message: quotePath(dir) + " is not a private folder of yours",
			Hint: "remove it, or set TMPDIR to a folder of your own",
		}
	}
	return fd, nil
}

func openFolder(at int, name, path string) (int, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "openat", Path: path, Err: err}
	}
	return fd, nil
}

// remove ends the run's folder. What every run has is removed by name; only if the program
// left something the tree is walked.
func (r *runDir) remove() {
	for _, f := range [...]struct {
		name  string
		flags int
	}{{"home", unix.AT_REMOVEDIR}, {"tmp", unix.AT_REMOVEDIR}, {"gitconfig", 0}, {"canary", 0}} {
		_ = unix.Unlinkat(r.fd, f.name, f.flags)
	}
	if unix.Rmdir(r.path) != nil {
		removeTree(filepath.Dir(r.path), filepath.Base(r.path))
	}
	r.close()
}

func (r *runDir) close() {
	for _, fd := range []*int{&r.home, &r.tmp, &r.gitConfig, &r.fd} {
		if *fd > 0 {
			unix.Close(*fd)
			*fd = 0
		}
	}
}
