package learn

import (
	"cmp"
	"slices"
	"sync"

	"brainbox/internal/explain"
	"brainbox/launcher"
)

// What is kept is bounded: the program chooses how many names it asks for, and how long they
// are.
const (
	maxUses  = 200_000
	maxBytes = 64 << 20 // of names
)

// Use is an operation of the program, and how often it was seen.
type Use struct {
	launcher.Operation
	Judgement launcher.Judgement
	Unknown   bool // a name could not be resolved: Path is what is known of it
	Count     int
	First     int    // its place in the order in which operations were first seen
	By        string // the name of the first program that did it; "" if it is not known
}

// Recorder keeps what a program does. It is an [explain.Sink].
type Recorder struct {
	// Name tells the name of the program of a thread. It is asked once for each operation
	// that is new, while the thread waits. It may be nil.
	Name func(tid int) string

	mu      sync.Mutex
	uses    map[useKey]*Use
	bytes   int
	dropped int
}

type useKey struct {
	op      launcher.Operation
	verdict launcher.Verdict
	unknown bool
}

// Saw keeps one operation. What fails in any case says nothing of what a policy needs.
func (r *Recorder) Saw(s *explain.Seen) {
	if s.Moot {
		return
	}
	key := useKey{s.Operation, s.Judgement.Verdict, s.Certainty == explain.Unknown}
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.uses[key]; u != nil {
		u.Count++
		return
	}
	size := len(s.Path) + len(s.Dest)
	if len(r.uses) >= maxUses || r.bytes+size > maxBytes {
		r.dropped++
		return
	}
	if r.uses == nil {
		r.uses = map[useKey]*Use{}
	}
	r.bytes += size
	u := &Use{Operation: s.Operation, Judgement: s.Judgement, Unknown: key.unknown, Count: 1, First: len(r.uses)}
	if r.Name != nil {
		u.By = r.Name(s.TID)
	}
	r.uses[key] = u
}

// Uses returns what was kept, sorted.
func (r *Recorder) Uses() []Use {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Use, 0, len(r.uses))
	for _, u := range r.uses {
		list = append(list, *u)
	}
	slices.SortFunc(list, compareUses)
	return list
}

// Dropped counts the operations that were too many to keep.
func (r *Recorder) Dropped() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

func compareUses(a, b Use) int {
	return cmp.Or(
		cmp.Compare(a.Path, b.Path), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Dest, b.Dest), cmp.Compare(a.Port, b.Port),
		cmp.Compare(a.Call, b.Call), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Over, b.Over),
		cmp.Compare(a.Judgement.Verdict, b.Judgement.Verdict), boolCompare(a.Unknown, b.Unknown),
	)
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
