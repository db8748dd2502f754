package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/strictjson"
)

// ErrUnsafe says that others could read or change what is kept: another owner, a mode with
// more than the owner's bits, a link, or no regular file.
var ErrUnsafe = errors.New("state: could be read or changed by others")

// Dir is the state folder, held open.
type Dir struct {
	fd   int
	path string
}

// Open opens the folder path, which is absolute, and makes it and what is missing above
// it, 0700. It must be the caller's, and no other may write it; else ErrUnsafe.
func Open(path string) (*Dir, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, &fs.PathError{Op: "open", Path: path, Err: unix.EINVAL}
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	return Existing(path)
}

// Existing is Open for a reader: nothing is made.
func Existing(path string) (*Dir, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return nil, &fs.PathError{Op: "fstat", Path: path, Err: err}
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		_ = unix.Close(fd)
		return nil, unsafeFile(path, &st)
	}
	return &Dir{fd: fd, path: path}, nil
}

// Path is how the folder was named.
func (d *Dir) Path() string { return d.path }

// Close closes the folder. A second call has no effect.
func (d *Dir) Close() {
	if d.fd >= 0 {
		_ = unix.Close(d.fd)
		d.fd = -1
	}
}

// OpenFile opens a file of the folder, with openat(2)'s flags; no link is followed. It must
// be a regular file of the caller's with mode 0600 or less, and one name; else ErrUnsafe. One that is made is
// 0600 whatever the umask.
func (d *Dir) OpenFile(name string, flags int) (*os.File, error) {
	path := d.path + "/" + name
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return nil, &fs.PathError{Op: "openat", Path: path, Err: unix.EINVAL}
	}
	// Without O_NONBLOCK the open of a FIFO would wait for its other end.
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0o600)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "openat", Path: path, Err: err}
	}
	if err := checkFile(fd, path); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	// os.NewFile would hand a descriptor with O_NONBLOCK to the poller; regular files know none.
	if err := unix.SetNonblock(fd, false); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Stat looks at a name of the folder; a link is not followed.
func (d *Dir) Stat(name string, st *unix.Stat_t) error {
	if err := unix.Fstatat(d.fd, name, st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "fstatat", Path: d.path + "/" + name, Err: err}
	}
	return nil
}

// Sync puts the names of the folder on the disk.
func (d *Dir) Sync() error { return os.NewSyscallError("fsync", unix.Fsync(d.fd)) }

// checkFile judges what was opened.
func checkFile(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "fstat", Path: path, Err: err}
	}
	// More than one name: it was made elsewhere, by somebody who can still open it.
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o177 != 0 || st.Nlink > 1 {
		return unsafeFile(path, &st)
	}
	return nil
}

func unsafeFile(path string, st *unix.Stat_t) error {
	return fmt.Errorf("%w: %s (mode %o, uid %d, %d names)", ErrUnsafe, strictjson.Escape(path), st.Mode, st.Uid, st.Nlink)
}

// retry calls f again while a signal interrupts it.
func retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
