package dirchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// WalkLimits bound a walk. The zero value is a good one: every limit has a default.
type WalkLimits struct {
	// Depth is how many directories deep entries are given; 1 is the walked
	// directory alone. Each costs a descriptor. 0 means [DefaultWalkDepth].
	Depth int
	// Entries is how many entries are given, and so how many names are in memory. 0
	// means [DefaultWalkEntries].
	Entries int
	// Time is how long the walk may last, the callback's own time included. 0 means
	// [DefaultWalkTime].
	Time time.Duration
	// Post asks for a second call for each directory that was read, after its
	// contents, with Entry.Post set: when it may be removed.
	Post bool
}

// Limits of a walk where [WalkLimits] names none.
const (
	DefaultWalkDepth   = 64
	DefaultWalkEntries = 100_000
	DefaultWalkTime    = 10 * time.Second
)

// Walk calls fn for every entry beneath a directory, not for the directory itself;
// the empty path is the root. A directory comes before its contents, and the
// entries of one directory are sorted by name (its bytes). No link is followed and
// no mount is entered; only directories are opened. Names are given as they are:
// they may hold anything but a NUL and a slash.
//
// fn may return fs.SkipDir (for a directory: its contents are left out; for
// another entry: the rest of its directory is) or fs.SkipAll. Any other error ends
// the walk and is returned. A directory that cannot be entered is given with
// Entry.Err, and fn decides: a nil leaves it out.
//
// A walk that meets a limit is [ErrLimit]. Of too many entries, as many as the
// limit says are given first (of a directory that alone has more, any of them), and
// of too deep ones everything above; out of time, the walk stops where it is.
func (r *Root) Walk(ctx context.Context, unsafePath string, limits WalkLimits, fn func(Entry) error) error {
	return named("walk", unsafePath, r.walkTree(ctx, unsafePath, limits, fn))
}

func (r *Root) walkTree(ctx context.Context, unsafePath string, limits WalkLimits, fn func(Entry) error) error {
	var parts []string
	if unsafePath != "" {
		var err error
		if parts, err = SplitPath(unsafePath); err != nil {
			return err
		}
	}
	if err := r.acquire(); err != nil {
		return err
	}
	defer r.release()
	ch, err := r.walk(parts, 0)
	if err != nil {
		return err
	}
	defer ch.close()
	return ch.give(ctx, unsafePath, limits, fn)
}

// give is a walk of the chain's last directory, whose path is given.
func (ch *chain) give(ctx context.Context, path string, limits WalkLimits, fn func(Entry) error) error {
	w := newWalker(ch, limits, fn)
	lv, end := w.level(path, 1)
	defer end()
	switch err := w.contents(ctx, lv); {
	case errors.Is(err, fs.SkipAll):
		return nil
	case err != nil:
		return err
	}
	return w.over
}

// walker is one walk. Its chain grows and shrinks as it goes down and up.
type walker struct {
	ch     *chain
	limits WalkLimits
	fn     func(Entry) error
	start  time.Time
	left   int   // entries that may still be read
	over   error // the first limit that was met
	full   error // that of the entries
	buf    []byte
}

// level is one directory while it is held: a link of the walk's chain.
type level struct {
	at    int // its index; -1 when it is closed
	depth int // of its entries
	path  string
}

func newWalker(ch *chain, limits WalkLimits, fn func(Entry) error) *walker {
	if limits.Depth <= 0 {
		limits.Depth = DefaultWalkDepth
	}
	if limits.Entries <= 0 {
		limits.Entries = DefaultWalkEntries
	}
	if limits.Time <= 0 {
		limits.Time = DefaultWalkTime
	}
	return &walker{
		ch: ch, limits: limits, fn: fn, start: time.Now(), left: limits.Entries, buf: make([]byte, 32<<10),
	}
}

// level is the chain's last directory. The function ends its use.
func (w *walker) level(path string, depth int) (*level, func()) {
	lv := &level{at: len(w.ch.links) - 1, depth: depth, path: path}
	return lv, func() { lv.at = -1 }
}

// contents gives the entries of the chain's last directory.
func (w *walker) contents(ctx context.Context, lv *level) error {
	items, err := w.list(ctx, lv)
	if err != nil {
		return err
	}
	prefix := lv.path
	if prefix != "" {
		prefix += "/"
	}
	for _, it := range items {
		if err = w.alive(ctx); err != nil {
			return err
		}
		if it.kind == unix.DT_UNKNOWN {
			if it.mode, err = w.typeOf(it.name); absent(err) {
				continue
			} else if err != nil {
				return err
			}
		}
		e := Entry{Path: prefix + it.name, Name: it.name, Depth: lv.depth, Type: it.mode, w: w, in: lv}
		if it.mode.IsDir() {
			err = w.directory(ctx, e)
		} else {
			err = w.fn(e)
		}
		if errors.Is(err, fs.SkipDir) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// directory gives one directory and what is in it. It is opened first, so that
// what is given is what is walked.
func (w *walker) directory(ctx context.Context, e Entry) error {
	if e.Err = w.enter(e); e.Err == nil {
		defer w.ch.pop()
		sub, end := w.level(e.Path, e.Depth+1)
		defer end()
		e.sub = sub
	}
	err := w.fn(e)
	switch {
	case errors.Is(err, fs.SkipDir):
		return nil
	case err != nil:
		return err
	case e.Err != nil:
		if w.over == nil && errors.Is(e.Err, ErrLimit) {
			w.over = e.Err
		}
		return nil
	}
	if err = w.contents(ctx, e.sub); err != nil || !w.limits.Post {
		return err
	}
	e.Post = true
	if err = w.fn(e); errors.Is(err, fs.SkipDir) {
		return nil
	}
	return err
}

// enter adds a directory to the chain, if the limits allow.
func (w *walker) enter(e Entry) error {
	switch {
	case w.full != nil:
		return w.full
	case e.Depth >= w.limits.Depth:
		return because(ErrLimit, fmt.Sprintf("more than %d directories deep", w.limits.Depth))
	}
	return w.ch.step(e.Name, 0)
}

// pop closes the last directory of the chain.
func (ch *chain) pop() {
	last := len(ch.links) - 1
	ch.r.close(ch.links[last].fd)
	ch.links = ch.links[:last]
}

// alive says whether the walk may go on.
func (w *walker) alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if time.Since(w.start) > w.limits.Time {
		return because(ErrLimit, "it takes longer than "+w.limits.Time.String())
	}
	return nil
}

func (w *walker) typeOf(name string) (fs.FileMode, error) {
	st, err := w.ch.r.statAt(w.ch.parent(), name)
	return st.Type(), err
}
