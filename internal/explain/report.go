package explain

import (
	"slices"
	"sync"

	"brainbox/launcher"
)

// keptDenials is how many denials are told apart: the program chooses how many there are.
const keptDenials = 1000

// Report is a [Sink] that counts what was refused. The zero value is ready; it is safe for
// use by several threads.
//
//	r := &explain.Report{Home: "/home/ada", Secret: facts.Secret}
//	engine, err := explain.New(explain.Config{Judge: judge, Sink: r})
//	…
//	r.Text(os.Stderr, 20)
type Report struct {
	Home string // is never suggested, nor a folder that holds it; "": it is not known

	// Secret says what a path holds that nobody should grant unread, or "" (launcher.Facts.Secret).
	// It is asked when the report is read; nil: nothing is a secret.
	Secret func(path string) string

	// Trusted says what of a path is run outside of the sandbox (launcher.Facts.Trusted): no
	// folder that holds such is suggested in place of its files, for writing; nil: nothing is.
	Trusted func(path string) string

	mu        sync.Mutex
	index     map[denialKey]int
	list      []Denial // as they came first
	limits    []Limit
	unkept    int64 // that were not told apart
	undecided int64
}

// Limit is a limit of the run that was reached, and not an operation that the policy refuses.
type Limit struct {
	Name      string // of the clause: "nofile"
	Text      string // what happened, a sentence without a stop
	Flag      string // that raises it
	Line      string // of a policy
	Certainty Certainty
}

// Saw counts one operation.
func (r *Report) Saw(s *Seen) {
	switch {
	case s.Moot:
	case s.Judgement.Verdict == launcher.Refused:
		r.add(&Denial{Seen: *s, Count: 1}, true)
	case s.Judgement.Verdict == launcher.Undecided:
		r.mu.Lock()
		r.undecided++
		r.mu.Unlock()
	}
}

// Add counts what was refused elsewhere than in a system call: a host by its name, or what the
// kernel's own record says.
func (r *Report) Add(d *Denial) { r.add(d, false) }

func (r *Report) add(d *Denial, look bool) {
	key := d.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count(key, d) {
		return
	}
	if look {
		// Files of proc are read without the lock: others have to wait for it.
		r.mu.Unlock()
		d.Program, d.PID = asker(d.TID)
		r.mu.Lock()
		if r.count(key, d) {
			return
		}
	}
	if r.index == nil {
		r.index = map[denialKey]int{}
	}
	r.index[key] = len(r.list)
	r.list = append(r.list, *d)
}

// count counts what is known already, or what there is no room for.
func (r *Report) count(key denialKey, d *Denial) bool {
	i, known := r.index[key]
	switch {
	case known:
		r.list[i].Count += d.Count
		r.list[i].meet(d)
		r.list[i].Certainty = max(r.list[i].Certainty, d.Certainty)
	case len(r.list) >= keptDenials:
		r.unkept += d.Count
	default:
		return false
	}
	return true
}

// Confirm proves the denials that match, of which the kernel itself has said that it refused
// them, and reports whether there are any.
func (r *Report) Confirm(match func(*Denial) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := false
	for i := range r.list {
		if match(&r.list[i]) {
			found, r.list[i].Certainty = true, Proven
		}
	}
	return found
}

// Reach notes a limit, once.
func (r *Report) Reach(l Limit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.limits, func(known Limit) bool { return known.Name == l.Name }) {
		r.limits = append(r.limits, l)
	}
}

// Limits are those that were reached.
func (r *Report) Limits() []Limit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.limits)
}

// Tally is how much a report has.
type Tally struct {
	Operations              int // that are told apart
	Proven, Likely, Unknown int
	Unkept                  int64 // refused, and not told apart: there were too many kinds before
	Undecided               int64 // of which nobody knows what became of them
}

// Tally counts.
func (r *Report) Tally() Tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := Tally{Operations: len(r.list), Unkept: r.unkept, Undecided: r.undecided}
	for i := range r.list {
		switch r.list[i].Certainty {
		case Proven:
			t.Proven++
		case Likely:
			t.Likely++
		case Unknown:
			t.Unknown++
		}
	}
	return t
}

// Denials lists what was refused, the most useful first: what is proven before what is likely
// before what is not known; then what goes away with the most others by one flag; then what
// happened most often.
func (r *Report) Denials() []Denial {
	list, _ := r.ranked()
	return list
}

// ranked gives the denials in order, and the suggestions with the indexes into that order.
func (r *Report) ranked() ([]Denial, []Suggestion) {
	r.mu.Lock()
	list := slices.Clone(r.list)
	r.mu.Unlock()
	covers := make([]int, len(list))
	for _, s := range r.suggest(list) {
		for _, i := range s.of {
			covers[i] = s.Operations
		}
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := &list[a], &list[b]; {
		case x.Certainty != y.Certainty:
			return int(y.Certainty) - int(x.Certainty)
		case covers[a] != covers[b]:
			return covers[b] - covers[a]
		case x.Count != y.Count && x.Count > y.Count:
			return -1
		case x.Count != y.Count:
			return 1
		}
		return 0
	})
	sorted := make([]Denial, len(list))
	for to, from := range order {
		sorted[to] = list[from]
	}
	return sorted, r.suggest(sorted)
}

// Suggestions lists what would let operations through that were refused, the most useful first.
func (r *Report) Suggestions() []Suggestion {
	_, list := r.ranked()
	return list
}
