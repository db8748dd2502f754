package dirchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// RenameRequest is one move.
type RenameRequest struct {
	// Replace allows the new name to be that of a regular file with one name, which
	// goes. What is moved is no directory then.
	Replace bool
	// HeldFrom and HeldTo, when not nil, are the targets that were judged.
	HeldFrom, HeldTo *Target
}

// RenameResult says what was done. It counts also beside an error, as in [WriteResult].
type RenameResult struct {
	Renamed  bool
	Stat     Stat  // of what was moved, before
	Replaced *Stat // of the file that is gone
}

// Rename gives an entry beneath the root another name there: a file, a link as
// itself, or a directory with what is in it. Parents of the new name must exist,
// and what has it already is fs.ErrExist without Replace. Set-id and sticky files
// are [ErrMode], moving a directory into itself is [ErrPath], and a file system that
// can neither rename without replacing nor exchange is [ErrFilesystem].
//
// A directory is not searched. It is refused when a protected path lies beneath
// its old or its new name; what lies in it by another name of a protected file
// (a hard link) is moved, and the protected name stays. For a moment the entry has a
// random name, first beside the old one and then beside the new one; what is not
// the judged one never gets further than that.
func (r *Root) Rename(ctx context.Context, unsafeFrom, unsafeTo string, req RenameRequest) (RenameResult, error) {
	res, err := r.rename(ctx, unsafeFrom, unsafeTo, req)
	return res, named("rename", unsafeFrom, err)
}

func (r *Root) rename(ctx context.Context, unsafeFrom, unsafeTo string, req RenameRequest) (RenameResult, error) {
	from, err := r.approach(unsafeFrom, req.HeldFrom, true, 0)
	if err != nil {
		return RenameResult{}, err
	}
	defer from.Close()
	if err = movable(from); err != nil {
		return RenameResult{}, err
	}
	to, err := r.approach(unsafeTo, req.HeldTo, true, 0)
	if err != nil {
		return RenameResult{}, fmt.Errorf("to %q: %w", unsafeTo, err)
	}
	defer to.Close()
	m := &move{r: r, from: from, to: to}
	if err = m.judge(req.Replace); err != nil {
		return RenameResult{}, fmt.Errorf("to %q: %w", unsafeTo, err)
	}
	res := RenameResult{Stat: from.stat}
	if err = m.publish(ctx); err != nil {
		return res, fmt.Errorf("to %q: %w", unsafeTo, err)
	}
	if res.Renamed = true; to.found {
		res.Replaced = &to.stat
	}
	return res, m.sync()
}

// move is one judged rename: both ends are held.
type move struct {
	r        *Root
	from, to *Target
	tmp      string // the random name
	at       *chain // in whose last directory the entry has it; nil when it has its own
}

// movable judges what is to be moved. Pure.
func movable(t *Target) error {
	switch {
	case !t.found:
		return fs.ErrNotExist
	case t.stat.Mode&unix.S_IFMT == unix.S_IFREG && t.stat.Mode&0o7000 != 0:
		return because(ErrMode, fmt.Sprintf("the file has %#o", t.stat.Mode&0o7777))
	}
	return nil
}

// judge decides what the looks at both ends allow. Pure.
func (m *move) judge(replace bool) error {
	from, to := m.from.stat, m.to.stat
	directory := from.Mode&unix.S_IFMT == unix.S_IFDIR
	switch {
	case directory && slices.Contains(m.to.ch.ids(), from.ID):
		return because(ErrPath, "a directory cannot be moved into itself")
	case !m.to.found:
		return nil
	case !replace:
		return fs.ErrExist
	case directory:
		return because(ErrNotRegular, "a directory replaces nothing")
	case m.from.leaf == m.to.leaf && m.from.Parent() == m.to.Parent():
		return because(ErrPath, "it has that name")
	}
	return replaceableBy(to)
}

// replaceableBy says whether another entry may take the place of this one. Pure.
func replaceableBy(st Stat) error {
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return ErrLink
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return because(ErrNotRegular, st.Type().String())
	case st.Mode&0o7000 != 0:
		return because(ErrMode, fmt.Sprintf("the file has %#o", st.Mode&0o7777))
	case st.Links != 1:
		return ErrLinked
	}
	return nil
}

