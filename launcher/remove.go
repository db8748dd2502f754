package launcher

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// removeTree removes name in the folder dir with everything below it, read-only folders
// included (the module cache of go is made of them). Below dir a program may have left
// anything, or even still be running: no link is followed, no mount point is entered, and
// a tree of any depth costs the same few descriptors and a time that grows with the number
// of its entries alone. What cannot be removed stays.
func removeTree(dir, name string) {
	base, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(base)
	if !full(unlink(base, name)) {
		return
	}
	prefix, err := newRunName()
	if err != nil {
		return
	}
	top, err := openAny(base, name)
	if err != nil {
		return
	}
	defer unix.Close(top)
	r := &remover{top: top, prefix: "." + prefix + "-"}
	for range removeRounds {
		r.round()
		if unix.Unlinkat(base, name, unix.AT_REMOVEDIR) == nil {
			return
		}
	}
}

// removeRounds is how often a tree is looked at that something still writes to.
const removeRounds = 3

// remover empties one tree. A folder that is not empty is first moved to the top of the
// tree, and waits there for its turn: nothing is ever more than one level deep.
type remover struct {
	top    int
	prefix string // of the names that folders get at the top
	moved  int
	queue  []string // folders at the top
}

// round empties the top, and then every folder that waits there.
func (r *remover) round() {
	r.empty(r.top)
	for len(r.queue) > 0 {
		last := len(r.queue) - 1
		next := r.queue[last]
		r.queue = r.queue[:last]
		if fd, err := openAny(r.top, next); err == nil {
			r.empty(fd)
			unix.Close(fd)
		}
		_ = unix.Unlinkat(r.top, next, unix.AT_REMOVEDIR)
	}
}

// empty removes what is in a folder, or moves it to the top. Entries that come or go
// meanwhile may be missed by one reading, so it is read again while that helps.
func (r *remover) empty(fd int) {
	buf := make([]byte, 32<<10)
	for progress := true; progress; {
		progress = false
		if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
			return
		}
		for {
			n, err := unix.ReadDirent(fd, buf)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil || n == 0 {
				break
			}
			_, _, names := unix.ParseDirent(buf[:n], -1, nil)
			for _, name := range names {
				progress = r.one(fd, name) || progress
			}
		}
		progress = progress && fd != r.top // the folders at the top wait there
	}
}

// one removes or moves one entry and reports whether it is gone from its folder.
func (r *remover) one(fd int, name string) bool {
	err := unlink(fd, name)
	switch {
	case err == nil:
		return true
	case !full(err):
		return false
	case fd == r.top:
		r.queue = append(r.queue, name)
		return false
	}
	r.moved++
	to := r.prefix + strconv.Itoa(r.moved)
	if err = unix.Renameat(fd, name, r.top, to); errors.Is(err, unix.EACCES) {
		// A folder that gets another parent must be writable itself (rename(2)).
		if sub, oerr := openAny(fd, name); oerr == nil {
			unix.Close(sub)
			err = unix.Renameat(fd, name, r.top, to)
		}
	}
	if err != nil {
		return false
	}
	r.queue = append(r.queue, to)
	return true
}

// unlink removes a file, a link, or an empty folder.
func unlink(at int, name string) error {
	err := unix.Unlinkat(at, name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
	}
	return err
}

// full reports whether a folder was not removed because something is in it. A mount point
// is EBUSY.
func full(err error) bool { return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) }

// openAny opens a folder of any mode for removing what is in it. Its mode is changed
// through the descriptor: by name it could be a link meanwhile.
func openAny(at int, name string) (int, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(at, name, unix.O_RDONLY|flags, 0)
	if errors.Is(err, unix.EACCES) {
		var held int
		if held, err = unix.Openat(at, name, unix.O_PATH|flags, 0); err != nil {
			return -1, err
		}
		defer unix.Close(held)
		if err = unix.Chmod("/proc/self/fd/"+strconv.Itoa(held), 0o700); err != nil {
			return -1, err
		}
		fd, err = unix.Openat(held, ".", unix.O_RDONLY|flags, 0)
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Fchmod(fd, 0o700)
	}
	return fd, nil
}
