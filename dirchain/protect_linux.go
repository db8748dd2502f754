package dirchain

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// place is one protected place.
type place struct {
	path  string
	parts []string
	fd    int // what was there at the start, held so that its number is not given away; or -1
	id    Identity
}

// openProtected looks at the protected places once.
func (r *Root) openProtected() error {
	for _, path := range r.opts.Protect {
		parts, err := SplitPath(path)
		if err != nil {
			return fmt.Errorf("protect %q: %w", path, err)
		}
		p := place{path: path, parts: parts, fd: -1}
		if fd, id, err := r.peek(parts); err == nil {
			p.fd, p.id = fd, id
		} else if !absent(err) {
			return fmt.Errorf("protect %q: %w", path, err)
		}
		r.protect = append(r.protect, p)
	}
	return nil
}

func (r *Root) closeProtected() {
	for _, p := range r.protect {
		r.close(p.fd)
	}
}

// absent: nothing is there, or what is on the way is no directory of its own.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) ||
		errors.Is(err, unix.EXDEV)
}

// peek opens an entry with O_PATH, a link as itself.
func (r *Root) peek(parts []string) (int, Identity, error) {
	dir := r.fd
	for i, part := range parts {
		flags := unix.O_PATH | unix.O_NOFOLLOW
		if i < len(parts)-1 {
			flags |= unix.O_DIRECTORY
		}
		fd, st, err := r.openStat(dir, part, flags)
		if dir != r.fd {
			r.close(dir)
		}
		if err != nil {
			return -1, Identity{}, err
		}
		if i == len(parts)-1 {
			return fd, st.ID, nil
		}
		dir = fd
	}
	return -1, Identity{}, ErrPath
}

// judge refuses a target that is a protected place, lies in one, or, when the
// whole entry goes (moved, removed), holds one. ids are the identities of what the
// walk met, leaf included: they tell a place under a name that nobody listed.
func (r *Root) judge(parts []string, ids []Identity, entire bool) error {
	for _, p := range r.protect {
		n := min(len(p.parts), len(parts))
		if slices.Equal(p.parts[:n], parts[:n]) && (len(p.parts) <= len(parts) || entire) {
			return because(ErrProtected, fmt.Sprintf("%q", p.path))
		}
		if p.fd >= 0 && slices.Contains(ids, p.id) {
			return because(ErrProtected, fmt.Sprintf("%q under another name", p.path))
		}
		fd, id, err := r.peek(p.parts)
		if err != nil {
			if absent(err) {
				continue
			}
			return err
		}
		r.close(fd)
		if slices.Contains(ids, id) {
			return because(ErrProtected, fmt.Sprintf("%q under another name", p.path))
		}
	}
	return nil
}
