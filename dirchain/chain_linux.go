package dirchain

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// link is one directory of a chain: held, and what it was when it was opened.
type link struct {
	fd   int
	name string // in the link before; the root's is empty
	id   Identity
	made bool // by this walk
	ours bool // by another write of the same batch
}

// chain is every directory from the root to the parent of a target.
type chain struct {
	r     *Root
	links []link // the first is the root's own descriptor
}

func (ch *chain) parent() int { return ch.links[len(ch.links)-1].fd }

// close closes what the walk opened. The root's own descriptor stays.
func (ch *chain) close() {
	for _, l := range ch.links[1:] {
		ch.r.close(l.fd)
	}
	ch.links = ch.links[:1]
}

// walk opens the directories dirs one after the other beneath the root. With mode
// not 0, a missing one is made with these permission bits (less the umask).
func (r *Root) walk(dirs []string, mode uint32) (*chain, error) {
	ch := &chain{r: r, links: make([]link, 1, len(dirs)+1)}
	ch.links[0] = link{fd: r.fd, id: r.id}
	for _, name := range dirs {
		if err := ch.step(name, mode); err != nil {
			ch.undo()
			return nil, err
		}
	}
	return ch, nil
}

// step adds one directory.
func (ch *chain) step(name string, mode uint32) error {
	parent, made := ch.parent(), false
	fd, st, err := ch.r.openStat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if mode != 0 && errors.Is(err, fs.ErrNotExist) {
		if err = ch.makeable(); err != nil {
			return err
		}
		err = ch.r.mkdirat(parent, name, mode)
		if made = err == nil; err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		fd, st, err = ch.r.openStat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		if made && err != nil { // its identity is not known, but what is not empty stays
			_ = ch.r.unlinkat(parent, name, unix.AT_REMOVEDIR)
		}
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, translated(err))
	}
	ch.links = append(ch.links, link{fd: fd, name: name, id: st.ID, made: made})
	if made { // only an empty directory can be made to fold (ioctl_iflags(2)): the parent no longer
		return ch.exact(len(ch.links) - 2)
	}
	return nil
}

// makeable looks once more before a directory is made: the walk down to here must
// still be what is visible, so that nothing is made in a directory that was moved
// away, and must not have come into a protected place under another name.
func (ch *chain) makeable() error {
	if err := ch.r.kind; err != nil {
		return err
	}
	if err := ch.r.judge(nil, ch.ids(), false); err != nil {
		return err
	}
	if err := ch.verify(); err != nil {
		return err
	}
	return ch.exact(len(ch.links) - 1)
}

// openStat opens one component beneath dir, on the same mount, and looks at it
// through the descriptor. Both walks are here.
func (r *Root) openStat(dir int, name string, flags int) (int, Stat, error) {
	var fd int
	var err error
	if r.old {
		fd, err = r.openat(dir, name, flags, 0)
	} else {
		fd, err = r.openat2(dir, name, flags, 0)
	}
	if err != nil {
		return -1, Stat{}, err
	}
	st, err := r.statAt(fd, "")
	if err == nil && r.old && st.ID.Mount != r.id.Mount {
		err = unix.EXDEV // what RESOLVE_NO_XDEV answers
	}
	if err != nil {
		r.close(fd)
		return -1, Stat{}, err
	}
	return fd, st, nil
}

// translated gives the errno of a walk its meaning. With O_NOFOLLOW|O_DIRECTORY
// Linux answers ENOTDIR for a link, not ELOOP.
func translated(err error) error {
	switch {
	case errors.Is(err, unix.ELOOP):
		return errors.Join(ErrLink, err)
	case errors.Is(err, unix.ENOTDIR):
		return errors.Join(ErrNotDirectory, err)
	case errors.Is(err, unix.EXDEV):
		return errors.Join(ErrMount, err)
	case errors.Is(err, unix.EAGAIN):
		return errors.Join(ErrBusy, err)
	}
	return err
}

// verify compares every visible directory of the chain with the held one: the
// root by its path, the others by their name in the one before. A held parent can
// be renamed away and another put in its place; the effect would then land in a
// directory that nobody named (contract brainkit §4.2 steps 3, 8 and 10).
func (ch *chain) verify() error {
	if err := ch.r.visible(); err != nil {
		return err
	}
	for i, l := range ch.links[1:] {
		st, err := ch.r.statAt(ch.links[i].fd, l.name)
		if err != nil {
			if absent(err) {
				return because(ErrChanged, fmt.Sprintf("%q is no longer there", l.name))
			}
			return err
		}
		if st.ID != l.id || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return because(ErrChanged, fmt.Sprintf("%q is another one now", l.name))
		}
	}
	return nil
}

// exact refuses directories that fold names, from the given link on.
func (ch *chain) exact(from int) error {
	for _, l := range ch.links[from:] {
		if err := ch.r.exactNames(l.fd); err != nil {
			return err
		}
	}
	return nil
}

// ids are the identities of the chain, the root left out.
func (ch *chain) ids() []Identity {
	ids := make([]Identity, 0, len(ch.links))
	for _, l := range ch.links[1:] {
		ids = append(ids, l.id)
	}
	return ids
}

// all is ids with the root.
func (ch *chain) all() []Identity { return append([]Identity{ch.r.id}, ch.ids()...) }

// sync makes durable what happened in the last directory, and the directories that
// this walk made: the name of each is in the one before.
func (ch *chain) sync() error {
	last := len(ch.links) - 1
	for i := last; i >= 0; i-- {
		if i < last && !ch.links[i+1].made {
			continue
		}
		if err := ch.r.fsync(ch.links[i].fd); err != nil {
			return err
		}
	}
	return nil
}

// undo removes the directories that this walk made, if they are still empty and
// still the same, and closes the chain. Names are looked at in the held parents.
func (ch *chain) undo() {
	for i := len(ch.links) - 1; i > 0; i-- {
		l := ch.links[i]
		if !l.made {
			continue
		}
		// Before Linux 5.8 the look takes a descriptor, which may be what is missing.
		// Then the name alone must do: only an empty directory can go.
		st, err := ch.r.statAt(ch.links[i-1].fd, l.name)
		if err == nil && st.ID != l.id || ch.r.unlinkat(ch.links[i-1].fd, l.name, unix.AT_REMOVEDIR) != nil {
			break
		}
	}
	ch.close()
}
