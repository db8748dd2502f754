package dirchain

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// staged is a write that is complete but for taking the target's name: the chain
// is held, the old file judged and held, the new one written beside it.
type staged struct {
	r      *Root
	ch     *chain
	req    WriteRequest
	parts  []string
	leaf   string
	old    int // the file that will be replaced, open for reading; or -1
	before Stat
	tmp    string   // "" when there is none, or it is no longer ours
	fd     int      // the new file
	wrote  Stat     // of it, complete
	spare  Identity // what has the temporary name and may be removed
	result WriteResult
	done   bool
}

// stage does everything of a write that can be taken back without a trace.
func (r *Root) stage(ctx context.Context, unsafePath string, req WriteRequest) (*staged, error) {
	parts, err := SplitPath(unsafePath)
	if err != nil {
		return nil, err
	}
	if req.Mode < Create || req.Mode > CreateOrReplace {
		return nil, because(fs.ErrInvalid, fmt.Sprintf("mode %d", req.Mode))
	}
	if req.Perm&^0o777 != 0 {
		return nil, because(ErrMode, fmt.Sprintf("%#o", req.Perm))
	}
	if err = r.acquire(); err != nil {
		return nil, err
	}
	if r.kind != nil {
		r.release()
		return nil, r.kind
	}
	s := &staged{r: r, req: req, parts: parts, leaf: parts[len(parts)-1], old: -1, fd: -1}
	ready := false
	defer func() { // also when the caller's reader panics
		if !ready {
			_ = s.close()
		}
	}()
	err = s.prepare(ctx)
	if ready = true; err != nil {
		return nil, s.failed(err)
	}
	return s, nil
}

func (s *staged) prepare(ctx context.Context) (err error) {
	parts := s.parts
	if err = s.r.judge(parts, nil, false); err != nil { // before a directory is made
		return err
	}
	var mode uint32
	if s.req.Parents {
		mode = 0o755
	}
	if s.ch, err = s.r.walk(parts[:len(parts)-1], mode); err != nil {
		return err
	}
	for i, l := range s.ch.links {
		s.ch.links[i].ours = slices.Contains(s.req.made, l.id)
	}
	if err = s.ch.exact(0); err != nil {
		return err
	}
	if err = s.ch.verify(); err != nil {
		return err
	}
	if err = s.openOld(ctx); err != nil {
		return err
	}
	ids := s.ch.ids()
	if s.old >= 0 {
		ids = append(ids, s.before.ID)
	}
	if err = s.r.judge(parts, ids, false); err != nil {
		return err
	}
	if err = s.req.Held.holds(s.ch, s.leaf, s.old >= 0, s.before); err != nil {
		return err
	}
	if err = s.makeTemp(); err != nil {
		return err
	}
	if err = s.ch.exact(len(s.ch.links) - 1); err != nil { // what has an entry cannot be made to fold any more
		return err
	}
	return s.fill(ctx)
}

// openOld opens the file that will be replaced, again when another writer has
// replaced it and removed it between the look and the opening.
func (s *staged) openOld(ctx context.Context) error {
	for range maxAgain {
		if err := s.openOnce(); err != nil || s.old < 0 {
			return err
		}
		if s.before.Links > 0 {
			return s.baseHolds(ctx)
		}
		s.r.close(s.old)
		s.old = -1
	}
	return because(ErrChanged, "the file is replaced all the time")
}

// openOnce looks at what has the target's name, and opens it for reading when it
// is the regular file that will be replaced. What is not regular is never opened.
func (s *staged) openOnce() error {
	st, err := s.r.statAt(s.ch.parent(), s.leaf)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (s.req.Mode == Create || s.req.Mode == CreateOrReplace && s.req.Base == nil):
		s.result.Created = true
		return nil
	case err != nil:
		return err
	case s.req.Mode == Create:
		return fs.ErrExist
	}
	if err = s.replaceable(st); err != nil {
		return err
	}
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_NOCTTY
	if s.old, s.before, err = s.r.openStat(s.ch.parent(), s.leaf, flags); err != nil {
		return translated(err)
	}
	return s.replaceable(s.before) // it may be another one by now, as likely as not a writer's
}

