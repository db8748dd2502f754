package launcher

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"brainbox/dirchain"
)

// quarantineDir is where what a run may not leave behind goes, at the root of the write
// grant that it was made in.
const quarantineDir = ".brainbox/quarantine"

// quarantine moves names there, by descriptors that are held: whatever the program, or
// another run in the same tree, does to the names on the way, nothing outside of the grant
// is touched. Its folders are made when the first name has to go.
type quarantine struct {
	run   string
	facts *Facts
	roots map[string]*quarantineRoot
}

// quarantineRoot is the quarantine of one write grant.
type quarantineRoot struct {
	chain  *dirchain.Root
	fd     int    // the root of the grant, O_PATH
	dir    string // of this run, relative to it
	moved  int
	err    error // why there is none
	opened unlocked
}

// take moves one name and returns where it is then. It gets another name: .envrc or hooks
// must not be found by a tool that happens to look into the quarantine.
func (q *quarantine) take(w *Watch, path string) (moved string, err error) {
	r := q.root(w)
	if r.err != nil {
		return "", r.err
	}
	from := relative(path, w.Root)
	r.moved++
	to := r.dir + "/" + itoa(r.moved) + "-" + filepath.Base(path)
	if err = r.move(from, to); err != nil {
		return "", err
	}
	return filepath.Join(w.Root, to), nil
}

func (q *quarantine) root(w *Watch) *quarantineRoot {
	if r := q.roots[w.Root]; r != nil {
		return r
	}
	r := &quarantineRoot{}
	r.err = r.make(q.facts.Paths[w.Want].fd, q.run)
	if q.roots == nil {
		q.roots = map[string]*quarantineRoot{}
	}
	q.roots[w.Root] = r
	return r
}

// make takes the root and makes the folder of the run. Where the program has put something
// in its way, or has guessed its name, another name is used.
func (r *quarantineRoot) make(held int, run string) (err error) {
	if r.fd, err = unix.FcntlInt(uintptr(held), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if r.chain, err = chainOf(r.fd); errors.Is(err, fs.ErrPermission) {
		r.opened.unlock(r.fd)
		r.chain, err = chainOf(r.fd)
	}
	if err != nil {
		return err
	}
	other, err := newRunName()
	if err != nil {
		return err
	}
	for _, name := range [...]string{quarantineDir + "/" + run, ".brainbox-" + other} {
		if err = r.folder(name); err == nil {
			r.dir = name
			return nil
		}
	}
	return err
}

// chainOf is the folder that fd holds, for package dirchain.
func chainOf(fd int) (*dirchain.Root, error) {
	readable, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("openat", err)
	}
	dir := os.NewFile(uintptr(readable), ".")
	defer dir.Close()
	return dirchain.NewRoot(dir, dirchain.Options{SkipSync: true})
}

// folder makes the folder of the run, which must be a new one, with a .gitignore that hides
// all that comes into it.
func (r *quarantineRoot) folder(name string) error {
	made, err := r.chain.Mkdir(context.Background(), name, dirchain.MkdirRequest{Perm: 0o700, Parents: true})
	switch {
	case err == nil && !made.Created:
		err = fs.ErrExist
	case errors.Is(err, fs.ErrPermission), errors.Is(err, dirchain.ErrFilesystem):
		r.opened.unlock(r.fd)
		err = r.plainFolder(name)
	}
	if err != nil {
		return err
	}
	dir, _, err := openBelow(r.fd, name)
	if err != nil {
		return os.NewSyscallError("openat", err)
	}
	defer unix.Close(dir)
	const flags = unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(dir, ".gitignore", flags, 0o644)
	if err != nil {
		return os.NewSyscallError("openat", err)
	}
	_, err = unix.Write(fd, []byte("*\n"))
	return errors.Join(os.NewSyscallError("write", err), unix.Close(fd))
}

// plainFolder does the same where dirchain does not write: on a file system that it was not
// tried on, and in folders that the program has closed.
func (r *quarantineRoot) plainFolder(name string) error {
	at, above := r.fd, ""
	for rest := name; rest != ""; {
		var part string
		part, rest = cutPart(rest)
		err := unix.Mkdirat(at, part, 0o755)
		if errors.Is(err, unix.EACCES) {
			r.opened.unlock(at)
			err = unix.Mkdirat(at, part, 0o755)
		}
		if at != r.fd {
			unix.Close(at)
		}
		if err != nil && (rest == "" || !errors.Is(err, unix.EEXIST)) {
			return os.NewSyscallError("mkdirat", err)
		}
		above = filepath.Join(above, part)
		if at, _, err = openBelow(r.fd, above); err != nil {
			return os.NewSyscallError("openat", err)
		}
	}
	unix.Close(at)
	return nil
}

// move gives one name its place in the quarantine.
func (r *quarantineRoot) move(from, to string) error {
	_, err := r.chain.Rename(context.Background(), from, to, dirchain.RenameRequest{})
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A mode, a name or a file system that dirchain leaves alone.
	return r.plainMove(from, to)
}

// plainMove is one renameat2(2), RENAME_NOREPLACE, between held folders.
func (r *quarantineRoot) plainMove(from, to string) error {
	above := filepath.Dir(from)
	if above == "." {
		above = ""
	}
	parent, _, err := openBelow(r.fd, above)
	if err != nil {
		return os.NewSyscallError("openat", err)
	}
	defer unix.Close(parent)
	dir, _, err := openBelow(r.fd, r.dir)
	if err != nil {
		return os.NewSyscallError("openat", err)
	}
	defer unix.Close(dir)
	rename := func() error {
		err := unix.Renameat2(parent, filepath.Base(from), dir, filepath.Base(to), unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EINVAL) { // a file system that cannot; the folder is new, and ours
			err = unix.Renameat(parent, filepath.Base(from), dir, filepath.Base(to))
		}
		return err
	}
	if err = rename(); errors.Is(err, unix.EACCES) {
		r.opened.unlock(parent)
		r.opened.unlock(dir)
		const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if fd, oerr := unix.Openat(parent, filepath.Base(from), flags, 0); oerr == nil {
			r.opened.unlock(fd) // a folder that gets another parent must be writable itself (rename(2))
			unix.Close(fd)
		}
		err = rename()
	}
	return os.NewSyscallError("renameat2", err)
}

// close gives the folders their modes back.
func (q *quarantine) close() {
	for _, r := range q.roots {
		r.opened.restore()
		if r.chain != nil {
			_ = r.chain.Close()
		}
		if r.fd > 0 {
			unix.Close(r.fd)
		}
	}
}
