package protect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"brainbox/dirchain"
)

// Environment is the file system that the tools of a call write to.
type Environment interface {
	// Dir is its own working directory, absolute.
	Dir() string
	// Resolve says where an absolute, cleaned path leads, and holds it. With entry the
	// last name is not followed: that of what is removed or renamed. An error is its
	// own sentence; Place.Links may be known beside it. Held is the caller's to close,
	// and nil beside an error.
	Resolve(ctx context.Context, unsafePath string, entry bool) (Place, error)
}

// Place is where a path leads.
type Place struct {
	// Links are the places that links in the last name's stead lead to, in order,
	// absolute.
	Links []string
	Path  string // canonical; of a new file, that of the deepest directory there is, and the names below
	Held  *Held  // nil for a place that cannot be written to through the environment
}

// ErrLink is what an environment's error answers to when the target of a link cannot be
// known.
var ErrLink = dirchain.ErrLink

// Tree is the environment beneath one held directory. What leads out of it is not known,
// and no mediated write goes there.
type Tree struct {
	Root *dirchain.Root
	// At is the absolute path that tools know the root by; empty: Root.Path.
	At string
}

// Dir is the root.
func (t Tree) Dir() string {
	if t.At != "" {
		return filepath.Clean(t.At)
	}
	return t.Root.Path()
}

// tries is how often a place that changes between two looks is looked at.
const tries = 3

// Resolve acts on descriptors beneath the root only.
func (t Tree) Resolve(ctx context.Context, unsafePath string, entry bool) (Place, error) {
	rel, ok := under(path.Clean(unsafePath), t.Dir())
	if !ok {
		return Place{}, fmt.Errorf("%w: it is not beneath %q", dirchain.ErrOutside, t.Dir())
	}
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return Place{}, err
		}
		place, err := t.place(rel, entry)
		if err == nil || try == tries || !changing(err) {
			return place, err
		}
	}
}

// changing says that another look may see more: an entry came, went or became a link
// between resolving and holding.
func changing(err error) bool {
	return errors.Is(err, dirchain.ErrChanged) || errors.Is(err, errBetween)
}

// errBetween is a place that is no longer what was resolved.
var errBetween = errors.New("the place changes all the time")

func (t Tree) place(rel string, entry bool) (Place, error) {
	way, err := t.follow(rel, entry)
	place := Place{Links: t.absolute(way.Links)}
	if err != nil {
		if len(way.Links) > 0 && errors.Is(err, dirchain.ErrOutside) {
			err = errors.Join(ErrLink, err) // a link that leads out: its target is not ours to know
		}
		return place, err
	}
	if way.Path == "." {
		place.Path = t.Dir()
		return place, nil
	}
	place.Path = path.Join(t.Dir(), way.Path)
	place.Held, err = t.hold(way, entry)
	return place, err
}

// follow resolves. Of an entry the parent is resolved, and the last name appended.
func (t Tree) follow(rel string, entry bool) (dirchain.Way, error) {
	dir, name := path.Split(rel)
	if !entry || name == "" {
		return t.Root.Follow(rel)
	}
	way, err := t.Root.Follow(dir)
	if err != nil {
		return dirchain.Way{}, err
	}
	way.Links, way.Path = nil, path.Join(way.Path, name)
	if way.Missing > 0 {
		way.Missing++
	}
	return way, nil
}

func (t Tree) absolute(links []string) []string {
	for i, l := range links {
		if !strings.HasPrefix(l, "/") {
			links[i] = path.Join(t.Dir(), l)
		} else if rel, ok := under(l, t.Root.Path()); ok { // as a tool would spell it
			links[i] = path.Join(t.Dir(), rel)
		}
	}
	return links
}

// hold takes hold of what was resolved, or of the first directory on the way that is not
// there.
func (t Tree) hold(way dirchain.Way, entry bool) (*Held, error) {
	at := way.Path
	for range way.Missing - 1 {
		at = path.Dir(at)
	}
	target, err := t.Root.Hold(at)
	switch {
	case errors.Is(err, dirchain.ErrPath):
		return nil, nil // no path for a mediated write, and the judgment is by name
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, dirchain.ErrLink), errors.Is(err, dirchain.ErrNotDirectory):
		return nil, fmt.Errorf("%w: %w", errBetween, err)
	case err != nil:
		return nil, err
	}
	st, found := target.Stat()
	if found && (way.Missing > 1 || !entry && st.Type() == fs.ModeSymlink) {
		target.Close()
		return nil, errBetween
	}
	return &Held{path: path.Join(t.Dir(), way.Path), rel: way.Path, target: target}, nil
}
