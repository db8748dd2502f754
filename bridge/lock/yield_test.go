package lock

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCancel(t *testing.T) {
	bubble(t, "already cancelled", func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r.ask(ctx, "a", "k", Options{})
		r.want("a refused")
		ran := false
		err := r.set.WithLocks(ctx, nil, func() error { ran = true; return nil })
		if !errors.Is(r.errs["a"], context.Canceled) || !errors.Is(err, context.Canceled) || ran {
			t.Errorf("%v, %v, ran: %v", r.errs["a"], err, ran)
		}
	})
	bubble(t, "bk/KL10", func(t *testing.T, r *rig) {
		signals := 0
		r.ask(t.Context(), "a", "k", Options{Priority: Autonomous, Yield: func() { signals++ }})
		ctx, cancel := context.WithCancel(t.Context())
		ran, end := false, make(chan error)
		go func() { end <- r.set.WithLocks(ctx, []string{"k"}, func() error { ran = true; return nil }) }()
		synctest.Wait()
		pass(DefaultYieldAfter - time.Millisecond)
		cancel()
		if err := <-end; !errors.Is(err, context.Canceled) || ran {
			t.Errorf("%v, ran: %v", err, ran)
		}
		pass(time.Hour)
		r.done("a")
		pass(time.Hour)
		if ran || signals != 0 {
			t.Errorf("ran: %v, %d signals", ran, signals)
		}
	})
	bubble(t, "a holder stays", func(_ *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(r.t.Context())
		r.ask(ctx, "a", "k", Options{})
		cancel()
		r.ask(r.t.Context(), "b", "k", Options{})
		r.want("a")
		r.done("a")
		r.done("b")
	})
	// The grant and the end of the context come at the same time: the body does not run, and
	// the key goes on.
	bubble(t, "granted and cancelled", func(t *testing.T, r *rig) {
		r.ask(t.Context(), "a", "k", Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ran, end := false, make(chan error, 1)
		go func() { end <- r.set.WithLocks(ctx, []string{"k"}, func() error { ran = true; return nil }) }()
		synctest.Wait()
		cancel()
		r.free["a"]() // before the waiter could look
		if err := <-end; !errors.Is(err, context.Canceled) || ran {
			t.Errorf("%v, ran: %v", err, ran)
		}
	})
}

