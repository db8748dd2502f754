package turntemp

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"brainbox/dirchain"

	"golang.org/x/sys/unix"
)

// Purge says what goes. Exactly one of its fields is set.
type Purge struct {
	// OlderThan: what was last modified longer ago than this, directories too when
	// nothing is left in them.
	OlderThan time.Duration
	// All: everything but the directory itself.
	All bool
}

func (p Purge) valid() bool { return p.OlderThan >= 0 && p.All == (p.OlderThan == 0) }

// Purge removes what it can and tells what it did; the record has gone to the sink.
// An error beside a record with Outcome [Failed] means that it stopped half way.
func (a *Access) Purge(ctx context.Context, turn string, p Purge) (PurgeRecord, error) {
	rec, err := a.purge(ctx, turn, p)
	return rec, named(OpPurge, err)
}

func (a *Access) purge(ctx context.Context, turn string, p Purge) (PurgeRecord, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	rec := a.begin(turn, OpPurge)
	rec.Purge = p
	if outcome, err := a.allow(ctx, turn, p); err != nil {
		return rec, a.refuse(ctx, &rec, outcome, err)
	}
	s := sweep{a: a, rec: &rec, before: rec.Time.Add(-p.OlderThan), all: p.All}
	limits := a.limits
	limits.Post = true
	err := a.root.Walk(ctx, "", limits, s.visit)
	if errors.Is(err, dirchain.ErrLimit) {
		rec.Truncated, err = true, nil
	}
	if rec.Outcome = Done; err != nil {
		rec.Outcome, rec.Detail = Failed, show(err.Error())
	}
	a.record(ctx, &rec)
	return rec, err
}

// allow is admit and what else a purge needs before it may act.
func (a *Access) allow(ctx context.Context, turn string, p Purge) (outcome string, err error) {
	if outcome, err = a.admit(turn); err != nil {
		return outcome, err
	}
	switch {
	case !p.valid():
		return RefusedRequest, ErrRequest
	case a.root.Writable() != nil:
		return RefusedPlace, a.root.Writable()
	case a.cfg.Sink == nil:
		return RefusedSink, ErrSink
	}
	if err = a.cfg.Sink.Ready(ctx); err != nil {
		return RefusedSink, errors.Join(ErrSink, err)
	}
	return "", nil
}

// sweep is one purge that runs.
type sweep struct {
	a      *Access
	rec    *PurgeRecord
	before time.Time
	all    bool
	dirs   []dirchain.Stat // the entered directories, as they were before
}

// wanted decides. Pure.
func (s *sweep) wanted(st dirchain.Stat) bool { return s.all || modified(st).Before(s.before) }

func (s *sweep) visit(e dirchain.Entry) error {
	s.a.at("visit", e.Path)
	switch {
	case e.Post:
		st := s.dirs[e.Depth-1]
		if s.dirs = s.dirs[:e.Depth-1]; s.wanted(st) {
			s.remove(e, st)
		}
	case errors.Is(e.Err, dirchain.ErrLimit): // the walk says so at its end
	case e.Err != nil:
		s.left(e, e.Err)
	case e.IsDir():
		return s.enter(e)
	default:
		s.file(e)
	}
	return nil
}

// enter remembers a directory as it is before its contents go: that changes its
// modification time.
func (s *sweep) enter(e dirchain.Entry) error {
	st, err := e.Stat()
	if err != nil {
		s.left(e, err)
		return fs.SkipDir
	}
	s.dirs = append(s.dirs[:e.Depth-1], st)
	return nil
}

func (s *sweep) file(e dirchain.Entry) {
	st, err := e.Stat()
	switch {
	case err != nil:
		s.left(e, err)
	case st.Type() != e.Type:
		s.left(e, dirchain.ErrChanged)
	case !s.wanted(st):
	case st.Type().IsRegular() && st.Links > 1:
		s.rec.note(e.Path, Linked, "")
	default:
		s.remove(e, st)
	}
}

// remove takes a name away if it is still that of what was looked at.
func (s *sweep) remove(e dirchain.Entry, st dirchain.Stat) {
	s.a.at("remove", e.Path)
	if err := e.Remove(st); err != nil {
		s.left(e, err)
		return
	}
	c := &s.rec.Removed
	switch st.Type() {
	case fs.ModeDir:
		c.Directories++
		return
	case fs.ModeSymlink:
		c.Links++
	case 0:
		c.Files++
	default:
		c.Others++
	}
	c.Bytes = plus(c.Bytes, st.Size)
	c.BlockBytes = plus(c.BlockBytes, st.Blocks*512)
}

// left notes what is still there. A directory that is not empty needs no word: what
// is in it is noted, or is younger.
func (s *sweep) left(e dirchain.Entry, err error) {
	if errors.Is(err, unix.ENOTEMPTY) {
		return
	}
	if skipped, failed, gone := judgeFailure(err); !gone {
		s.rec.note(e.Path, skipped, failed)
	}
}
