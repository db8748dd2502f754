package dirchain

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// takeBack undoes a publication in the held parent, and gives the error that it
// is undone for. What is anybody else's by now is left alone; a displaced file that
// cannot have its name again keeps the temporary one.
func (s *staged) takeBack(swapped bool, why error) error {
	undo := s.takeBackNew
	if swapped {
		undo = s.putBack
	}
	err := undo()
	if s.result.Kept != "" {
		why = fmt.Errorf("%w; what was there is kept as %q", why, s.result.Kept)
	}
	if err != nil {
		why = fmt.Errorf("%w; it could not be undone: %w", why, err)
	}
	return why
}

// After this long whoever has the target's name means to keep it.
const (
	takeBackTries  = 50
	takeBackAtOnce = 20
	takeBackWait   = time.Millisecond
)

// putBack exchanges the displaced file and ours, when ours has the target's name.
// Another program may be as fast: what has the temporary name then is put back by
// one more exchange, which may meet ours. A program that exchanges in turns waits
// for the lock of the directory in step with us, so a look before the exchange
// tells nothing, and only the one after it counts.
func (s *staged) putBack() error {
	dir := s.ch.parent()
	displaced, err := s.r.statAt(dir, s.tmp)
	if errors.Is(err, fs.ErrNotExist) {
		s.tmp = ""
		return fmt.Errorf("the file that was there: %w", err)
	}
	has := displaced.ID
	for try := range takeBackTries {
		st, err := s.r.statAt(dir, s.leaf)
		switch {
		case has == displaced.ID && errors.Is(err, fs.ErrNotExist) &&
			s.r.renameat2(dir, s.tmp, dir, s.leaf, unix.RENAME_NOREPLACE) == nil:
			s.tmp = "" // our file is gone, and the displaced one has its name again
			return nil
		case has == displaced.ID && (err != nil || st.ID != s.wrote.ID):
		case s.r.renameat2(dir, s.tmp, dir, s.leaf, unix.RENAME_EXCHANGE) == nil:
			if st, err = s.r.statAt(dir, s.tmp); err != nil || st.ID == s.wrote.ID {
				s.spare = s.wrote.ID
				return nil
			}
			has = st.ID
		}
		if try >= takeBackAtOnce {
			time.Sleep(takeBackWait)
		}
	}
	s.result.Kept, s.tmp = s.tmp, ""
	return nil
}

// takeBackNew removes the new file. It is moved away first, and looked at there:
// between a look at the target and its removal another file could get its name.
func (s *staged) takeBackNew() error {
	dir := s.ch.parent()
	st, err := s.r.statAt(dir, s.leaf)
	if errors.Is(err, fs.ErrNotExist) || err == nil && st.ID != s.wrote.ID {
		return nil // it went, or is another one
	}
	if err != nil {
		return err
	}
	name, err := tempName()
	if err != nil {
		return err
	}
	if err = s.r.renameat2(dir, s.leaf, dir, name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	if st, err = s.r.statAt(dir, name); err == nil && st.ID != s.wrote.ID {
		if err = s.r.renameat2(dir, name, dir, s.leaf, unix.RENAME_NOREPLACE); err != nil {
			s.result.Kept = name
			return fmt.Errorf("another file has its name: %w", err)
		}
		return nil
	}
	return s.r.unlinkat(dir, name, 0)
}
