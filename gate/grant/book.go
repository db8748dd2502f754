package grant

import (
	"errors"
	"slices"
	"sync"
	"time"

	"brainbox/gate/rule"
	"brainbox/gate/wild"
)

// MaxGrants is how many grants a session holds.
const MaxGrants = 1024

// Errors of [Book.Add].
var (
	ErrFull    = errors.New("grant: the session has 1024 grants already")
	ErrNotOne  = errors.New("grant: a grant needs a surface and a pattern")
	ErrPattern = errors.New("grant: for a protected name only its exact path is granted")
	ErrWho     = errors.New("grant: either an agent or the whole session")
	ErrExpired = errors.New("grant: its time is over before it begins")
)

// Grant is one approval. The zero Grant approves nothing and is refused.
type Grant struct {
	Surface string
	Pattern string
	Row     string // name of the protected row that was asked about; with Exact only

	// Exact says that the pattern is the text itself and holds no wildcard.
	Exact bool

	Agent string // for this agent only
	Whole bool   // for every agent of the session; then Agent is empty
}

// Lifetime says how long a grant holds. The zero Lifetime is one call.
type Lifetime struct {
	run   bool
	limit time.Duration
}

// Once holds for one call.
func Once() Lifetime { return Lifetime{} }

// Run holds until the session ends.
func Run() Lifetime { return Lifetime{run: true} }

// For holds for a time from now.
func For(d time.Duration) Lifetime { return Lifetime{run: true, limit: max(d, -1)} }

// Entry is a grant that holds, for lists.
type Entry struct {
	ID    uint64
	Grant Grant
	Once  bool
	Left  time.Duration // 0: until the session ends
}

// Book is the grants of one session. It may be used by several goroutines.
type Book struct {
	now  func() time.Duration
	mu   sync.Mutex
	last uint64
	held []held
}

type held struct {
	Entry
	until time.Duration // 0: no limit
	p     *wild.Pattern // nil with Exact
}

// NewBook makes an empty book. The clock is time since any fixed moment, and
// must not go back.
func NewBook(clock func() time.Duration) *Book { return &Book{now: clock} }

// Add holds a grant. Its number is never 0 and never used again.
func (b *Book) Add(g Grant, l Lifetime) (uint64, error) {
	h := held{Entry: Entry{Grant: g, Once: !l.run}}
	switch {
	case g.Surface == "" || g.Pattern == "":
		return 0, ErrNotOne
	case g.Row != "" && !g.Exact:
		return 0, ErrPattern
	case g.Whole == (g.Agent != ""):
		return 0, ErrWho
	case l.limit < 0:
		return 0, ErrExpired
	}
	if !g.Exact {
		p, err := wild.Compile(g.Pattern, wild.Options{})
		if err != nil {
			return 0, err
		}
		h.p = p
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	if len(b.held) >= MaxGrants {
		return 0, ErrFull
	}
	if l.limit > 0 {
		h.until = b.now() + l.limit
	}
	b.last++
	h.ID = b.last
	b.held = append(b.held, h)
	return h.ID, nil
}

// sweep forgets what is over. The lock is held.
func (b *Book) sweep() {
	now := b.now()
	b.held = slices.DeleteFunc(b.held, func(h held) bool { return h.until != 0 && now >= h.until })
}

// List returns the grants that hold, oldest first.
func (b *Book) List() []Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	out := make([]Entry, len(b.held))
	for i, h := range b.held {
		out[i] = h.Entry
		if h.until != 0 {
			out[i].Left = h.until - b.now()
		}
	}
	return out
}

// Revoke ends a grant; it reports whether it still held.
func (b *Book) Revoke(id uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	n := len(b.held)
	b.held = slices.DeleteFunc(b.held, func(h held) bool { return h.ID == id })
	return len(b.held) < n
}

// RevokeAll ends every grant, as the end of the session does.
func (b *Book) RevokeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = nil
}

// Use is called once for a decision, before its effect: it reports whether every
// grant that the decision relied on still holds, and ends those for one call. If
// one does not hold, none is used up, and the call must be judged again.
func (b *Book) Use(ids []uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	for _, id := range ids {
		if !slices.ContainsFunc(b.held, func(h held) bool { return h.ID == id }) {
			return false
		}
	}
	b.held = slices.DeleteFunc(b.held, func(h held) bool { return h.Once && slices.Contains(ids, h.ID) })
	return true
}

// For returns the grants as one agent has them.
func (b *Book) For(agent string) rule.Approvals { return view{b, agent} }

type view struct {
	book  *Book
	agent string
}

// Approves finds the grant that covers an answer: one for longer before one for a
// single call, so that none is used up in vain.
func (v view) Approves(a *rule.Answer, exact bool) (uint64, bool) {
	v.book.mu.Lock()
	defer v.book.mu.Unlock()
	v.book.sweep()
	var once uint64
	for i := range v.book.held {
		h := &v.book.held[i]
		if !h.covers(a, v.agent, exact) {
			continue
		}
		if !h.Once {
			return h.ID, true
		}
		if once == 0 {
			once = h.ID
		}
	}
	return once, once != 0
}

func (h *held) covers(a *rule.Answer, agent string, exact bool) bool {
	g := &h.Grant
	switch {
	case g.Surface != a.Surface, g.Row != a.Row, !g.Whole && g.Agent != agent:
		return false
	case g.Exact:
		return g.Pattern == a.Value
	case exact:
		return false
	}
	return a.Covered(h.p)
}
