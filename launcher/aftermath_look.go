package launcher

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/namescan"
)

// looker finds watched names again, beneath the held roots of their write grants.
type looker struct {
	facts *Facts
	dirs  map[string]dirState
}

// dirState is what became of the folder that a name would be in.
type dirState struct {
	names map[string]bool
	link  string // a link that stands on the way: the name may exist behind it
	err   error
}

// find says where a watched name is now: itself, or the link on the way that the run put
// there; "" if it does not exist.
func (l *looker) find(w *Watch) (at string, err error) {
	dir := filepath.Dir(w.Path)
	state, ok := l.dirs[dir]
	if !ok {
		state = l.read(w, dir)
		l.dirs[dir] = state
	}
	switch {
	case state.err != nil:
		return "", state.err
	case state.link != "":
		return state.link, nil
	case state.names[filepath.Base(w.Path)]:
		return w.Path, nil
	}
	return "", nil
}

func (l *looker) read(w *Watch, dir string) dirState {
	held := l.facts.Paths[w.Want].fd
	if held <= 0 {
		return dirState{err: unix.EBADF} // the facts were closed before the end
	}
	fd, stop, err := openBelow(held, relative(dir, w.Root))
	switch {
	case errors.Is(err, unix.ELOOP):
		return dirState{link: filepath.Join(w.Root, stop)}
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return dirState{}
	case err != nil:
		return dirState{err: err}
	}
	defer unix.Close(fd)
	res, err := namescan.Scan(fd, namescan.Options{Flat: true, All: true})
	if err != nil || res.Partial {
		return dirState{err: errors.Join(err, errIf(res.Partial, unix.EFBIG))}
	}
	s := dirState{names: make(map[string]bool, len(res.Names))}
	for _, n := range res.Names {
		s.names[n.Path] = true
	}
	return s
}

func errIf(yes bool, err error) error {
	if yes {
		return err
	}
	return nil
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
