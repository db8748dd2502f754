package explain

import (
	"sync/atomic"
	"time"
)

// What may wait for a file system waits on a thread of its own, and the program for it only
// so long: the file system may be one that hangs, or be served by the program itself.
const (
	patience    = 250 * time.Millisecond // for one call
	allPatience = 2 * time.Second        // for all calls that were waited for in vain
	helpers     = 8                      // threads that may hang at a time
)

// budget is how much may be waited.
type budget struct {
	each  time.Duration
	left  *atomic.Int64 // nanoseconds that may still be lost
	slots chan struct{}
}

func newBudget(each, all time.Duration) budget {
	b := budget{each: each, left: new(atomic.Int64), slots: make(chan struct{}, helpers)}
	b.left.Store(int64(all))
	return b
}

// await has work done by another thread, and reports false if that takes too long: what it
// returns later is given to drop. Work must use nothing that the caller uses again.
func await[T any](b *budget, work func() T, drop func(T)) (T, bool) {
	var none T
	if b.left.Load() <= 0 {
		return none, false
	}
	select {
	case b.slots <- struct{}{}:
	default:
		return none, false
	}
	result := make(chan T, 1)
	var state atomic.Bool // who is first decides whose the result is
	go func() {
		v := work()
		<-b.slots
		if state.Swap(true) {
			drop(v)
			return
		}
		result <- v
	}()
	timer := time.NewTimer(b.each)
	defer timer.Stop()
	select {
	case v := <-result:
		return v, true
	case <-timer.C:
	}
	if state.Swap(true) {
		return <-result, true // it came just in time
	}
	b.left.Add(-int64(b.each))
	return none, false
}
