package protect

import (
	"sync"

	"brainbox/dirchain"
)

// Held is the place that was judged, from the judgment to the effect. It has descriptors
// until it is closed; nil is a place that is not held.
type Held struct {
	path, rel string
	target    *dirchain.Target
	once      sync.Once
}

// Path is the canonical path, absolute: a key, for approvals.
func (h *Held) Path() string {
	if h == nil {
		return ""
	}
	return h.path
}

// Rel is the path of the effect, beneath the root that holds it.
func (h *Held) Rel() string {
	if h == nil {
		return ""
	}
	return h.rel
}

// Target is for the Held field of the operation's request. Where directories are missing
// it is that of the first one that is: the operation needs Parents then, and must make it.
// nil when nothing is held: the operation must not be done.
func (h *Held) Target() *dirchain.Target {
	if h == nil {
		return nil
	}
	return h.target
}

// descriptors is how many it has, at most.
func (h *Held) descriptors() int {
	if h == nil || h.target == nil {
		return 0
	}
	return len(h.target.Chain()) + 1
}

// Close lets go. Only the first call does something.
func (h *Held) Close() {
	if h == nil {
		return
	}
	h.once.Do(func() {
		if h.target != nil {
			h.target.Close()
		}
	})
}
