package dirchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// commit gives the new file the target's name. What was judged is looked at again
// right before, and what came of it right after; when that is not what was meant,
// the exchange is taken back through the held parent.
func (s *staged) commit(ctx context.Context) error {
	err := s.publishAlone(ctx)
	if serr := s.sync(); err == nil {
		err = serr
	}
	return err
}

// publishAlone: one publication in a directory runs at a time, so that two of them
// never take back each other's. The locks are let go also when the caller's Before
// panics.
func (s *staged) publishAlone(ctx context.Context) error {
	unlock, err := s.r.lock(ctx, s.ch)
	if err != nil {
		return err
	}
	defer unlock()
	return s.publish(ctx)
}

// sync makes a publication durable, if there was one.
func (s *staged) sync() error {
	if !s.result.Applied || s.r.opts.SkipSync {
		return nil
	}
	return s.ch.sync()
}

// publish needs the locks.
func (s *staged) publish(ctx context.Context) error {
	if err := s.ask(ctx); err != nil {
		return err
	}
	if err := s.r.point("publish"); err != nil {
		return err
	}
	swapped, err := s.rename()
	if errors.Is(err, fs.ErrExist) && s.lastWins() {
		if err = s.again(ctx); err == nil {
			swapped, err = s.rename()
		}
	}
	if err != nil {
		return err
	}
	if err = s.verifyPublished(swapped); err != nil {
		return s.takeBack(swapped, err)
	}
	s.result.Applied = true
	if err = s.removeTemp(); err != nil { // the old file, when it was exchanged
		return fmt.Errorf("the replaced file is left beside it: %w", err)
	}
	return nil
}

// ask looks again at what was judged, asks the caller, who may take a while, and
// looks once more.
func (s *staged) ask(ctx context.Context) error {
	if err := s.stillJudged(ctx); err != nil || s.req.Before == nil {
		return err
	}
	if err := s.req.Before(context.WithValue(ctx, asking{s.r}, true)); err != nil {
		return err
	}
	return s.stillJudged(ctx)
}

// stillJudged repeats the looks of prepare.
func (s *staged) stillJudged(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.ch.verify(); err != nil {
		return err
	}
	if err := s.untouched(); err != nil {
		return err
	}
	st, err := s.r.statAt(s.ch.parent(), s.leaf)
	switch {
	case s.old < 0 && errors.Is(err, fs.ErrNotExist):
		return nil
	case s.old < 0 && err == nil && s.lastWins():
		return s.again(ctx)
	case s.old < 0 && err == nil:
		return fs.ErrExist
	case errors.Is(err, fs.ErrNotExist):
		return because(ErrChanged, "the file is no longer there")
	case err != nil:
		return err
	}
	if err = s.replaceable(st); err != nil {
		return err
	}
	if st.ID != s.before.ID {
		err = s.otherFile()
	} else {
		err = s.sameRights(st)
	}
	if err != nil {
		return err
	}
	if st.same(s.before) {
		return s.baseHolds(ctx)
	}
	if s.guarded() {
		return because(ErrStale, "it was written to meanwhile")
	}
	return s.again(ctx)
}

// untouched: the temporary name has the new file, as it was written.
func (s *staged) untouched() error {
	st, err := s.r.statAt(s.ch.parent(), s.tmp)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return because(ErrChanged, "the new file is no longer there")
	case err != nil:
		return err
	case st.ID != s.wrote.ID || st.Links != 1:
		return because(ErrChanged, "the new file was exchanged")
	case st.Size != s.wrote.Size || !st.Modified.Equal(s.wrote.Modified):
		return because(ErrChanged, "somebody else wrote to the new file")
	}
	return nil
}

// guarded: the new content depends on the old.
func (s *staged) guarded() bool { return s.req.Base != nil || s.req.Mode == Append }

