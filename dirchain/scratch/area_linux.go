package scratch

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"brainbox/dirchain"
)

// Options of an area. The zero value is the contract's.
type Options struct {
	// Git is the absolute path of the host's git. Nobody but uid 0 and the host's
	// user may be able to change what it names, and it must not lie in the root.
	// Empty means /usr/bin/git.
	Git string
	// Timeout is for one call of git. 0 means 10 seconds.
	Timeout time.Duration
	// Temp is a directory for the host alone, where a repository of three names is
	// made for a moment when the root lies in none. Empty means os.TempDir.
	Temp string
	// TTL is how long a file is kept after its last modification. 0 means [DefaultTTL].
	TTL time.Duration
	// Cap is how many bytes are kept. 0 means [DefaultCap].
	Cap int64
}

// What is kept where [Options] says nothing.
const (
	DefaultTTL       = 7 * 24 * time.Hour
	DefaultCap int64 = 1 << 30
)

// Area is the scratch area beneath one root. It may be used by any number of
// goroutines; prune and clean run alone.
type Area struct {
	root *dirchain.Root
	opts Options
	git  asker
	now  func() time.Time
	hook func(point, path string) // tests only: between a look and what follows
	mu   sync.RWMutex
	room int // bytes of paths that a report may name
}

// New looks at nothing. The root stays the caller's.
func New(root *dirchain.Root, opts Options) *Area {
	if opts.Git == "" {
		opts.Git = defaultGit
	}
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	if opts.TTL <= 0 {
		opts.TTL = DefaultTTL
	}
	if opts.Cap <= 0 {
		opts.Cap = DefaultCap
	}
	git := asker{git: opts.Git, tmp: opts.Temp, limit: opts.Timeout, trust: trusted}
	return &Area{root: root, opts: opts, git: git, now: time.Now, room: maxPaths}
}

// Check returns nil only when the area is genuine and git ignores it. It makes
// nothing: a missing area is fs.ErrNotExist.
func (a *Area) Check(ctx context.Context) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return named("check", a.check(ctx))
}

// check holds the area while git is asked about its name.
func (a *Area) check(ctx context.Context) error {
	before, err := a.hold()
	if err != nil {
		return err
	}
	defer before.Close()
	if err = a.git.ask(ctx, a.root); err != nil {
		return err
	}
	a.at("asked", Location)
	after, err := a.hold()
	if err != nil {
		return err
	}
	defer after.Close()
	was, _ := before.Stat()
	if is, _ := after.Stat(); is.ID != was.ID || after.Parent() != before.Parent() {
		return dirchain.ErrChanged
	}
	return nil
}

// hold walks to the area and says whether it is a directory of its own.
func (a *Area) hold() (*dirchain.Target, error) {
	t, err := a.root.Hold(Location)
	if err != nil {
		return nil, genuine(err)
	}
	st, found := t.Stat()
	switch {
	case !found:
		err = fs.ErrNotExist
	case !st.Type().IsDir():
		err = ErrNotGenuine
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (a *Area) at(point, path string) {
	if a.hook != nil {
		a.hook(point, path)
	}
}
