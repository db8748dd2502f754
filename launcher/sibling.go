package launcher

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openSibling finds one of brainbox's own helpers: beside the running executable, then in
// ../libexec/brainbox; never by PATH and never by a variable. It must be a regular file
// of root or of the caller, and neither it nor its folder may be writable by others. The
// returned descriptor (O_PATH) is what is executed.
func openSibling(name string) (*os.File, error) {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(exe)
	for _, at := range []string{dir, filepath.Join(dir, "../libexec/brainbox")} {
		f, err := openHelper(at, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return f, err
	}
	return nil, &Refusal{
		Status: StatusRefused, Message: "the helper " + name + " is not beside " + quotePath(exe),
		Hint: "install it from the same build",
	}
}

// OpenSibling is openSibling for the command, which starts some of them itself.
func OpenSibling(name string) (*os.File, error) { return openSibling(name) }

func openHelper(dir, name string) (*os.File, error) {
	d, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(d)
	path := dir + "/" + name
	fd, err := unix.Openat(d, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "openat", Path: path, Err: err}
	}
	for _, check := range []struct {
		fd   int
		path string
		kind uint32
	}{{d, dir, unix.S_IFDIR}, {fd, path, unix.S_IFREG}} {
		var st unix.Stat_t
		err := unix.Fstat(check.fd, &st)
		trusted := st.Uid == 0 || int(st.Uid) == os.Geteuid() || ownsUs(st.Uid)
		if err != nil || st.Mode&unix.S_IFMT != check.kind || !trusted || st.Mode&0o022 != 0 {
			unix.Close(fd)
			return nil, &Refusal{
				Status: StatusRefused, Message: quotePath(check.path) + " could be changed by others",
				Hint: "it must be root's or yours, and not writable by group or others",
			}
		}
	}
	return os.NewFile(uintptr(fd), path), nil
}
