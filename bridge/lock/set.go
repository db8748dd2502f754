package lock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// Priority orders those who wait for one key.
type Priority uint8

// The two priorities.
const (
	Interactive Priority = iota // somebody is waiting for it; the zero value
	Autonomous
)

// Options of one wait. The zero value is interactive and waits as long as its context.
type Options struct {
	Priority Priority

	// Wait is the most that the whole call waits, for all of its keys; 0 or less: no limit.
	Wait time.Duration

	// Yield is called at most once for each key, from another goroutine, when an autonomous
	// holder has kept an interactive waiter for the Set's time. It should make the holder
	// finish soon. A panic in it is dropped. nil: the holder is not told.
	Yield func()
}

// DefaultYieldAfter is how long a person waits before an autonomous holder is told.
const DefaultYieldAfter = 20 * time.Second

// Config of a Set.
type Config struct {
	// YieldAfter is above zero.
	YieldAfter time.Duration

	// Whole makes all keys one: whatever is locked excludes everything else.
	Whole bool
}

// ErrConfig is a time that is not positive and finite, or a key that is empty.
var ErrConfig = errors.New("lock: invalid")

// Millis reads a time from a configuration, in milliseconds. What is not above zero, not
// finite or beyond what a Duration holds is [ErrConfig].
func Millis(ms float64) (time.Duration, error) {
	if math.IsNaN(ms) || ms <= 0 || ms > math.MaxInt64/float64(time.Millisecond)/2 {
		return 0, fmt.Errorf("%w: a time must be positive and finite", ErrConfig)
	}
	// What is less than a nanosecond is still above zero.
	return max(time.Duration(ms*float64(time.Millisecond)), 1), nil
}

// Set is the locks of one process. The zero Set is ready, with the default time. It must not
// be copied.
type Set struct {
	yieldAfter time.Duration
	whole      bool

	mu    sync.Mutex
	keys  map[string]*queue // none without a holder
	files map[string]*FileLock
}

// New makes a Set.
func New(c Config) (*Set, error) {
	if c.YieldAfter <= 0 {
		return nil, fmt.Errorf("%w: YieldAfter must be above zero", ErrConfig)
	}
	return &Set{yieldAfter: c.YieldAfter, whole: c.Whole}, nil
}

// BusyError is a wait that reached its limit.
type BusyError struct {
	Key    string
	Waited time.Duration
}

// Error says how long the wait was. The key may be a path: it is quoted.
func (e *BusyError) Error() string {
	return fmt.Sprintf("lock: %q is busy: waited %d ms", e.Key, e.Waited.Milliseconds())
}

// Acquire waits for one key. The release may be called twice; the second call does nothing.
// The error is a *[BusyError], the context's, or that of the key's [FileLock].
func (s *Set) Acquire(ctx context.Context, key string, o Options) (release func(), err error) {
	return s.acquire(ctx, s.keyOf(key), o, time.Now())
}

// acquire counts the wait from start.
func (s *Set) acquire(ctx context.Context, key string, o Options, start time.Time) (func(), error) {
	if key == "" {
		return nil, fmt.Errorf("%w: no key", ErrConfig)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &waiter{options: o, granted: make(chan struct{})}
	s.enter(key, w)
	if err := s.wait(ctx, key, w, start); err != nil {
		return nil, err
	}
	free := func() { s.release(key, w) }
	file := s.file(key)
	if file == nil {
		return free, nil
	}
	if err := file.lock(ctx, key, o.Wait, start); err != nil {
		free()
		return nil, err
	}
	var once sync.Once
	return func() { once.Do(func() { file.unlock(); free() }) }, nil
}

// wait returns when w holds the key, or has left the queue.
func (s *Set) wait(ctx context.Context, key string, w *waiter, start time.Time) error {
	select {
	case <-w.granted: // before a limit that is over already: nobody waited
		return s.confirm(ctx, key, w)
	default:
	}
	var expired <-chan time.Time
	if w.options.Wait > 0 {
		t := time.NewTimer(w.options.Wait - time.Since(start))
		defer t.Stop()
		expired = t.C
	}
	select {
	case <-w.granted:
	case <-ctx.Done():
	case <-expired:
		if s.leave(key, w) {
			return &BusyError{Key: key, Waited: time.Since(start)}
		}
	}
	return s.confirm(ctx, key, w)
}

// confirm looks at the context after a grant, or instead of one.
func (s *Set) confirm(ctx context.Context, key string, w *waiter) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if !s.leave(key, w) {
		s.release(key, w)
	}
	return err
}

// WithLocks calls f under all keys and gives its error. The keys are taken in one order,
// whatever order they come in, each once: calls that want the same keys cannot wait for each
// other. They are released when f returns or panics. No keys: f is called. A context that has
// ended before f has begun means that f is not called.
func (s *Set) WithLocks(ctx context.Context, keys []string, f func() error) error {
	return s.With(ctx, keys, Options{}, f)
}

// With is WithLocks with options.
func (s *Set) With(ctx context.Context, keys []string, o Options, f func() error) error {
	start := time.Now()
	for _, key := range s.sorted(keys) {
		release, err := s.acquire(ctx, key, o, start)
		if err != nil {
			return err
		}
		defer release()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f()
}