// publish moves the entry and looks at what came of it. What was not judged never
// gets the new name, nor comes into the old directory: the entry first gets a
// random name where it is and is looked at, comes with that name to the other
// directory and is looked at again, and then gets the new name.
func (m *move) publish(ctx context.Context) error {
	unlock, err := m.r.lock(ctx, m.from.ch, m.to.ch)
	if err != nil {
		return err
	}
	defer unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.from.still(); err != nil {
		return err
	}
	if err := m.to.still(); err != nil {
		return err
	}
	tmp, err := m.from.ch.setAside(m.from.leaf)
	if err != nil {
		return err
	}
	m.tmp, m.at = tmp, m.from.ch
	if err = m.ours(m.at, tmp); err == nil {
		err = m.cross(m.to.ch)
	}
	if err == nil { // what has an entry cannot be made to fold any more
		err = m.to.ch.exact(len(m.to.ch.links) - 1)
	}
	if err == nil {
		err = m.name()
	}
	if err == nil || m.at == nil {
		return err
	}
	if back := m.home(); back != nil {
		return fmt.Errorf("%w; %w", err, back)
	}
	return err
}

// ours says whether a name is that of the entry that was judged.
func (m *move) ours(ch *chain, name string) error {
	if err := m.r.point("ours"); err != nil {
		return err
	}
	st, err := m.r.statAt(ch.parent(), name)
	if err != nil {
		return err
	}
	return m.from.stat.sameEntry(st)
}

// cross brings the entry with its random name to the other directory. What then
// turns out to be another one stays under that name: whoever may write to one
// directory alone could otherwise have it brought to the other.
func (m *move) cross(ch *chain) error {
	if m.from.Parent() == m.to.Parent() {
		return nil
	}
	err := m.r.renameat2(m.at.parent(), m.tmp, ch.parent(), m.tmp, unix.RENAME_NOREPLACE)
	if err != nil {
		return err
	}
	m.at = ch
	if err = m.ours(ch, m.tmp); err != nil {
		return err
	}
	return ch.exact(len(ch.links) - 1) // what has an entry cannot be made to fold any more
}

// name gives the entry its new name: a free one without ever replacing, a taken one
// by exchange, so that what was displaced can be looked at and put back.
func (m *move) name() error {
	if err := m.r.point("publish"); err != nil {
		return err
	}
	dir, swapped, flags := m.to.ch.parent(), m.to.found, uint(unix.RENAME_NOREPLACE)
	if swapped {
		flags = unix.RENAME_EXCHANGE
	}
	if err := m.r.renameat2(dir, m.tmp, dir, m.to.leaf, flags); err != nil {
		return exchanging(err)
	}
	err := m.arrived(swapped)
	if err == nil && swapped {
		if err = m.r.unlinkat(dir, m.tmp, 0); errors.Is(err, fs.ErrNotExist) {
			err = nil // somebody tidied up
		}
	}
	if err != nil {
		if back := m.unname(swapped); back != nil {
			m.at = nil
			return fmt.Errorf("%w; %w", err, back)
		}
		return err
	}
	m.at = nil
	return nil
}

// arrived: both chains are still the visible ones, the new name is that of what was
// judged, and the random one that of what was displaced.
func (m *move) arrived(swapped bool) error {
	if err := m.r.point("published"); err != nil {
		return err
	}
	if err := m.from.ch.verify(); err != nil {
		return err
	}
	if err := m.to.ch.verify(); err != nil {
		return err
	}
	if err := m.ours(m.to.ch, m.to.leaf); err != nil || !swapped {
		return err
	}
	st, err := m.r.statAt(m.to.ch.parent(), m.tmp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody tidied up, and there is nothing to put back
	}
	if err == nil {
		err = m.to.stat.sameEntry(st)
	}
	if err == nil {
		err = replaceableBy(st)
	}
	return err
}

// sync makes both directories durable.
func (m *move) sync() error {
	if m.r.opts.SkipSync {
		return nil
	}
	if err := m.to.ch.sync(); err != nil || m.to.Parent() == m.from.Parent() {
		return err
	}
	return m.from.ch.sync()
}