func TestYield(t *testing.T) {
	ctx := context.Background() // the channel of t.Context belongs to no bubble
	bubble(t, "bk/KL8", func(t *testing.T, r *rig) {
		var signals atomic.Int32
		auto := func() Options {
			return Options{Priority: Autonomous, Yield: func() { signals.Add(1); r.get("a")() }}
		}
		r.ask(ctx, "a", "k", auto())
		r.ask(ctx, "d", "k", Options{Priority: Autonomous, Yield: func() { t.Error("d was told") }})
		people := Options{Wait: 30 * time.Second}
		r.ask(ctx, "b", "k", people)
		r.ask(ctx, "c", "k", people)
		pass(19999 * time.Millisecond)
		if r.want("a"); signals.Load() != 0 {
			t.Fatal("told too early")
		}
		pass(time.Millisecond)
		if r.want("a", "b"); signals.Load() != 1 {
			t.Fatalf("%d signals", signals.Load())
		}
		r.done("b")
		r.want("a", "b", "c")
		r.done("c")
		r.want("a", "b", "c", "d")
		r.done("d")
		if signals.Load() != 1 {
			t.Errorf("%d signals", signals.Load())
		}
	})
	told := func(r *rig, n *atomic.Int32) Options {
		return Options{Priority: Autonomous, Yield: func() { n.Add(1); r.note("told") }}
	}
	bubble(t, "bk/KL9", func(_ *testing.T, r *rig) {
		var n atomic.Int32
		r.ask(ctx, "a", "k", told(r, &n))
		r.ask(ctx, "b", "k", Options{Wait: 19 * time.Second})
		pass(time.Hour)
		r.want("a", "b refused")
		r.done("a")
	})
	bubble(t, "the second person is counted for himself", func(_ *testing.T, r *rig) {
		var n atomic.Int32
		r.ask(ctx, "a", "k", told(r, &n))
		r.ask(ctx, "b", "k", Options{Wait: 10 * time.Second})
		pass(5 * time.Second)
		r.ask(ctx, "c", "k", Options{})
		pass(20*time.Second - 1)
		r.want("a", "b refused")
		pass(1)
		r.want("a", "b refused", "told")
		r.ask(ctx, "d", "k", Options{})
		pass(time.Hour) // once is enough
		r.want("a", "b refused", "told")
		r.done("a")
		r.done("c")
		r.done("d")
	})
	// The timer went off for somebody who left meanwhile.
	bubble(t, "a signal that comes too early is none", func(t *testing.T, r *rig) {
		var n atomic.Int32
		r.ask(ctx, "a", "k", told(r, &n))
		r.ask(ctx, "b", "k", Options{})
		pass(5 * time.Second)
		r.set.mu.Lock()
		q := r.set.keys["k"]
		h := q.holder
		r.set.mu.Unlock()
		if r.set.tell("k", q, h); n.Load() != 0 {
			t.Error("told after 5 s")
		}
		pass(15 * time.Second)
		if r.set.tell("k", q, h); n.Load() != 1 {
			t.Errorf("told %d times", n.Load())
		}
		r.done("a")
		if r.set.tell("k", q, h); n.Load() != 1 {
			t.Error("told when it holds nothing")
		}
		r.done("b")
	})
	bubble(t, "bk/KL15", func(t *testing.T, r *rig) {
		var n atomic.Int32
		r.ask(ctx, "a", "k", told(r, &n))
		r.ask(ctx, "x", "other", Options{})
		r.ask(ctx, "y", "other", Options{})
		pass(time.Hour)
		r.done("x")
		r.done("y")
		if n.Load() != 0 {
			t.Errorf("%d signals for another key", n.Load())
		}
		r.ask(ctx, "b", "k", Options{}) // the control
		pass(DefaultYieldAfter)
		if n.Load() != 1 {
			t.Errorf("%d signals", n.Load())
		}
		r.done("a")
		r.done("b")
	})
	bubble(t, "people are not told, nor autonomous work for autonomous work", func(t *testing.T, r *rig) {
		o := Options{Yield: func() { t.Error("told") }}
		r.ask(ctx, "a", "k", o)
		r.ask(ctx, "b", "k", Options{})
		o.Priority = Autonomous
		r.ask(ctx, "c", "l", o)
		r.ask(ctx, "d", "l", Options{Priority: Autonomous})
		pass(time.Hour)
		for _, who := range []string{"a", "b", "c", "d"} {
			r.done(who)
		}
	})
	bubble(t, "a panic in it is dropped", func(_ *testing.T, r *rig) {
		r.ask(ctx, "a", "k", Options{Priority: Autonomous, Yield: func() { panic("x") }})
		r.ask(ctx, "b", "k", Options{})
		pass(time.Hour)
		r.done("a")
		r.want("a", "b")
		r.done("b")
	})
}

func TestConfig(t *testing.T) {
	t.Run("bk/KL11", func(t *testing.T) {
		for _, ms := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, math.Copysign(0, -1)} {
			if d, err := Millis(ms); !errors.Is(err, ErrConfig) || d != 0 {
				t.Errorf("%v: %v, %v", ms, d, err)
			}
		}
		for _, d := range []time.Duration{0, -1, math.MinInt64} {
			if s, err := New(Config{YieldAfter: d}); !errors.Is(err, ErrConfig) || s != nil {
				t.Errorf("%v: %v", d, err)
			}
		}
		for ms, want := range map[float64]time.Duration{20_000: 20 * time.Second, 0.5: 500 * time.Microsecond, 1e-9: 1} {
			if d, err := Millis(ms); err != nil || d != want {
				t.Errorf("%v: %v, %v", ms, d, err)
			}
		}
		if _, err := New(Config{YieldAfter: time.Second}); err != nil {
			t.Error(err)
		}
	})
	t.Run("no key", func(t *testing.T) {
		var s Set
		if _, err := s.Acquire(t.Context(), "", Options{}); !errors.Is(err, ErrConfig) {
			t.Errorf("got %v", err)
		}
	})
	bubble(t, "its own time", func(t *testing.T, r *rig) {
		s, err := New(Config{YieldAfter: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		told := time.Time{}
		release, err := s.Acquire(t.Context(), "k", Options{Priority: Autonomous, Yield: func() { told = time.Now() }})
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now()
		_, err = s.Acquire(t.Context(), "k", Options{Wait: 2 * time.Second})
		synctest.Wait()
		var b *BusyError
		if !errors.As(err, &b) || told.Sub(at) != time.Second {
			t.Errorf("%v, told after %v", err, told.Sub(at))
		}
		release()
	})
}
