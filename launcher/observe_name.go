package launcher

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lookAt looks at one name. Its parents are not links; if one is, somebody exchanged it
// a moment ago, and that is an error. The last component is not followed either: what the
// kernel is to hold is the name.
func lookAt(path string) NameFact {
	n := NameFact{Path: path}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // an outer filter
		fd, err = unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return n
	case err != nil:
		n.Kind, n.Err = NameFile, &fs.PathError{Op: "open", Path: path, Err: err}
		return n
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && !spare(fd) {
		err = unix.EMFILE
	}
	if err != nil {
		unix.Close(fd)
		n.Kind, n.Err = NameFile, &fs.PathError{Op: "open", Path: path, Err: err}
		return n
	}
	n.fd, n.Kind = fd, nameKind(st.Mode)
	return n
}

// spare reports whether a start still has the descriptors that it needs once the one with
// number fd is held.
func spare(fd int) bool {
	var lim unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil || uint64(fd)+spareDescriptors < lim.Cur
}

// spareDescriptors are for what a start opens after the names: ruleset, pipes, relay.
const spareDescriptors = 128

func nameKind(mode uint32) NameKind {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return NameFolder
	case unix.S_IFLNK:
		return NameLink
	case unix.S_IFSOCK:
		return NameSocket
	}
	return NameFile
}

// parents resolves the folder that a name is in, and remembers the answer: the names of
// the protect table share theirs.
type parents map[string]string

func (p parents) of(path string) string {
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	real, ok := p[dir]
	if !ok {
		real = resolvedPrefix(dir)
		p[dir] = real
	}
	return filepath.Join(real, base)
}

// linksTo lists the symbolic links on the way to path, in the order in which they are
// met, and where it ends. ok is false if it ends nowhere.
func linksTo(path string) (links []LinkFact, end string, ok bool) {
	at, rest := "/", path
	for rest != "" {
		var part string
		part, rest = cutPart(rest)
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		text, err := readLink(next)
		switch {
		case err == nil:
			if len(links) == maxLinks {
				return nil, "", false
			}
			links = append(links, LinkFact{At: next, Text: text})
			if filepath.IsAbs(text) {
				at = "/"
			}
			rest = text + "/" + rest
		case errors.Is(err, unix.EINVAL): // no link
			at = next
		default:
			return nil, "", false
		}
	}
	return links, at, true
}

func cutPart(path string) (part, rest string) {
	for i := range len(path) {
		if path[i] == '/' {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}

func readLink(path string) (string, error) {
	buf := make([]byte, 4096)
	n, err := unix.Readlink(path, buf)
	if err != nil {
		return "", err
	}
	if n == len(buf) {
		return "", unix.ENAMETOOLONG
	}
	return string(buf[:n]), nil
}
