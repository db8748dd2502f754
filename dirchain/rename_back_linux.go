package dirchain

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// unname takes the new name back from the entry, and gives it to what was displaced
// again. What is anybody else's by now is left alone: then the entry is lost to
// this move, and the error says where the displaced one is.
func (m *move) unname(swapped bool) error {
	dir := m.to.ch.parent()
	for range takeBackTries {
		err := m.ours(m.to.ch, m.to.leaf)
		switch {
		case err != nil && swapped:
			if errors.Is(err, fs.ErrNotExist) && m.to.ch.putBack(m.tmp, m.to.leaf) == nil {
				return err
			}
			return fmt.Errorf("what it was to replace is now %q beside it: %w", m.tmp, err)
		case err != nil:
			return err
		case swapped:
			err = m.r.renameat2(dir, m.tmp, dir, m.to.leaf, unix.RENAME_EXCHANGE)
		default:
			err = m.r.renameat2(dir, m.to.leaf, dir, m.tmp, unix.RENAME_NOREPLACE)
		}
		if err == nil {
			return nil
		}
		time.Sleep(takeBackWait)
	}
	return because(ErrChanged, "the new name cannot be taken back")
}

// home brings the entry from its random name back to the one it had. From the
// other directory only itself may come.
func (m *move) home() error {
	if m.at != m.from.ch {
		if err := m.ours(m.at, m.tmp); err != nil {
			return fmt.Errorf("%q beside the new name is another one: %w", m.tmp, err)
		}
		err := m.r.renameat2(m.at.parent(), m.tmp, m.from.ch.parent(), m.tmp, unix.RENAME_NOREPLACE)
		if err != nil {
			return fmt.Errorf("it is now %q beside the new name: %w", m.tmp, err)
		}
		m.at = m.from.ch
		if err = m.ours(m.at, m.tmp); err != nil {
			return fmt.Errorf("%q beside the old name is another one: %w", m.tmp, err)
		}
	}
	if err := m.from.ch.putBack(m.tmp, m.from.leaf); err != nil {
		return fmt.Errorf("it is now %q beside the old name: %w", m.tmp, err)
	}
	return nil
}
