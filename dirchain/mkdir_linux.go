package dirchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// MkdirRequest is one new directory.
type MkdirRequest struct {
	// Perm is for the new directory: permission bits, masked with 0755 and the umask.
	// 0 means 0755. Other bits are [ErrMode].
	Perm uint32
	// Parents makes missing directories above it, 0755 less the umask, and is content
	// with a directory that is there already, as mkdir -p.
	Parents bool
	// Held, when not nil, is the target that was judged.
	Held *Target
}

// MkdirResult says what was made. It counts also beside an error, as in [WriteResult].
type MkdirResult struct {
	Created bool     // false: nothing was made, or (with Parents) it was there
	Parents int      // how many directories above it were made
	ID      Identity // of the directory, made or met
}

// Mkdir makes one directory. Anything that has the name is fs.ErrExist; with
// Parents a directory of its own (no link, no mount point) is no error and is left
// as it is. When the way there was exchanged meanwhile, what was made is removed
// again.
func (r *Root) Mkdir(ctx context.Context, unsafePath string, req MkdirRequest) (MkdirResult, error) {
	res, err := r.mkdir(ctx, unsafePath, req)
	return res, named("mkdir", unsafePath, err)
}

func (r *Root) mkdir(ctx context.Context, unsafePath string, req MkdirRequest) (MkdirResult, error) {
	if req.Perm&^0o777 != 0 {
		return MkdirResult{}, because(ErrMode, fmt.Sprintf("%#o", req.Perm))
	}
	perm, above := req.Perm&0o755, uint32(0)
	if req.Perm == 0 {
		perm = 0o755
	}
	if req.Parents {
		above = 0o755
	}
	t, err := r.approach(unsafePath, req.Held, false, above)
	if err != nil {
		return MkdirResult{}, err
	}
	res, err := t.mkdir(ctx, perm, req.Parents)
	if !res.Created {
		t.undo()
		return res, err
	}
	defer t.Close()
	for _, l := range t.ch.links {
		if l.made {
			res.Parents++
		}
	}
	if !r.opts.SkipSync {
		err = t.ch.sync()
	}
	return res, err
}

// mkdir makes the entry of a judged target.
func (t *Target) mkdir(ctx context.Context, perm uint32, there bool) (MkdirResult, error) {
	r := t.ch.r
	unlock, err := r.lock(ctx, t.ch)
	if err != nil {
		return MkdirResult{}, err
	}
	defer unlock()
	if err = ctx.Err(); err != nil {
		return MkdirResult{}, err
	}
	if t.found {
		return t.met(there)
	}
	if err := t.still(); err != nil && (!there || !errors.Is(err, fs.ErrExist)) {
		return MkdirResult{}, err
	}
	if err := r.point("mkdir"); err != nil {
		return MkdirResult{}, err
	}
	err = r.mkdirat(t.ch.parent(), t.leaf, perm)
	if there && errors.Is(err, fs.ErrExist) { // another mkdir -p was faster
		if err = t.look(); err == nil {
			return t.met(there)
		}
	}
	if err != nil {
		return MkdirResult{}, err
	}
	id, err := t.made()
	return MkdirResult{Created: err == nil, ID: id}, err
}

// met judges what has the name already.
func (t *Target) met(there bool) (MkdirResult, error) {
	switch {
	case !there, !t.found:
		return MkdirResult{}, fs.ErrExist
	case t.stat.Mode&unix.S_IFMT != unix.S_IFDIR:
		return MkdirResult{}, because(fs.ErrExist, "it is no directory")
	}
	if err := t.ch.r.judge(nil, []Identity{t.stat.ID}, false); err != nil {
		return MkdirResult{}, err
	}
	return MkdirResult{ID: t.stat.ID}, nil
}

// made looks at the directory that was just made, and removes it again, if it is
// that one and empty, when it is not where it was meant to be. A directory that
// got the name between the two calls is taken for it: its maker may write here.
func (t *Target) made() (Identity, error) {
	r, dir := t.ch.r, t.ch.parent()
	if err := t.look(); err != nil {
		_ = r.unlinkat(dir, t.leaf, unix.AT_REMOVEDIR) // a file or what is not empty stays
		return Identity{}, err
	}
	if !t.found || t.stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return Identity{}, because(ErrChanged, "something else has the name")
	}
	err := r.point("made")
	if err == nil { // what has an entry cannot be made to fold any more
		err = t.ch.exact(len(t.ch.links) - 1)
	}
	if err == nil {
		err = t.still()
	}
	if err != nil {
		if left := t.ch.unlinkSame(dir, t.leaf, t.stat); left != nil && !errors.Is(left, fs.ErrNotExist) {
			err = fmt.Errorf("%w; what was made is left: %w", err, left)
		}
		return Identity{}, err
	}
	return t.stat.ID, nil
}
