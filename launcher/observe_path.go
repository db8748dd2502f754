package launcher

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// openPath opens a name once, follows its links, and says where it led. The
// descriptor, not the name, is what rules are made of: replacing the name later
// does not move the grant (open(2), O_PATH).
func openPath(path string) PathFact {
	fd, target, err := openResolved(path)
	if err != nil {
		return PathFact{Err: &fs.PathError{Op: "open", Path: path, Err: err}}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return PathFact{Err: &fs.PathError{Op: "fstat", Path: path, Err: err}}
	}
	kind := st.Mode & unix.S_IFMT
	return PathFact{
		fd: fd, Target: target, Dir: kind == unix.S_IFDIR, Device: kind == unix.S_IFCHR || kind == unix.S_IFBLK,
		Socket: kind == unix.S_IFSOCK, Dev: st.Dev, Ino: st.Ino,
	}
}

// openResolved opens a name and says where it led. A clean path without a link in it
// leads to itself, which spares a look through /proc (openat2(2), RESOLVE_NO_SYMLINKS,
// Linux 5.6; where it is refused, as by an outer filter, the other way is as good).
func openResolved(path string) (fd int, target string, err error) {
	if filepath.IsAbs(path) && filepath.Clean(path) == path {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch {
		case err == nil:
			return fd, path, nil
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
			return -1, "", err
		}
	}
	if fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		return -1, "", err
	}
	if target, err = pathOf(fd); err != nil {
		unix.Close(fd)
		return -1, "", err
	}
	return fd, target, nil
}

// pathOf asks the kernel for the name of what a descriptor holds (proc(5),
// /proc/self/fd).
func pathOf(fd int) (string, error) {
	buf := make([]byte, 4097)
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf)
	if err != nil {
		return "", err
	}
	if n == len(buf) {
		return "", unix.ENAMETOOLONG
	}
	return string(buf[:n]), nil
}

// resolved is the real path of name, or name itself where it cannot be opened.
func resolved(name string) string {
	fd, target, err := openResolved(name)
	if err != nil {
		return name
	}
	unix.Close(fd)
	return target
}

// Inside reports whether child is parent or lies below it, both with their links
// resolved as far as they exist: a project file must not reach out through a link.
func Inside(child, parent string) bool {
	return policy.Below(resolvedPrefix(child), resolvedPrefix(parent))
}

// resolvedPrefix resolves the longest existing part of a clean absolute path. A link
// that leads nowhere counts as where it leads: what is made there later is there.
func resolvedPrefix(name string) string {
	rest, links := "", 0
	for at := name; ; {
		p := openPath(at)
		if p.Err == nil {
			p.close()
			return filepath.Join(p.Target, rest)
		}
		if link, err := os.Readlink(at); err == nil {
			if links++; links > maxLinks {
				return name
			}
			at = absolute(resolvedPrefix(filepath.Dir(at)), link)
			continue
		}
		if at == "/" {
			return name
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = filepath.Dir(at)
	}
}

// maxLinks is the kernel's own bound (path_resolution(7)).
const maxLinks = 40
