package event

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func subscribe(t *testing.T, h *Hub, s Subscribe) *Subscription {
	t.Helper()
	sub, err := h.Subscribe(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Close)
	return sub
}

// rest reads what is there, one word each: the topic and the number.
func rest(t *testing.T, sub *Subscription) []string {
	t.Helper()
	var got []string
	for {
		e, err := sub.take()
		if err != nil {
			return append(got, err.Error())
		}
		if e == nil {
			return got
		}
		_, name, _ := strings.Cut(string(e.Topic), ":")
		got = append(got, name+strconv.FormatUint(e.Seq, 10))
	}
}

func check(t *testing.T, name string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
}

func ptr(n uint64) *uint64 { return &n }

func closed(h *Hub, n int) {
	for range n {
		h.Publish(PromptClosed{})
	}
}

// TestLateSubscriber is bg/D54.
func TestLateSubscriber(t *testing.T) {
	h := New(Options{})
	early := subscribe(t, h, Subscribe{})
	h.Begin(Request{}).End()
	h.Ready()
	h.Ready()
	h.Begin(Request{}).End()
	check(t, "early", rest(t, early), "decision1", "ready2", "decision3")
	check(t, "without since", rest(t, subscribe(t, h, Subscribe{})), "ready2")
	check(t, "since 0", rest(t, subscribe(t, h, Subscribe{Since: ptr(0)})), "ready2", "decision1", "decision3")
	check(t, "since 1", rest(t, subscribe(t, h, Subscribe{Since: ptr(1)})), "ready2", "decision3")
	check(t, "since the last", rest(t, subscribe(t, h, Subscribe{Since: ptr(3)})), "ready2")
	check(t, "of another hub", rest(t, subscribe(t, h, Subscribe{Since: ptr(99)})), "ready2", "decision1", "decision3")
	check(t, "one topic", rest(t, subscribe(t, h, Subscribe{Topics: []Topic{TopicDecision}, Since: ptr(0)})), "decision1", "decision3")
	if _, err := h.Subscribe(Subscribe{Topics: []Topic{"permissions:decisions"}}); err == nil {
		t.Error("an unknown topic is accepted")
	}
	if h.Seq() != 3 {
		t.Errorf("Seq = %d", h.Seq())
	}
}

func TestRing(t *testing.T) {
	h := New(Options{})
	closed(h, RingEvents+10)
	got := rest(t, subscribe(t, h, Subscribe{Since: ptr(2)}))
	if len(got) != RingEvents+1 || got[0] != "gap10" || got[1] != "prompt_closed11" {
		t.Errorf("%d events, first %q", len(got), got[:2])
	}
	h = New(Options{})
	for range 3000 {
		h.Publish(PolicyError{Message: strings.Repeat("日", 1000)})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes > RingBytes || len(h.ring) >= 3000 || h.bytes < RingBytes-4096 {
		t.Errorf("%d events of %d bytes are kept", len(h.ring), h.bytes)
	}
}

// TestSlowSubscriber: the oldest go, one gap says so, and three close it.
func TestSlowSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{})
		slow := subscribe(t, h, Subscribe{})
		closed(h, SubscriberEvents)
		if got := rest(t, slow); len(got) != SubscriberEvents || got[0] != "prompt_closed1" {
			t.Fatalf("what fits: %d, %q", len(got), got[0])
		}
		for i := range 2 {
			closed(h, SubscriberEvents+5)
			e, err := slow.Next(context.Background())
			from := uint64(SubscriberEvents*(i+1) + 5*i + 1)
			want := `{"from":` + strconv.FormatUint(from, 10) + `,"to":` + strconv.FormatUint(from+4, 10) + `,"dropped":5}`
			if err != nil || e.Topic != TopicGap || e.Data != want {
				t.Fatalf("gap %d: %v %v, want %s", i, e, err, want)
			}
			if got := rest(t, slow); len(got) != SubscriberEvents {
				t.Fatalf("after the gap: %d events", len(got))
			}
			time.Sleep(14 * time.Second)
		}
		time.Sleep(3 * time.Second) // the first gap is 31 s old
		closed(h, SubscriberEvents+1)
		if got := rest(t, slow); !strings.HasPrefix(got[0], "gap") {
			t.Fatalf("the third gap after 31 s: %q", got[0])
		}
		closed(h, SubscriberEvents+1)
		if _, err := slow.Next(context.Background()); !errors.Is(err, ErrSlow) {
			t.Errorf("three gaps within 30 s: %v", err)
		}
		if len(h.subs) != 0 {
			t.Error("it is still subscribed")
		}
	})
}

// TestSubscribersCannotHarm is bg/D53: one panics, one blocks, one never reads, one writes
// to what it got; the decision is the same, and another reads it.
func TestSubscribersCannotHarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{})
		block := make(chan struct{})
		var panics int
		stopA, err := h.Listen(nil, func(Event) { panics++; panic("subscriber") })
		if err != nil {
			t.Fatal(err)
		}
		stopB, _ := h.Listen(nil, func(Event) { <-block })
		_, _ = h.Subscribe(Subscribe{})
		var got []string
		stopC, _ := h.Listen([]Topic{TopicDecision}, func(e Event) { got = append(got, e.Data) })
		for range 3 {
			h.Begin(Request{Surface: "bash"}).Decide(Verdict{Resolution: UserApproved})
			synctest.Wait()
		}
		if len(got) != 3 || !strings.Contains(got[2], `"result":"allow"`) {
			t.Errorf("decisions: %q", got)
		}
		if panics != 3 {
			t.Errorf("the one that panics was called %d times", panics)
		}
		close(block)
		stopA()
		stopB()
		stopC()
		h.Close()
	})
}

func TestClose(t *testing.T) {
	h := New(Options{})
	sub := subscribe(t, h, Subscribe{})
	h.Ready()
	h.Close()
	h.Close()
	check(t, "after Close", rest(t, sub), "ready1", ErrClosed.Error())
	if h.Publish(PromptClosed{}) != 0 || !h.Begin(Request{}).Decide(Verdict{}) {
		t.Error("a closed hub publishes, or does not decide")
	}
	if _, err := h.Subscribe(Subscribe{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Subscribe = %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := subscribe(t, New(Options{}), Subscribe{}).Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next = %v", err)
	}
}

// TestHubConcurrently is for the race detector: numbers have no holes and no doubles.
func TestHubConcurrently(t *testing.T) {
	h := New(Options{})
	sub := subscribe(t, h, Subscribe{Topics: []Topic{TopicDecision}})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			r := h.Begin(Request{})
			var inner sync.WaitGroup
			for range 4 {
				inner.Go(func() { r.Decide(Verdict{Resolution: PolicyAllow}) })
			}
			inner.Wait()
			s, err := h.Subscribe(Subscribe{Since: ptr(0)})
			if err == nil {
				_, _ = s.take()
				s.Close()
			}
		})
	}
	wg.Wait()
	if got := rest(t, sub); len(got) != 50 || got[49] != "decision50" {
		t.Errorf("%q", got)
	}
}