func (s *staged) otherFile() error {
	switch {
	case s.req.Held != nil:
		return because(ErrChanged, "the file was exchanged")
	case s.guarded():
		return because(ErrStale, "the file was exchanged")
	}
	return nil // the last rename wins, as with any two writers
}

// sameRights: what the new file was given is still what the old one has, which may
// have been narrowed meanwhile.
func (s *staged) sameRights(st Stat) error {
	if st.Mode != s.before.Mode || st.UID != s.before.UID || st.GID != s.before.GID {
		return because(ErrChanged, "its owner or permission bits were changed")
	}
	return nil
}

// lastWins: the caller asked for this content whatever is there.
func (s *staged) lastWins() bool {
	return s.req.Mode == CreateOrReplace && !s.guarded() && s.req.Held == nil
}

// again judges anew what has the target's name, when another writer was there
// since the look and the last one wins: the new file is never open to more than
// the one that it replaces.
func (s *staged) again(ctx context.Context) error {
	s.r.close(s.old)
	s.old, s.result.Created = -1, false
	if err := s.openOld(ctx); err != nil || s.old < 0 {
		return err
	}
	if err := s.r.judge(s.parts, []Identity{s.before.ID}, false); err != nil {
		return err
	}
	st, err := s.r.statAt(s.fd, "")
	if err != nil {
		return err
	}
	return s.takeOver(st)
}

// rename publishes: a new file without ever replacing one, an existing one by
// exchange, so that what was displaced has the temporary name, and can be looked
// at and put back. Every file system that can be written to has both (Linux 4.7);
// there is no other way, in which something could be lost unseen.
func (s *staged) rename() (swapped bool, err error) {
	dir := s.ch.parent()
	if s.old >= 0 {
		err = s.r.renameat2(dir, s.tmp, dir, s.leaf, unix.RENAME_EXCHANGE)
		return err == nil, exchanging(err)
	}
	if err = s.r.renameat2(dir, s.tmp, dir, s.leaf, unix.RENAME_NOREPLACE); err == nil {
		s.tmp = "" // it has the target's name now
	}
	return false, exchanging(err)
}

// exchanging gives the errno of a file system, or of an outer filter, that does not
// know the flags of renameat2(2) its meaning.
func exchanging(err error) error {
	if unsupported(err) {
		return fmt.Errorf("%w (no rename that exchanges or replaces nothing): %w", ErrFilesystem, err)
	}
	return err
}

func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS)
}

// verifyPublished: the chain is still the visible one, the target is our file and
// has one name, and what was displaced is what was judged.
func (s *staged) verifyPublished(swapped bool) error {
	if err := s.r.point("published"); err != nil {
		return err
	}
	if err := s.ch.verify(); err != nil {
		return err
	}
	st, err := s.r.statAt(s.ch.parent(), s.leaf)
	if err != nil {
		return err
	}
	if st.ID != s.wrote.ID || st.Links != 1 {
		return because(ErrChanged, "the target is not the file that was written")
	}
	if !swapped {
		return nil
	}
	if st, err = s.r.statAt(s.ch.parent(), s.tmp); errors.Is(err, fs.ErrNotExist) {
		s.tmp = "" // somebody tidied up, and there is nothing to put back
		return nil
	}
	if err != nil {
		return err
	}
	s.spare = st.ID
	return s.displaced(st)
}

// displaced judges what the new file has replaced.
func (s *staged) displaced(st Stat) error {
	if st.ID != s.before.ID {
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			return because(ErrChanged, "what was there is no longer a regular file")
		}
		if err := s.otherFile(); err != nil {
			return err
		}
		if err := s.r.judge(s.parts, []Identity{st.ID}, false); err != nil {
			return err
		}
	}
	if err := s.sameRights(st); err != nil {
		return err
	}
	if s.guarded() && (st.Size != s.before.Size || !st.Modified.Equal(s.before.Modified)) {
		return because(ErrStale, "it was written to meanwhile")
	}
	return nil
}
