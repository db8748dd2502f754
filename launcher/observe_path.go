package launcher

import (
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
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return PathFact{Err: &fs.PathError{Op: "open", Path: path, Err: err}}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return PathFact{Err: &fs.PathError{Op: "fstat", Path: path, Err: err}}
	}
	p := PathFact{fd: fd, Dir: st.Mode&unix.S_IFMT == unix.S_IFDIR, Dev: st.Dev, Ino: st.Ino}
	if p.Target, err = pathOf(fd); err != nil {
		unix.Close(fd)
		return PathFact{Err: &fs.PathError{Op: "readlink", Path: path, Err: err}}
	}
	return p
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
	p := openPath(name)
	defer p.close()
	if p.Err != nil {
		return name
	}
	return p.Target
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
