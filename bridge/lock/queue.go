package lock

import (
	"slices"
	"time"
)

// waiter is one Acquire: in a queue, then the holder, then gone.
type waiter struct {
	options Options
	since   time.Time
	granted chan struct{} // closed when it becomes the holder
}

// queue is one key that is held. Its fields belong to the Set's mutex.
type queue struct {
	holder  *waiter
	waiting [2][]*waiter // by priority, first come first
	told    bool         // the holder's Yield was called
	timer   *time.Timer  // runs until the holder is told; nil: nobody to tell, or of
}

// enter grants the key or queues w.
func (s *Set) enter(key string, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.keys[key]
	if q == nil {
		if s.keys == nil {
			s.keys = map[string]*queue{}
		}
		s.keys[key] = &queue{holder: w}
		close(w.granted)
		return
	}
	w.since = time.Now()
	p := w.rank()
	q.waiting[p] = append(q.waiting[p], w)
	s.watch(key, q)
}

// rank is the index of the queue: a priority that is unknown goes last.
func (w *waiter) rank() int { return min(int(w.options.Priority), int(Autonomous)) }

// leave takes w out of the queue, and says whether it was there.
func (s *Set) leave(key string, w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.keys[key]
	if q == nil {
		return false
	}
	p := w.rank()
	i := slices.Index(q.waiting[p], w)
	if i < 0 {
		return false
	}
	q.waiting[p] = slices.Delete(q.waiting[p], i, i+1)
	s.watch(key, q)
	return true
}

// release hands the key on, if w holds it.
func (s *Set) release(key string, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.keys[key]
	if q == nil || q.holder != w {
		return
	}
	q.stop()
	for p := range q.waiting {
		if len(q.waiting[p]) == 0 {
			continue
		}
		next := q.waiting[p][0]
		q.waiting[p] = slices.Delete(q.waiting[p], 0, 1)
		q.holder, q.told = next, false
		close(next.granted)
		s.watch(key, q)
		return
	}
	delete(s.keys, key)
}

// watch makes the timer fit the queue: it runs while an autonomous holder that wants to be
// told, and was not, keeps a person, until the time of the one who came first.
func (s *Set) watch(key string, q *queue) {
	q.stop()
	h := q.holder
	people := q.waiting[Interactive]
	if h.rank() == int(Interactive) || h.options.Yield == nil || q.told || len(people) == 0 {
		return
	}
	q.timer = time.AfterFunc(s.patience()-time.Since(people[0].since), func() { s.tell(key, q, h) })
}

// patience is how long a person waits before the holder is told.
func (s *Set) patience() time.Duration {
	if s.yieldAfter <= 0 {
		return DefaultYieldAfter
	}
	return s.yieldAfter
}

func (q *queue) stop() {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
}

// tell calls the holder's Yield unless everything changed while the timer went off.
func (s *Set) tell(key string, q *queue, h *waiter) {
	s.mu.Lock()
	people := q.waiting[Interactive]
	due := s.keys[key] == q && q.holder == h && !q.told && len(people) > 0 && time.Since(people[0].since) >= s.patience()
	if due {
		q.stop()
		q.told = true
	}
	s.mu.Unlock()
	if !due {
		return
	}
	// It runs on a goroutine of its own, where a panic would end the host.
	defer func() { _ = recover() }()
	h.options.Yield()
}