// replaceable judges an existing entry. Pure.
func (s *staged) replaceable(st Stat) error {
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return ErrLink
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return because(ErrNotRegular, st.Type().String())
	case st.ID.Mount != s.r.id.Mount:
		return ErrMount
	case st.Mode&0o7000 != 0:
		return because(ErrMode, fmt.Sprintf("the file has %#o", st.Mode&0o7777))
	case st.Links > 1 && !s.req.ReplaceLinked:
		return ErrLinked
	case s.guarded() && st.Size > s.r.opts.MaxFile:
		return because(ErrTooLarge, fmt.Sprintf("%d bytes, at most %d", st.Size, s.r.opts.MaxFile))
	}
	return nil
}

// baseHolds compares the held old file with the expected hash, if there is one.
func (s *staged) baseHolds(ctx context.Context) error {
	if s.req.Base == nil || s.old < 0 {
		return nil
	}
	sum, _, err := s.r.sum(ctx, s.old, s.before.Size, s.r.opts.MaxFile)
	if err != nil {
		return err
	}
	if s.result.Previous = &sum; sum != *s.req.Base {
		return because(ErrStale, "it is "+sum.String())
	}
	return nil
}

// makeTemp makes the new file, under a random name and, when it will replace
// another, with that one's owner, access list and permission bits before it has
// a byte: at no time is it readable by more than the file it replaces.
func (s *staged) makeTemp() error {
	mode := uint32(0o600)
	if s.old < 0 {
		if mode = s.req.Perm & 0o755; s.req.Perm == 0 {
			mode = 0o644
		}
	}
	for range maxAgain {
		name, err := tempName()
		if err != nil {
			return err
		}
		s.fd, err = s.r.openat(s.ch.parent(), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, int(mode))
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			s.fd = -1
			return err
		}
		s.tmp = name
		break
	}
	if s.tmp == "" {
		return because(fs.ErrExist, "no free temporary name")
	}
	st, err := s.r.statAt(s.fd, "")
	if err != nil {
		return err
	}
	s.wrote, s.spare = st, st.ID
	if s.old < 0 {
		return nil
	}
	return s.takeOver(st)
}

func (s *staged) takeOver(st Stat) error {
	if st.UID != s.before.UID || st.GID != s.before.GID {
		if err := s.r.fchown(s.fd, int(s.before.UID), int(s.before.GID)); err != nil {
			return fmt.Errorf("the owner %d:%d cannot be kept: %w", s.before.UID, s.before.GID, err)
		}
	}
	if err := s.r.copyACL(s.old, s.fd); err != nil {
		return fmt.Errorf("the access list cannot be kept: %w", err)
	}
	return s.r.fchmod(s.fd, s.before.Mode&0o777)
}

// tempName has 64 random bits: nobody can be there before.
func tempName() (string, error) {
	var bits [8]byte
	if _, err := unix.Getrandom(bits[:], 0); err != nil { // crypto/rand would cost every start a tenth of a millisecond
		return "", os.NewSyscallError("getrandom", err)
	}
	return ".brainbox-" + hex.EncodeToString(bits[:]) + ".tmp", nil
}

// close takes back what was not published, and lets go of everything. Only held
// descriptors are used: by path it might remove an attacker's file, or leave ours.
// The error tells a file that is left.
func (s *staged) close() (left error) {
	if s.done {
		return nil
	}
	s.done = true
	if s.ch != nil {
		if left = s.removeTemp(); left != nil {
			left = fmt.Errorf("the new file is left: %w", left)
		}
	}
	s.r.close(s.old)
	s.r.close(s.fd)
	if s.ch != nil {
		if s.result.Applied {
			s.ch.close()
		} else {
			s.ch.undo()
		}
	}
	s.r.release()
	return left
}

// failed is close after an error, which comes first.
func (s *staged) failed(err error) error {
	if left := s.close(); left != nil {
		return fmt.Errorf("%w; %w", err, left)
	}
	return err
}

// removeTemp removes what has the temporary name, but not what somebody else has
// put there.
func (s *staged) removeTemp() error {
	tmp := s.tmp
	if s.tmp = ""; tmp == "" {
		return nil
	}
	st, err := s.r.statAt(s.ch.parent(), tmp)
	if err == nil && st.ID != s.spare && s.spare != (Identity{}) {
		return nil
	}
	if err = s.r.unlinkat(s.ch.parent(), tmp, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q: %w", tmp, err)
	}
	return nil
}
