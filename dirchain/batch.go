package dirchain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits of a batch.
const (
	MaxBatch      = 32   // entries
	MaxBatchParts = 1024 // components of all paths together: each costs a descriptor while the batch lasts
)

// BatchEntry is one write of a batch, or one edit.
type BatchEntry struct {
	Path string
	WriteRequest
	// Edit, when not nil, is done in place of the WriteRequest, which is not looked at.
	Edit *EditRequest
}

// BatchResult is what became of one entry.
type BatchResult struct {
	WriteResult
	Err error // why not, or what went wrong after it was applied
}

// Batch does 1 to [MaxBatch] writes of no more than [MaxBatchParts] ([ErrBatch]), of
// which no two may be in each other's way: the same path or file, or a directory of
// the other. Everything that can fail without an effect is done for all of them
// first: when one is refused nothing is applied, and nothing is left. Files are then published one after the
// other; when one fails there, those before it stay applied and those after it are
// not tried, and the results, one for each entry, say so. The error is that of the
// first entry that failed. Before of an entry is asked right before that one.
func (r *Root) Batch(ctx context.Context, entries []BatchEntry) ([]BatchResult, error) {
	b := batch{r: r, results: make([]BatchResult, len(entries)), staged: make([]*staged, 0, len(entries))}
	defer b.close()
	for i, e := range entries[:min(len(entries), MaxBatch)] {
		if _, err := SplitPath(e.Path); err != nil {
			b.results[i].Err = err
			return b.told(entries)
		}
	}
	if err := disjoint(entries); err != nil {
		return b.results, named("batch", "", err)
	}
	for i, e := range entries {
		if err := b.stage(ctx, e); err != nil {
			b.results[i].Err = err
			return b.told(entries)
		}
	}
	if i, err := b.publish(ctx); err != nil {
		b.results[i].Err = err
	}
	for i, s := range b.staged {
		if b.results[i].WriteResult = s.result; s.result.Applied {
			if err := s.sync(); b.results[i].Err == nil {
				b.results[i].Err = err
			}
		}
	}
	return b.told(entries)
}

// disjoint judges the paths. Pure.
func disjoint(entries []BatchEntry) error {
	if n := len(entries); n == 0 || n > MaxBatch {
		return because(ErrBatch, fmt.Sprintf("%d, from 1 to %d are possible", n, MaxBatch))
	}
	parts := len(entries)
	for i, a := range entries {
		if parts += strings.Count(a.Path, "/"); parts > MaxBatchParts {
			return because(ErrBatch, fmt.Sprintf("more than %d components", MaxBatchParts))
		}
		for _, b := range entries[:i] {
			if a.Path == b.Path || strings.HasPrefix(a.Path, b.Path+"/") || strings.HasPrefix(b.Path, a.Path+"/") {
				return because(ErrBatch, fmt.Sprintf("%q and %q", b.Path, a.Path))
			}
		}
	}
	return nil
}

type batch struct {
	r       *Root
	staged  []*staged
	made    []Identity // the directories that they made, which they hold
	results []BatchResult
}

// stage adds one entry.
func (b *batch) stage(ctx context.Context, e BatchEntry) error {
	req := e.WriteRequest
	if e.Edit != nil {
		var err error
		if req, err = b.r.edited(ctx, e.Path, *e.Edit); err != nil {
			return err
		}
	}
	req.made = b.made
	s, err := b.r.stage(ctx, e.Path, req)
	if err != nil {
		return err
	}
	for _, l := range s.ch.links {
		if l.made {
			b.made = append(b.made, l.id)
		}
	}
	b.staged = append(b.staged, s)
	for _, o := range b.staged[:len(b.staged)-1] {
		if s.meets(o) {
			return because(ErrBatch, "another path of the batch leads to the same file")
		}
	}
	return nil
}

// meets: both have one entry, or two names of one file.
func (s *staged) meets(o *staged) bool {
	if s.old >= 0 && o.old >= 0 && s.before.ID == o.before.ID {
		return true
	}
	a, b := s.ch.links[len(s.ch.links)-1].id, o.ch.links[len(o.ch.links)-1].id
	return a == b && s.leaf == o.leaf
}

// publish gives all files their names, after one more look at each of them. It
// tells the entry that failed.
func (b *batch) publish(ctx context.Context) (int, error) {
	chains := make([]*chain, len(b.staged))
	for i, s := range b.staged {
		chains[i] = s.ch
	}
	unlock, err := b.r.lock(ctx, chains...)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for i, s := range b.staged {
		if err := s.stillJudged(ctx); err != nil {
			return i, err
		}
	}
	for i, s := range b.staged {
		if err := s.publish(ctx); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// told names the errors, and gives the first, not counting those of the end.
func (b *batch) told(entries []BatchEntry) ([]BatchResult, error) {
	first := slices.IndexFunc(b.results, func(res BatchResult) bool { return res.Err != nil })
	b.close()
	for i := range b.results {
		b.results[i].Err = named("batch", entries[i].Path, b.results[i].Err)
	}
	if first < 0 {
		return b.results, nil
	}
	return b.results, b.results[first].Err
}

// close takes back what was not applied, the last first: an earlier entry may have
// made the directories of a later one.
func (b *batch) close() {
	for i := len(b.staged) - 1; i >= 0; i-- {
		if left := b.staged[i].close(); left != nil {
			b.results[i].Err = errors.Join(b.results[i].Err, left)
		}
	}
}
