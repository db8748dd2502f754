package sys

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// ReadFile reads a regular file of at most limit bytes. Links are followed. A FIFO, a
// device or a folder is EINVAL and never waited for, a longer file EFBIG; errors are
// *fs.PathError.
func ReadFile(path string, limit int) ([]byte, error) {
	fd, err := open(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &fs.PathError{Op: "fstat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &fs.PathError{Op: "read", Path: path, Err: unix.EINVAL}
	}
	size := max(int(st.Size)+1, 512)
	if st.Size == 0 {
		size = 4096 // in /proc no file has a size
	}
	buf := make([]byte, 0, min(size, limit+1))
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):min(cap(buf), limit+1)])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		buf = buf[:len(buf)+n]
		if len(buf) > limit {
			return nil, &fs.PathError{Op: "read", Path: path, Err: unix.EFBIG}
		}
		if n == 0 {
			return buf, nil
		}
	}
}

// ReadDirNames lists a folder in the kernel's order, without "." and ".." and without
// looking at the entries.
func ReadDirNames(path string) ([]string, error) {
	fd, err := open(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return Names(fd, path)
}

// Names lists the folder that fd holds; path is for the error.
func Names(fd int, path string) ([]string, error) {
	var names []string
	buf := make([]byte, 8192)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "getdents64", Path: path, Err: err}
		}
		if n == 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func open(path string, flags int) (int, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return -1, &fs.PathError{Op: "open", Path: path, Err: unix.EINVAL}
	}
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return fd, nil
	}
}
