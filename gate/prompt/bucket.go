package prompt

import (
	"sync"
	"time"
)

// How often a session may check, ask and call, a second. Twice as many may come at once.
const (
	ChecksPerSecond  = 50
	PromptsPerSecond = 5
	CallsPerSecond   = 50
)

// Bucket limits how often something happens. It may be used by several goroutines.
type Bucket struct {
	mu   sync.Mutex
	each time.Duration // between two
	room time.Duration // what may be saved up
	have time.Duration
	last time.Time
}

// NewBucket returns a full bucket for so many a second, and twice as many at once.
// Less than one a second is one.
func NewBucket(perSecond int) *Bucket {
	each := time.Second / time.Duration(max(perSecond, 1))
	room := each * time.Duration(2*max(perSecond, 1))
	return &Bucket{each: each, room: room, have: room, last: time.Now()}
}

// Take reports whether one more is allowed now, and counts it.
func (b *Bucket) Take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.have, b.last = min(b.have+now.Sub(b.last), b.room), now
	if b.have < b.each {
		return false
	}
	b.have -= b.each
	return true
}
