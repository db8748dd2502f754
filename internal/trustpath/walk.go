package trustpath

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// walk is one lookup. It holds exactly one descriptor besides the root's: where
// it stands. A name is opened once and only the opened thing is looked at.
type walk struct {
	root  int
	cur   int
	at    string // absolute, for messages
	todo  []string
	links int
	rule  Rule
}

// components splits a path; empty elements and "." name the same directory.
func components(path string) []string {
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// restart stands at the root directory and judges it.
func (w *walk) restart() error {
	fd, err := openat(w.root, ".", "/")
	if err != nil {
		return err
	}
	closeFD(w.cur)
	w.cur, w.at = fd, "/"
	_, err = w.look(fd, "/")
	return err
}

// step takes the next name.
func (w *walk) step() error {
	name := w.todo[0]
	path := strings.TrimSuffix(w.at, "/") + "/" + name
	fd, err := openat(w.cur, name, path)
	if err != nil {
		return err
	}
	m, err := w.look(fd, path)
	if err != nil {
		closeFD(fd)
		return err
	}
	w.todo = w.todo[1:]
	if m.mode&unix.S_IFMT != unix.S_IFLNK {
		closeFD(w.cur)
		w.cur, w.at = fd, path
		return nil
	}
	defer closeFD(fd)
	return w.follow(fd, path)
}

// follow puts a symbolic link's target in front of what is left to do.
func (w *walk) follow(link int, path string) error {
	if w.links++; w.links > maxLinks {
		return &fs.PathError{Op: "readlinkat", Path: path, Err: unix.ELOOP}
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(link, "", buf)
	if err != nil {
		return &fs.PathError{Op: "readlinkat", Path: path, Err: err}
	}
	if n == len(buf) {
		return &fs.PathError{Op: "readlinkat", Path: path, Err: unix.ENAMETOOLONG}
	}
	target := string(buf[:n])
	w.todo = append(components(target), w.todo...)
	if strings.HasPrefix(target, "/") {
		return w.restart()
	}
	return nil
}

// look reads what judge needs from an opened component and judges it.
func (w *walk) look(fd int, path string) (meta, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return meta{}, &fs.PathError{Op: "fstat", Path: path, Err: err}
	}
	m := meta{id: ID{Dev: st.Dev, Ino: st.Ino}, uid: st.Uid, gid: st.Gid, mode: st.Mode}
	if m.mode&unix.S_IFMT != unix.S_IFLNK && m.mode&0o020 != 0 {
		var err error
		if m.acl, err = hasACL(fd, path); err != nil {
			return meta{}, err
		}
	}
	if reason := w.rule.judge(m); reason != "" {
		return meta{}, &Error{Component: path, Reason: reason}
	}
	return m, nil
}

// hasACL goes through /proc because fgetxattr refuses an O_PATH descriptor
// (EBADF, open(2)).
func hasACL(fd int, path string) (bool, error) {
	_, err := unix.Getxattr(procPath(fd), "system.posix_acl_access", nil)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.ENODATA), errors.Is(err, unix.EOPNOTSUPP):
		return false, nil
	}
	return false, &fs.PathError{Op: "getxattr", Path: path, Err: err}
}

func openat(dir int, name, path string) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return -1, &fs.PathError{Op: "openat", Path: path, Err: err}
		}
		return fd, nil
	}
}

func closeFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd) // nothing was written through an O_PATH descriptor
	}
}

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
