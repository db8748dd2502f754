package lock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs a vector with a clock of its own. Nothing of a Set may be left at the end: no
// holder, no timer, and synctest itself refuses a goroutine that still waits.
func bubble(t *testing.T, name string, f func(t *testing.T, r *rig)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := &rig{t: t}
			f(t, r)
			synctest.Wait()
			if held := r.set.Held(); len(held) != 0 {
				t.Errorf("still held: %q", held)
			}
			at := time.Now()
			pass(24 * time.Hour)
			if r.last.After(at) {
				t.Error("something happened after the end")
			}
		})
	})
}

// pass lets time pass, and everything happen that is due.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// rig starts waiters and writes down who was granted.
type rig struct {
	t    *testing.T
	set  Set
	mu   sync.Mutex
	log  []string
	last time.Time
	free map[string]func()
	errs map[string]error
}

func (r *rig) note(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log, r.last = append(r.log, s), time.Now()
}

// ask starts an Acquire, and comes back when it was granted or waits.
func (r *rig) ask(ctx context.Context, who, key string, o Options) {
	if r.free == nil {
		r.free, r.errs = map[string]func(){}, map[string]error{}
	}
	go func() {
		release, err := r.set.Acquire(ctx, key, o)
		r.mu.Lock()
		r.free[who], r.errs[who] = release, err
		r.mu.Unlock()
		if err == nil {
			r.note(who)
		} else {
			r.note(who + " refused")
		}
	}()
	synctest.Wait()
}

// get is the release of a holder, nil of anybody else.
func (r *rig) get(who string) func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.free[who]
}

func (r *rig) done(who string) {
	r.t.Helper()
	release := r.get(who)
	if release == nil {
		r.t.Fatalf("%s holds nothing", who)
	}
	release()
	synctest.Wait()
}

func (r *rig) want(log ...string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.log, log) {
		r.t.Fatalf("happened: %q, want %q", r.log, log)
	}
}

func (r *rig) busy(who, key string, waited time.Duration) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var b *BusyError
	if err := r.errs[who]; !errors.As(err, &b) || b.Key != key || b.Waited != waited {
		r.t.Fatalf("%s: %v, want busy %s after %v", who, err, key, waited)
	}
}

func TestOrder(t *testing.T) {
	ctx := context.Background() // the channel of t.Context belongs to no bubble
	bubble(t, "bk/KL1", func(_ *testing.T, r *rig) {
		for _, who := range []string{"a", "b", "c"} {
			r.ask(ctx, who, "k", Options{})
		}
		r.want("a")
		r.done("a")
		r.want("a", "b")
		r.done("b")
		r.want("a", "b", "c")
		r.done("c")
	})
	bubble(t, "bk/KL2", func(t *testing.T, r *rig) {
		r.ask(ctx, "a", "a", Options{})
		r.ask(ctx, "b", "b", Options{})
		r.want("a", "b")
		if held := r.set.Held(); !slices.Equal(held, []string{"a", "b"}) || !r.set.Locked("a") || r.set.Locked("c") {
			t.Errorf("held: %q", held)
		}
		r.done("b")
		r.done("a")
	})
	bubble(t, "bk/KL3", func(_ *testing.T, r *rig) {
		for _, who := range []string{"a", "b", "c"} {
			r.ask(ctx, who, "k", Options{})
		}
		r.done("a")
		r.done("a") // b holds it now
		r.want("a", "b")
		r.done("b")
		r.want("a", "b", "c")
		r.done("c")
		r.done("a")
	})
	bubble(t, "people first", func(_ *testing.T, r *rig) {
		r.ask(ctx, "a", "k", Options{Priority: Autonomous})
		r.ask(ctx, "b", "k", Options{Priority: Autonomous})
		r.ask(ctx, "unknown", "k", Options{Priority: 9})
		r.ask(ctx, "c", "k", Options{})
		r.ask(ctx, "d", "k", Options{})
		for _, who := range []string{"a", "c", "d", "b", "unknown"} {
			r.done(who)
		}
		r.want("a", "c", "d", "b", "unknown")
	})
}

func TestBounds(t *testing.T) {
	ctx := context.Background() // the channel of t.Context belongs to no bubble
	bubble(t, "bk/KL4", func(_ *testing.T, r *rig) {
		r.ask(ctx, "a", "k", Options{})
		r.ask(ctx, "b", "k", Options{Wait: 50 * time.Millisecond})
		r.ask(ctx, "c", "k", Options{})
		pass(49 * time.Millisecond)
		r.want("a")
		pass(time.Millisecond)
		r.want("a", "b refused")
		r.busy("b", "k", 50*time.Millisecond)
		r.done("a")
		r.want("a", "b refused", "c")
		r.done("c")
	})
	bubble(t, "bk/KL5", func(_ *testing.T, r *rig) {
		r.ask(ctx, "a", "k", Options{})
		r.ask(ctx, "b", "k", Options{Wait: 50 * time.Millisecond})
		pass(20 * time.Millisecond)
		r.done("a")
		pass(time.Second)
		r.want("a", "b")
		if !r.set.Locked("k") {
			r.t.Error("b lost it")
		}
		r.done("b")
	})
	bubble(t, "bk/KL6", func(t *testing.T, r *rig) {
		at := time.Now()
		r.ask(ctx, "a", "k", Options{Wait: time.Nanosecond})
		r.want("a")
		if took := time.Since(at); took != 0 {
			t.Errorf("took %v", took)
		}
		r.done("a")
	})
	for _, wait := range []time.Duration{0, -1, -time.Hour} {
		bubble(t, "bk/KL12 "+wait.String(), func(_ *testing.T, r *rig) {
			r.ask(ctx, "a", "k", Options{})
			r.ask(ctx, "b", "k", Options{Wait: wait})
			pass(1000 * time.Hour)
			r.want("a")
			r.done("a")
			r.want("a", "b")
			r.done("b")
		})
	}
	bubble(t, "bk/KL14 the same goroutine twice", func(t *testing.T, r *rig) {
		release, err := r.set.Acquire(ctx, "k", Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.set.Acquire(ctx, "k", Options{Wait: time.Minute})
		var b *BusyError
		if !errors.As(err, &b) || b.Waited != time.Minute {
			t.Errorf("got %v", err)
		}
		release()
	})
}
