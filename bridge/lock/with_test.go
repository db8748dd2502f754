package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestWithLocks(t *testing.T) {
	bubble(t, "bk/KL7", func(t *testing.T, r *rig) {
		bad := errors.New("bad")
		err := r.set.WithLocks(t.Context(), []string{"b", "a"}, func() error {
			if held := r.set.Held(); !slices.Equal(held, []string{"a", "b"}) {
				t.Errorf("held: %q", held)
			}
			return bad
		})
		if !errors.Is(err, bad) {
			t.Errorf("got %v", err)
		}
	})
	bubble(t, "bk/KL13 [D] a panic goes on, the locks are free", func(t *testing.T, r *rig) {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("recovered %v", p)
			}
			if held := r.set.Held(); len(held) != 0 {
				t.Errorf("held: %q", held)
			}
		}()
		_ = r.set.WithLocks(t.Context(), []string{"a", "b"}, func() error { panic("boom") })
		t.Error("no panic")
	})
	bubble(t, "a goroutine that ends", func(_ *testing.T, r *rig) {
		go func() {
			_ = r.set.WithLocks(r.t.Context(), []string{"a"}, func() error { runtime.Goexit(); return nil })
		}()
		synctest.Wait()
		r.ask(r.t.Context(), "a", "a", Options{})
		r.want("a")
		r.done("a")
	})
	bubble(t, "keys twice, and none", func(t *testing.T, r *rig) {
		for _, keys := range [][]string{{"a", "b", "a", "a"}, {}, nil} {
			given := slices.Clone(keys)
			ran := 0
			if err := r.set.WithLocks(t.Context(), keys, func() error { ran++; return nil }); err != nil || ran != 1 {
				t.Errorf("%q: %v, ran %d times", keys, err, ran)
			}
			if !slices.Equal(keys, given) {
				t.Errorf("the caller's list became %q", keys)
			}
		}
	})
	bubble(t, "one limit for all keys", func(t *testing.T, r *rig) {
		r.ask(t.Context(), "a", "a", Options{})
		r.ask(t.Context(), "c", "c", Options{})
		at := time.Now()
		end := make(chan error)
		go func() {
			end <- r.set.With(t.Context(), []string{"c", "b", "a"}, Options{Wait: time.Minute}, func() error { return nil })
		}()
		pass(40 * time.Second)
		r.done("a")
		var b *BusyError
		if err := <-end; !errors.As(err, &b) || b.Key != "c" || time.Since(at) != time.Minute {
			t.Errorf("got %v after %v", err, time.Since(at))
		}
		if held := r.set.Held(); !slices.Equal(held, []string{"c"}) {
			t.Errorf("held: %q", held)
		}
		r.done("c")
	})
	bubble(t, "one key for all", func(t *testing.T, r *rig) {
		s, err := New(Config{YieldAfter: time.Second, Whole: true})
		if err != nil {
			t.Fatal(err)
		}
		ran := false
		err = s.WithLocks(t.Context(), []string{"a", "b"}, func() error {
			err := s.With(t.Context(), []string{"c"}, Options{Wait: time.Second}, func() error { ran = true; return nil })
			var b *BusyError
			if !errors.As(err, &b) || !s.Locked("z") {
				t.Errorf("another key: %v", err)
			}
			return nil
		})
		if err != nil || ran {
			t.Errorf("%v, ran: %v", err, ran)
		}
	})
}

// TestMany: with random keys in random order, limits and cancellations, two holders never
// meet, nobody waits for ever, and nothing is left.
func TestMany(t *testing.T) {
	var s Set
	var mu sync.Mutex
	inside := map[string]int{}
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	var ran int
	for i := range 32 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			for range 200 {
				var keys []string
				for range rnd.IntN(5) {
					keys = append(keys, fmt.Sprint("k", rnd.IntN(5)))
				}
				ctx, cancel := context.WithCancel(t.Context())
				o := Options{Priority: Priority(rnd.IntN(2)), Wait: time.Duration(rnd.IntN(3)) * time.Millisecond, Yield: func() {}}
				if rnd.IntN(4) == 0 {
					time.AfterFunc(time.Duration(rnd.IntN(300))*time.Microsecond, cancel)
				}
				_ = s.With(ctx, keys, o, func() error {
					slices.Sort(keys)
					keys = slices.Compact(keys)
					enter(t, &mu, inside, keys, 1)
					if rnd.IntN(8) == 0 {
						runtime.Gosched()
					}
					enter(t, &mu, inside, keys, -1)
					mu.Lock()
					ran++
					mu.Unlock()
					return nil
				})
				cancel()
			}
		})
	}
	wg.Wait()
	if held := s.Held(); len(held) != 0 || ran < 32*200/4 {
		t.Errorf("held: %q, ran %d", held, ran)
	}
	for range 4000 { // timers' goroutines end by themselves
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func enter(t *testing.T, mu *sync.Mutex, inside map[string]int, keys []string, by int) {
	mu.Lock()
	defer mu.Unlock()
	for _, k := range keys {
		inside[k] += by
		if inside[k] < 0 || inside[k] > 1 {
			t.Errorf("%d inside %s", inside[k], k)
		}
	}
}

// BenchmarkWithLocks is one key that nobody else wants.
func BenchmarkWithLocks(b *testing.B) {
	var s Set
	keys := []string{BrainDocs, "path:/a"}
	for b.Loop() {
		_ = s.WithLocks(b.Context(), keys, func() error { return nil })
	}
}
