package dirchain

import (
	"context"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// RemoveRequest is one removal.
type RemoveRequest struct {
	// Held, when not nil, is the target that was judged.
	Held *Target
	// Base, when not nil, is the hash that the file must have ([ErrStale]); what is
	// no regular file is [ErrNotRegular] then.
	Base *Hash
}

// RemoveResult says what was removed. It counts also beside an error, as in
// [WriteResult].
type RemoveResult struct {
	Removed bool
	Stat    Stat // of the entry, before
	// Names is how many other names the file has, which are untouched: its content
	// is still there under them.
	Names uint32
}

// Remove removes one entry: a file, a link as itself, a FIFO, socket or device
// without opening it, or an empty directory (ENOTEMPTY otherwise). Of a file with
// several names this one goes. Exactly what was judged goes: for a moment the entry
// has a random name, and gets its own back when it is another one ([ErrChanged]).
func (r *Root) Remove(ctx context.Context, unsafePath string, req RemoveRequest) (RemoveResult, error) {
	res, err := r.remove(ctx, unsafePath, req)
	return res, named("remove", unsafePath, err)
}

func (r *Root) remove(ctx context.Context, unsafePath string, req RemoveRequest) (RemoveResult, error) {
	t, err := r.approach(unsafePath, req.Held, true, 0)
	if err != nil {
		return RemoveResult{}, err
	}
	defer t.Close()
	res := RemoveResult{Stat: t.stat}
	switch {
	case !t.found:
		return res, fs.ErrNotExist
	case t.stat.Mode&unix.S_IFMT == unix.S_IFDIR:
		if req.Base != nil {
			return res, because(ErrNotRegular, t.stat.Type().String())
		}
		err = t.removeEmpty(ctx)
	default:
		if req.Base != nil {
			err = t.baseHolds(ctx, *req.Base)
		}
		if err == nil {
			err = t.removeFile(ctx, req.Base != nil)
		}
	}
	if err != nil {
		return res, err
	}
	res.Removed = true
	if t.stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		res.Names = max(t.stat.Links, 1) - 1
	}
	if !r.opts.SkipSync {
		err = t.ch.sync()
	}
	return res, err
}

// baseHolds hashes the file, and keeps the look at what was hashed.
func (t *Target) baseHolds(ctx context.Context, base Hash) error {
	r := t.ch.r
	if t.stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return because(ErrNotRegular, t.stat.Type().String())
	}
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_NOCTTY
	fd, st, err := r.openStat(t.ch.parent(), t.leaf, flags)
	if err != nil {
		return translated(err)
	}
	defer r.close(fd)
	if err = t.stat.sameEntry(st); err != nil {
		return err
	}
	sum, _, err := r.sum(ctx, fd, st.Size, r.opts.MaxFile)
	if err != nil {
		return err
	}
	if sum != base {
		return because(ErrStale, "it is "+sum.String())
	}
	now, err := r.statAt(fd, "")
	if err == nil && !now.same(st) {
		err = because(ErrStale, "it was written to meanwhile")
	}
	t.stat = st
	return err
}

// removeFile removes what is not a directory. guarded: its content was judged.
func (t *Target) removeFile(ctx context.Context, guarded bool) error {
	r := t.ch.r
	unlock, err := r.lock(ctx, t.ch)
	if err != nil {
		return err
	}
	defer unlock()
	if err := t.removable(ctx); err != nil {
		return err
	}
	return t.ch.takeOut(t.leaf, func(st Stat) error {
		if err := t.stat.sameEntry(st); err != nil || !guarded {
			return err
		}
		// The status change is that of the renaming by now.
		if st.Size != t.stat.Size || !st.Modified.Equal(t.stat.Modified) {
			return because(ErrStale, "it was written to meanwhile")
		}
		return nil
	})
}

// removable is the last look before an entry goes.
func (t *Target) removable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return t.still()
}

// removeEmpty removes a directory. One that is not empty is told from an empty one
// before it is touched, where it can be read, so that it does not lose its name
// even for a moment.
func (t *Target) removeEmpty(ctx context.Context) error {
	r := t.ch.r
	unlock, err := r.lock(ctx, t.ch)
	if err != nil {
		return err
	}
	defer unlock()
	if err := t.removable(ctx); err != nil {
		return err
	}
	if fd, _, err := r.openStat(t.ch.parent(), t.leaf, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW); err == nil {
		empty, err := r.empty(fd)
		r.close(fd)
		if err == nil && !empty {
			return unix.ENOTEMPTY
		}
	}
	err = t.ch.takeOut(t.leaf, t.stat.sameEntry)
	if errors.Is(err, unix.EXDEV) {
		// Overlay without redirect_dir cannot rename a directory of a lower layer
		// (kernel Documentation/filesystems/overlayfs). rmdir takes an empty one
		// alone, so this is less exact by no more than the choice among those.
		err = t.removeInPlace()
	}
	return err
}

func (t *Target) removeInPlace() error {
	if err := t.still(); err != nil {
		return err
	}
	return t.ch.unlinkSame(t.ch.parent(), t.leaf, t.stat)
}
