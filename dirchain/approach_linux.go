package dirchain

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// approach walks to an entry that is to be made, moved or removed, holds it and
// judges it: by its name before the walk, and by what the walk met. entire says
// that what is beneath it goes with it. With mode not 0 missing directories on the
// way are made; undo takes them back.
func (r *Root) approach(unsafePath string, held *Target, entire bool, mode uint32) (*Target, error) {
	parts, err := SplitPath(unsafePath)
	if err != nil {
		return nil, err
	}
	if err = r.acquire(); err != nil {
		return nil, err
	}
	last := len(parts) - 1
	t := &Target{path: unsafePath, leaf: parts[last], fd: -1}
	if err = r.kind; err == nil {
		if err = r.judge(parts, nil, entire); err == nil {
			if t.ch, err = r.walk(parts[:last], mode); err == nil {
				t.ids = t.ch.all()
			}
		}
	}
	if err != nil {
		r.release()
		return nil, err
	}
	if err = t.judged(parts, held, entire); err != nil {
		t.undo()
		return nil, err
	}
	return t, nil
}

func (t *Target) judged(parts []string, held *Target, entire bool) error {
	if err := t.ch.verify(); err != nil {
		return err
	}
	if err := t.look(); err != nil {
		return err
	}
	if err := t.ch.exact(0); err != nil { // only an empty directory can be made to fold: not the entry's any more
		return err
	}
	ids := t.ch.ids()
	if t.found {
		ids = append(ids, t.stat.ID)
	}
	if err := t.ch.r.judge(parts, ids, entire); err != nil {
		return err
	}
	return held.holds(t.ch, t.leaf, t.found, t.stat)
}

// undo lets go, and removes the directories that were made on the way.
func (t *Target) undo() {
	t.ch.undo()
	t.Close()
}

// still says whether what was judged is what is visible now.
func (t *Target) still() error {
	if err := t.ch.verify(); err != nil {
		return err
	}
	st, err := t.ch.r.statAt(t.ch.parent(), t.leaf)
	switch {
	case t.found && errors.Is(err, fs.ErrNotExist):
		return because(ErrChanged, "the entry is no longer there")
	case !t.found && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !t.found:
		return fs.ErrExist
	}
	return t.stat.sameEntry(st)
}

// sameEntry compares identity and type.
func (s Stat) sameEntry(o Stat) error {
	if s.ID != o.ID || s.Mode&unix.S_IFMT != o.Mode&unix.S_IFMT {
		return because(ErrChanged, "something else has the name")
	}
	return nil
}

// takeOut removes the entry leaf of the chain's last directory if check agrees: it
// first gets a random name, where nobody expects it, then it is looked at, and it
// goes or gets its name back.
func (ch *chain) takeOut(leaf string, check func(Stat) error) error {
	tmp, err := ch.setAside(leaf)
	if err != nil {
		return err
	}
	if err = ch.dropAside(tmp, check); err == nil {
		return nil
	}
	if back := ch.putBack(tmp, leaf); back != nil {
		return fmt.Errorf("%w; it is now %q: %w", err, tmp, back)
	}
	return err
}

// setAside gives an entry a random name.
func (ch *chain) setAside(leaf string) (string, error) {
	if err := ch.r.point("aside"); err != nil {
		return "", err
	}
	dir := ch.parent()
	for range maxAgain {
		tmp, err := tempName()
		if err != nil {
			return "", err
		}
		err = ch.r.renameat2(dir, leaf, dir, tmp, unix.RENAME_NOREPLACE)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		return tmp, exchanging(err)
	}
	return "", because(fs.ErrExist, "no free temporary name")
}

// dropAside removes what was set aside, if it is what was meant.
func (ch *chain) dropAside(tmp string, check func(Stat) error) error {
	if err := ch.r.point("drop"); err != nil {
		return err
	}
	if err := ch.verify(); err != nil {
		return err
	}
	st, err := ch.r.statAt(ch.parent(), tmp)
	if err != nil {
		return err
	}
	if err = check(st); err != nil {
		return err
	}
	flags := 0
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		flags = unix.AT_REMOVEDIR
	}
	return ch.r.unlinkat(ch.parent(), tmp, flags)
}

// putBack gives an entry its name again, which another one may have for a moment.
func (ch *chain) putBack(tmp, leaf string) (err error) {
	dir := ch.parent()
	for range takeBackTries {
		err = ch.r.renameat2(dir, tmp, dir, leaf, unix.RENAME_NOREPLACE)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		time.Sleep(takeBackWait)
	}
	return err
}
