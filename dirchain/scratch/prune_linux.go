package scratch

import (
	"context"
	"errors"
	"hash/maphash"
	"io/fs"
	"time"

	"brainbox/dirchain"

	"golang.org/x/sys/unix"
)

// Report is what a pass over the area did. Paths are from the root, as the names
// are: print them with %q.
type Report struct {
	Removed     []Removed `json:"removed"`
	Failed      []Failure `json:"failed"`
	Directories int       `json:"directories"` // empty ones that were removed
	Bytes       int64     `json:"bytes"`       // that are left, as far as they were listed
	Files       int       `json:"files"`       // that are left
	Truncated   bool      `json:"truncated"`   // a limit was met: not everything was looked at, or gone after
}

// Removed is one entry that went.
type Removed struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Reason Reason `json:"reason"`
}

// Failure is one entry that should have gone.
type Failure struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // "changed", "mount", or the name of the errno, as EACCES
}

// Limits of a pass: a worker may have put anything there.
const (
	maxEntries = 1 << 19
	maxTime    = 30 * time.Second // of a whole pass
	maxPaths   = 64 << 20         // bytes, of a report: one path may have 32 KiB
)

// Prune removes what was last modified longer ago than the area keeps files, then
// the oldest files until no more bytes are left than it may hold, and directories
// with nothing in them. An entry that is gone meanwhile is nothing to report; one
// that cannot be removed is, and the pass goes on. Where there is no area nothing
// is to be done. It waits for writes of this Area, and they for it.
func (a *Area) Prune(ctx context.Context) (Report, error) {
	rep, err := a.pass(ctx, func(files []file) []candidate { return rank(files, a.now().Add(-a.opts.TTL)) })
	return rep, named("prune", err)
}

// Clean removes everything in the area, and leaves the area.
func (a *Area) Clean(ctx context.Context) (Report, error) {
	rep, err := a.pass(ctx, func(files []file) []candidate {
		list := rank(files, time.Time{})
		for i := range list {
			list[i].reason = Clean
		}
		return list
	})
	return rep, named("clean", err)
}

// pass lists, decides and removes. What could not be removed frees nothing, so more
// may have to go than was chosen first.
func (a *Area) pass(ctx context.Context, judge func([]file) []candidate) (Report, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := sweep{a: a, start: a.now(), room: a.room, seed: maphash.MakeSeed(), failed: map[string]bool{}}
	files, err := s.list(ctx)
	if err != nil {
		return s.rep, err
	}
	s.rep.Bytes, s.rep.Files = total(files), len(files)
	ranked := judge(files)
	for first := true; ; first = false {
		n := choose(ranked, s.rep.Bytes, a.opts.Cap)
		if n == 0 && !first || s.rep.Truncated && !first {
			return s.rep, nil
		}
		if err = s.remove(ctx, ranked[:n]); err != nil {
			return s.rep, err
		}
		ranked = ranked[n:]
	}
}

// sweep is one pass.
type sweep struct {
	a      *Area
	rep    Report
	start  time.Time
	room   int // bytes of paths that the report may still name
	seed   maphash.Seed
	due    map[uint64]candidate // by the key of the path; not met yet
	failed map[string]bool      // what the report has already
	blind  bool                 // part of the area was not walked
}

// walk is one walk over the area.
func (s *sweep) walk(ctx context.Context, fn func(dirchain.Entry) error) error {
	left := maxTime - s.a.now().Sub(s.start)
	if left <= 0 {
		s.rep.Truncated = true
		return nil
	}
	limits := dirchain.WalkLimits{Depth: dirchain.MaxDepth, Entries: maxEntries, Time: left, Post: true}
	err := s.a.root.Walk(ctx, Location, limits, fn)
	switch {
	case errors.Is(err, dirchain.ErrLimit):
		s.rep.Truncated, err = true, nil
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	return genuine(err)
}

// list looks at everything that is no directory, a link as itself.
func (s *sweep) list(ctx context.Context) ([]file, error) {
	var files []file
	err := s.walk(ctx, func(e dirchain.Entry) error {
		if e.IsDir() {
			return nil
		}
		st, err := e.Stat()
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			s.fail(e.Path, err)
		default:
			files = append(files, file{s.key(e.Path), st})
		}
		return nil
	})
	return files, err
}

// remove removes the chosen files and, bottom up, directories that are empty.
func (s *sweep) remove(ctx context.Context, chosen []candidate) error {
	s.due, s.blind = make(map[uint64]candidate, len(chosen)), false
	for _, c := range chosen {
		s.due[c.key] = c
	}
	err := s.walk(ctx, s.visit)
	if err == nil && !s.blind && !s.rep.Truncated {
		for _, c := range s.due {
			s.free(c) // gone meanwhile
		}
	}
	return err
}

func (s *sweep) visit(e dirchain.Entry) error {
	s.a.at("visit", e.Path)
	switch {
	case e.Post:
		s.directory(e)
	case e.Err != nil && !errors.Is(e.Err, fs.ErrNotExist):
		if s.blind = true; !errors.Is(e.Err, dirchain.ErrLimit) {
			s.fail(e.Path, e.Err)
		}
	case !e.IsDir():
		key := s.key(e.Path)
		if c, ok := s.due[key]; ok {
			if !s.keep(e.Path) {
				return fs.SkipAll
			}
			delete(s.due, key)
			s.file(e, c)
		}
	}
	return nil
}

// file removes one file if it is still the one that was listed, unwritten.
func (s *sweep) file(e dirchain.Entry, c candidate) {
	st, err := e.Stat()
	if err == nil && !st.Modified.Equal(c.stat.Modified) {
		err = dirchain.ErrChanged
	}
	if err == nil {
		s.a.at("remove", e.Path)
		err = e.Remove(c.stat)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.free(c)
	case err != nil:
		s.fail(e.Path, err)
	default:
		s.free(c)
		s.rep.Removed = append(s.rep.Removed, Removed{e.Path, c.stat.Size, c.reason})
	}
}

// directory removes a directory if nothing is in it.
func (s *sweep) directory(e dirchain.Entry) {
	st, err := e.Stat()
	if err == nil {
		err = e.Remove(st)
	}
	switch {
	case err == nil:
		s.rep.Directories++
	case !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist):
		s.fail(e.Path, err)
	}
}

func (s *sweep) free(c candidate) {
	s.rep.Bytes -= weight(c.stat)
	s.rep.Files--
}

// fail reports an entry once.
func (s *sweep) fail(path string, err error) {
	if !s.failed[path] && s.keep(path) {
		s.failed[path] = true
		s.rep.Failed = append(s.rep.Failed, Failure{path, reasonOf(err)})
	}
}

// key stands for a path: two that share one are not the same file, and then neither
// goes for the other.
func (s *sweep) key(path string) uint64 { return maphash.String(s.seed, path) }

// keep says whether the report may name one more path.
func (s *sweep) keep(path string) bool {
	if s.room -= len(path); s.room < 0 {
		s.rep.Truncated = true
	}
	return s.room >= 0
}

// reasonOf names what an error on one entry means.
func reasonOf(err error) string {
	var errno unix.Errno
	switch {
	case errors.Is(err, dirchain.ErrChanged), errors.Is(err, dirchain.ErrLink), errors.Is(err, dirchain.ErrNotDirectory):
		return "changed"
	case errors.Is(err, dirchain.ErrMount):
		return "mount"
	case errors.As(err, &errno) && unix.ErrnoName(errno) != "":
		return unix.ErrnoName(errno)
	}
	return "unknown"
}
