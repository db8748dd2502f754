package dirchain

import (
	"errors"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// Target is a place that was walked to and is held: what a decision is made on.
// Until it is closed none of its identities is given to another file. An operation
// that is handed a Target walks again and refuses with [ErrChanged] when parent or
// entry are no longer the ones that were judged (contract bridge-and-gate §E.6). With
// Parents the target may be that of the first directory that is missing on the way,
// which the operation must then have made itself.
type Target struct {
	ch    *chain
	path  string
	leaf  string
	ids   []Identity // from the root to the parent
	found bool
	stat  Stat
	fd    int // pins the entry
}

// Hold walks to the parent of unsafePath, which must exist, and looks at the
// entry itself, a link as a link; it need not exist. Nothing is opened for reading.
func (r *Root) Hold(unsafePath string) (*Target, error) {
	t, err := r.hold(unsafePath)
	return t, named("hold", unsafePath, err)
}

func (r *Root) hold(unsafePath string) (*Target, error) {
	parts, err := SplitPath(unsafePath)
	if err != nil {
		return nil, err
	}
	if err = r.acquire(); err != nil {
		return nil, err
	}
	last := len(parts) - 1
	ch, err := r.walk(parts[:last], 0)
	if err != nil {
		r.release()
		return nil, err
	}
	t := &Target{ch: ch, path: unsafePath, leaf: parts[last], ids: ch.all(), fd: -1}
	if err = t.look(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Target) look() error {
	fd, st, err := t.ch.r.openEntry(t.ch.parent(), t.leaf)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return translated(err)
	}
	t.fd, t.stat, t.found = fd, st, true
	return nil
}

// Path is the path as it was given.
func (t *Target) Path() string { return t.path }

// Parent is the identity of the directory that holds the entry.
func (t *Target) Parent() Identity {
	if len(t.ids) == 0 {
		return Identity{}
	}
	return t.ids[len(t.ids)-1]
}

// Chain gives the identities from the root to the parent.
func (t *Target) Chain() []Identity { return slices.Clone(t.ids) }

// Stat is what the entry was, and whether it was there.
func (t *Target) Stat() (Stat, bool) { return t.stat, t.found }

// Close lets go of the descriptors. It may be called twice, but not while an
// operation uses the target.
func (t *Target) Close() {
	if t.ch == nil {
		return
	}
	r := t.ch.r
	r.close(t.fd)
	t.ch.close()
	t.ch = nil
	r.release()
}

// holds says whether a later walk came to the same place.
func (t *Target) holds(ch *chain, leaf string, found bool, st Stat) error {
	switch {
	case t == nil:
		return nil
	case t.ch == nil || t.ch.r != ch.r:
		return because(ErrChanged, "the judged target is not held by this root")
	case t.above(ch, found):
		return nil
	case t.leaf != leaf || t.Parent() != ch.links[len(ch.links)-1].id:
		return because(ErrChanged, "the parent is not the judged one")
	case t.found != found || found && t.stat.ID != st.ID:
		return because(ErrChanged, "the entry is not the judged one")
	}
	return nil
}

// above says that what was judged is a directory on the way that was not there, in
// the same parent, and that this walk, or another write of the same batch, has made it and
// all that is beneath it: the judged place is where it began. What somebody has moved there since is found, and another one.
func (t *Target) above(ch *chain, found bool) bool {
	n := len(t.ids)
	if t.found || found || n >= len(ch.links) || ch.links[n].name != t.leaf || ch.links[n-1].id != t.Parent() {
		return false
	}
	return !slices.ContainsFunc(ch.links[n:], func(l link) bool { return !l.made && !l.ours })
}

// openEntry opens an entry with O_PATH, a link as itself.
func (r *Root) openEntry(dir int, name string) (int, Stat, error) {
	return r.openStat(dir, name, unix.O_PATH|unix.O_NOFOLLOW)
}
