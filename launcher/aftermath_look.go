package launcher

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// looker finds watched names again, beneath the held roots of their write grants. It asks
// for each name: a folder that the run has filled cannot be read to its end, and one that
// it has closed cannot be read at all.
type looker struct {
	facts  *Facts
	dirs   map[string]dirState
	opened unlocked
}

// dirState is what became of the folder that a name would be in.
type dirState struct {
	fd   int    // O_PATH; -1 if it does not exist
	link string // a link that stands on the way: the name may exist behind it
	err  error
}

// find says where a watched name is now: itself, or the link on the way that the run put
// there; "" if it does not exist.
func (l *looker) find(w *Watch) (at string, err error) {
	dir := filepath.Dir(w.Path)
	state, ok := l.dirs[dir]
	if !ok {
		state = l.open(w, dir)
		l.dirs[dir] = state
	}
	switch {
	case state.err != nil:
		return "", state.err
	case state.link != "":
		return state.link, nil
	case state.fd < 0:
		return "", nil
	}
	var st unix.Stat_t
	err = unix.Fstatat(state.fd, filepath.Base(w.Path), &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.EACCES) && l.opened.unlock(state.fd) {
		err = unix.Fstatat(state.fd, filepath.Base(w.Path), &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	switch {
	case err == nil:
		return w.Path, nil
	case errors.Is(err, unix.ENOENT):
		return "", nil
	}
	return "", os.NewSyscallError("fstatat", err)
}

func (l *looker) open(w *Watch, dir string) dirState {
	held := l.facts.Paths[w.Want].fd
	if held <= 0 {
		return dirState{err: unix.EBADF} // the facts were closed before the end
	}
	fd, stop, err := openBelow(held, relative(dir, w.Root))
	for errors.Is(err, unix.EACCES) && l.unlockAbove(held, stop) {
		fd, stop, err = openBelow(held, relative(dir, w.Root))
	}
	switch {
	case errors.Is(err, unix.ELOOP):
		return dirState{fd: -1, link: filepath.Join(w.Root, stop)}
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return dirState{fd: -1}
	case err != nil:
		return dirState{fd: -1, err: err}
	}
	return dirState{fd: fd}
}

// unlockAbove opens the folder up that keeps the one at stop from being found, and reports
// whether that changed anything.
func (l *looker) unlockAbove(root int, stop string) bool {
	above := filepath.Dir(stop)
	if stop == "" || above == "." {
		above = ""
	}
	if above == "" {
		return l.opened.unlock(root) // itself may be closed to openBelow
	}
	fd, _, err := openBelow(root, above)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return l.opened.unlock(fd)
}

func (l *looker) close() {
	for _, state := range l.dirs {
		if state.fd > 0 {
			unix.Close(state.fd)
		}
	}
	l.opened.restore()
}

// openBelow opens the folder rel beneath the one that root holds, O_PATH, one component
// after the other. A link on the way is ELOOP, and stop is its path.
func openBelow(root int, rel string) (fd int, stop string, err error) {
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if fd, err = unix.Openat(root, ".", flags|unix.O_DIRECTORY, 0); err != nil || rel == "" {
		return fd, "", err
	}
	for rest := rel; rest != ""; {
		var part string
		part, rest = cutPart(rest)
		stop = filepath.Join(stop, part)
		next, err := unix.Openat(fd, part, flags, 0)
		unix.Close(fd)
		if err != nil {
			return -1, stop, err
		}
		fd = next
		var st unix.Stat_t
		switch err := unix.Fstat(fd, &st); {
		case err != nil:
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			continue
		case st.Mode&unix.S_IFMT == unix.S_IFLNK:
			err = unix.ELOOP
			fallthrough
		default:
			unix.Close(fd)
			if err == nil {
				err = unix.ENOTDIR
			}
			return -1, stop, err
		}
	}
	return fd, "", nil
}

// readConfig reads a configuration as it is now. A file that is gone is an empty one; one
// that is too long, or no file at all, is none that could be compared.
func readConfig(path string) (vars []gitVar, ok bool) {
	text, err := readSmallErr(path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil, true
	}
	if err != nil || strings.ContainsRune(text, 0) {
		return nil, false
	}
	return gitVars(text)
}
