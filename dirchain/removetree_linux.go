package dirchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// RemoveTreeRequest is one removal of a directory and everything in it.
type RemoveTreeRequest struct {
	// Held, when not nil, is the target that was judged.
	Held *Target
	// Limits bound the tree; its Time counts for each of two walks. More than they
	// allow is [ErrLimit], before anything is removed. Post has no meaning.
	Limits WalkLimits
}

// RemoveTreeResult says what was removed. It counts also beside an error.
type RemoveTreeResult struct {
	Removed     bool  // the directory itself is gone
	Files       int   // entries that are no directories
	Directories int   // the directory itself included
	Bytes       int64 // of the regular files whose last name went
	// Failed is what could not be removed. The directories that hold it are left too
	// and not listed.
	Failed []Failure
}

// Failure is one entry that could not be removed.
type Failure struct {
	Path string // from the root, unchecked: print it with %q
	Err  error
}

// RemoveTree removes a directory and everything in it; links, FIFOs, sockets and
// devices as themselves. A first walk looks at everything: one protected place
// (also by another name of the file), one mount point, one directory that cannot be
// read, or more than the limits refuses the whole, and nothing is removed. Then
// everything that was seen goes, from the bottom, each entry looked at once more
// right before; what came meanwhile, or cannot be removed, stays and is in Failed,
// and the rest goes on.
func (r *Root) RemoveTree(ctx context.Context, unsafePath string, req RemoveTreeRequest) (RemoveTreeResult, error) {
	res, err := r.removeTree(ctx, unsafePath, req)
	return res, named("remove", unsafePath, err)
}

func (r *Root) removeTree(ctx context.Context, unsafePath string, req RemoveTreeRequest) (RemoveTreeResult, error) {
	t, err := r.approach(unsafePath, req.Held, true, 0)
	if err != nil {
		return RemoveTreeResult{}, err
	}
	defer t.Close()
	switch {
	case !t.found:
		return RemoveTreeResult{}, fs.ErrNotExist
	case t.stat.Mode&unix.S_IFMT != unix.S_IFDIR:
		return RemoveTreeResult{}, because(ErrNotDirectory, t.stat.Type().String())
	}
	if err = r.asked(ctx); err != nil { // before the contents go, and not only the directory itself
		return RemoveTreeResult{}, err
	}
	f := &felling{t: t, seen: map[Identity]struct{}{}}
	if f.protected, err = r.protectedIDs(); err == nil {
		err = f.contents(ctx, req.Limits)
	}
	if err == nil {
		err = f.directory(ctx)
	}
	return f.result, err
}

// protectedIDs are the identities of the protected places.
func (r *Root) protectedIDs() (map[Identity]string, error) {
	ids := map[Identity]string{}
	for _, p := range r.protect {
		known, err := r.identities(p)
		if err != nil {
			return nil, err
		}
		for _, id := range known {
			ids[id] = p.path
		}
	}
	return ids, nil
}

// felling is one removal of a tree.
type felling struct {
	t         *Target
	protected map[Identity]string
	seen      map[Identity]struct{} // what the first walk judged
	result    RemoveTreeResult
}

// contents walks twice through the held directory.
func (f *felling) contents(ctx context.Context, limits WalkLimits) error {
	ch := f.t.ch
	if err := ch.step(f.t.leaf, 0); err != nil {
		return err
	}
	defer ch.pop()
	if ch.links[len(ch.links)-1].id != f.t.stat.ID {
		return because(ErrChanged, "something else has the name")
	}
	limits.Post = false
	if err := ch.give(ctx, f.t.path, limits, f.judge); err != nil {
		return err
	}
	if err := ch.r.point("judged"); err != nil {
		return err
	}
	limits.Post = true
	if err := ch.give(ctx, f.t.path, limits, f.fell); err != nil {
		return err
	}
	if n := len(f.result.Failed); n > 0 {
		first := f.result.Failed[0]
		return fmt.Errorf("%d entries are left, the first is %q: %w", n, first.Path, first.Err)
	}
	return nil
}

// judge is the first walk: it refuses, or remembers.
func (f *felling) judge(e Entry) error {
	st, err := Stat{}, e.Err
	if err == nil {
		st, err = e.Stat()
	}
	if e.Err == nil && errors.Is(err, fs.ErrNotExist) {
		return nil // gone meanwhile
	}
	if err == nil && st.ID.Mount != f.t.ch.r.id.Mount {
		err = ErrMount
	}
	if place, ok := f.protected[st.ID]; err == nil && ok {
		err = because(ErrProtected, fmt.Sprintf("%q", place))
	}
	if err != nil {
		return fmt.Errorf("%q: %w", e.Path, err)
	}
	f.seen[st.ID] = struct{}{}
	return nil
}

// fell is the second walk.
func (f *felling) fell(e Entry) error {
	if errors.Is(e.Err, ErrLimit) {
		return e.Err
	}
	if e.IsDir() && !e.Post {
		return f.enter(e)
	}
	st, err := e.Stat()
	if err == nil {
		if err = f.wasSeen(st); err == nil {
			err = f.unlink(e, st)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // gone meanwhile
	case err != nil:
		f.failed(e.Path, err)
	case e.IsDir():
		f.result.Directories++
	default:
		f.result.Files++
		if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Links == 1 {
			f.result.Bytes += st.Size
		}
	}
	return nil
}

// enter says whether a directory is one to go.
func (f *felling) enter(e Entry) error {
	st, err := Stat{}, e.Err
	if err == nil {
		st, err = e.Stat()
	}
	if err == nil {
		err = f.wasSeen(st)
	}
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		f.failed(e.Path, err)
	}
	return fs.SkipDir
}

func (f *felling) wasSeen(st Stat) error {
	if _, ok := f.seen[st.ID]; !ok {
		return because(ErrChanged, "it was not there when the tree was judged")
	}
	return nil
}

// unlink removes one entry, while the way to it is still the visible one.
func (f *felling) unlink(e Entry, st Stat) error {
	ch, err := e.chain()
	if err != nil {
		return err
	}
	if err = ch.verify(); err != nil {
		return err
	}
	if err = ch.r.point("unlink"); err != nil {
		return err
	}
	if err = ch.unlinkSame(ch.parent(), e.Name, st); err == nil && (e.IsDir() || st.Links <= 1) {
		delete(f.seen, st.ID) // the number is free: what gets it now was not judged
	}
	return err
}

// failed notes one entry; of a directory that is not empty because of what was
// noted in it, that is enough.
func (f *felling) failed(path string, err error) {
	if n := len(f.result.Failed); n > 0 && errors.Is(err, unix.ENOTEMPTY) &&
		strings.HasPrefix(f.result.Failed[n-1].Path, path+"/") {
		return
	}
	f.result.Failed = append(f.result.Failed, Failure{path, err})
}

// directory removes the empty directory itself.
func (f *felling) directory(ctx context.Context) error {
	r := f.t.ch.r
	if err := f.unlinkLast(ctx); err != nil {
		f.failed(f.t.path, err)
		return err
	}
	f.result.Removed = true
	f.result.Directories++
	if r.opts.SkipSync {
		return nil
	}
	return f.t.ch.sync()
}

func (f *felling) unlinkLast(ctx context.Context) error {
	ch := f.t.ch
	unlock, err := ch.r.lock(ctx, ch)
	if err != nil {
		return err
	}
	defer unlock()
	if err = ctx.Err(); err != nil {
		return err
	}
	if err = f.t.still(); err != nil {
		return err
	}
	return ch.unlinkSame(ch.parent(), f.t.leaf, f.t.stat)
}
