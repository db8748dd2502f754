package bridge

import (
	"crypto/sha256"
	"sync"
)

// replays remembers the ids of all requests of a session: 16 bytes of a hash each.
type replays struct {
	mu   sync.Mutex
	most int
	seen map[[16]byte]struct{}
}

type novelty uint8

const (
	replayed novelty = iota // used before
	full                    // no more can be remembered
	fresh
)

// use tells what an id is, and remembers a fresh one.
func (r *replays) use(id string) novelty {
	h := sha256.Sum256([]byte(id))
	key := [16]byte(h[:16])
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, used := r.seen[key]; used {
		return replayed
	}
	if len(r.seen) >= r.most {
		return full
	}
	if r.seen == nil {
		r.seen = map[[16]byte]struct{}{}
	}
	r.seen[key] = struct{}{}
	return fresh
}
