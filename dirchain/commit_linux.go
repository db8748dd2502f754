package dirchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// commit gives the new file the target's name. What was judged is looked at again
// right before, and what came of it right after; when that is not what was meant,
// the exchange is taken back through the held parent.
func (s *staged) commit(ctx context.Context) error {
	err := s.publish(ctx)
	if serr := s.sync(); err == nil {
		err = serr
	}
	return err
}

// sync makes a publication durable, if there was one.
func (s *staged) sync() error {
	if !s.result.Applied || s.r.opts.SkipSync {
		return nil
	}
	return s.ch.sync()
}

// publish: one publication of a root runs at a time, so that two of them never
// take back each other's. The lock is let go also when the caller's Before panics.
func (s *staged) publish(ctx context.Context) error {
	s.r.publish.Lock()
	defer s.r.publish.Unlock()
	if err := s.ask(ctx); err != nil {
		return err
	}
	if err := s.r.point("publish"); err != nil {
		return err
	}
	swapped, err := s.rename()
	if errors.Is(err, fs.ErrExist) && s.lastWins() {
		swapped, err = s.overtake(ctx)
	}
	if err != nil {
		return err
	}
	if !swapped {
		s.tmp = "" // it has the target's name now
	}
	if err = s.verifyPublished(swapped); err != nil {
		s.takeBack(swapped)
		return err
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
	if err := s.req.Before(ctx); err != nil {
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
	st, err := s.r.statAt(s.ch.parent(), s.leaf)
	switch {
	case s.old < 0 && errors.Is(err, fs.ErrNotExist):
		return nil
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
		return s.otherFile()
	}
	if err = s.sameRights(st); err != nil {
		return err
	}
	if s.guarded() && !st.same(s.before) {
		return because(ErrStale, "it was written to meanwhile")
	}
	return s.baseHolds(ctx)
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

// overtake replaces a file that another writer made since the look.
func (s *staged) overtake(ctx context.Context) (bool, error) {
	if err := s.openOld(ctx); err != nil {
		return false, err
	}
	if s.old < 0 {
		return s.rename()
	}
	s.result.Created = false
	st, err := s.r.statAt(s.fd, "")
	if err == nil {
		err = s.takeOver(st)
	}
	if err != nil {
		return false, err
	}
	return s.rename()
}

// rename publishes: a new file without ever replacing one, an existing one by
// exchange, so that what was displaced can be looked at and put back. Where the
// file system has no exchange, by a plain rename.
func (s *staged) rename() (swapped bool, err error) {
	dir := s.ch.parent()
	if s.old >= 0 {
		err = s.r.renameat2(dir, s.tmp, dir, s.leaf, unix.RENAME_EXCHANGE)
		if unsupported(err) {
			return false, s.r.renameat2(dir, s.tmp, dir, s.leaf, 0)
		}
		return err == nil, err
	}
	err = s.r.renameat2(dir, s.tmp, dir, s.leaf, unix.RENAME_NOREPLACE)
	if unsupported(err) {
		if err = s.r.linkat(dir, s.tmp, dir, s.leaf); err == nil {
			err = s.r.unlinkat(dir, s.tmp, 0)
		}
	}
	return false, err
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
	if st.ID != s.id || st.Links != 1 {
		return because(ErrChanged, "the target is not the file that was written")
	}
	if !swapped {
		return nil
	}
	if st, err = s.r.statAt(s.ch.parent(), s.tmp); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return because(ErrChanged, "what was there is no longer a regular file")
	}
	if st.ID != s.before.ID {
		return s.otherFile()
	}
	if err = s.sameRights(st); err != nil {
		return err
	}
	if s.guarded() && (st.Size != s.before.Size || !st.Modified.Equal(s.before.Modified)) {
		return because(ErrStale, "it was written to meanwhile")
	}
	return nil
}

// takeBack undoes a publication in the held parent. What is anybody else's by now
// is left alone. Another process that met our file may be about to put it back, so
// a displaced file waits a little for its name.
func (s *staged) takeBack(swapped bool) {
	dir := s.ch.parent()
	for range takeBackTries {
		st, err := s.r.statAt(dir, s.leaf)
		ours := err == nil && st.ID == s.id
		switch {
		case !swapped:
			if ours {
				_ = s.r.unlinkat(dir, s.leaf, 0)
			}
			return
		case ours && s.r.renameat2(dir, s.tmp, dir, s.leaf, unix.RENAME_EXCHANGE) == nil:
			return // the temporary name has our file again, and is removed with it
		case errors.Is(err, fs.ErrNotExist) && s.r.renameat2(dir, s.tmp, dir, s.leaf, unix.RENAME_NOREPLACE) == nil:
			s.tmp = "" // our file is gone, and the displaced one has its name again
			return
		}
		time.Sleep(takeBackWait)
	}
}

// After this long whoever has the target's name means to keep it.
const (
	takeBackTries = 50
	takeBackWait  = time.Millisecond
)
