package dirchain

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// place is one protected place. What was there first and what was seen last are
// held, so that they are known when they are moved, and their numbers are not given
// away. More is not: who can exchange what is there could have any number held.
type place struct {
	path  string
	parts []string

	first, last pin // Root.mu
}

// pin is what was seen once, held with O_PATH; nothing when fd is -1.
type pin struct {
	fd int
	id Identity
}

// openProtected looks at the protected places once.
func (r *Root) openProtected() error {
	for _, path := range r.opts.Protect {
		parts, err := SplitPath(path)
		if err != nil {
			return fmt.Errorf("protect %q: %w", path, err)
		}
		p := &place{path: path, parts: parts, first: pin{fd: -1}, last: pin{fd: -1}}
		r.protect = append(r.protect, p)
		if _, err = r.identities(p); err != nil {
			return fmt.Errorf("protect %q: %w", path, err)
		}
	}
	return nil
}

func (r *Root) closeProtected() {
	for _, p := range r.protect {
		r.close(p.first.fd)
		r.close(p.last.fd)
	}
}

// identities are those of what is at a protected place and of what was there.
func (r *Root) identities(p *place) ([]Identity, error) {
	fd, id, err := r.peek(p.parts)
	if err != nil && !absent(err) {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		for _, fd := range p.see(pin{fd, id}) {
			r.close(fd)
		}
	}
	var ids []Identity
	for _, seen := range []pin{p.first, p.last} {
		if seen.fd >= 0 {
			ids = append(ids, seen.id)
		}
	}
	return ids, nil
}

// see keeps what was seen, and gives the descriptors that are no longer used. When
// the first one is back, what was there meanwhile is no protected place any more.
func (p *place) see(now pin) (unused [2]int) {
	switch {
	case p.first.fd < 0:
		p.first = now
		return [2]int{-1, -1}
	case now.id == p.first.id:
		unused, p.last = [2]int{now.fd, p.last.fd}, pin{fd: -1}
	default:
		unused, p.last = [2]int{p.last.fd, -1}, now
	}
	return unused
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
		known, err := r.identities(p)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(known, func(id Identity) bool { return slices.Contains(ids, id) }) {
			return because(ErrProtected, fmt.Sprintf("%q under another name", p.path))
		}
	}
	return nil
}
