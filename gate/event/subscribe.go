package event

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"brainbox/internal/strictjson"
)

// ErrClosed says that the hub, or the subscription, is closed.
var ErrClosed = errors.New("event: closed")

// ErrSlow says that a subscription was closed because it missed events three times within
// 30 seconds.
var ErrSlow = errors.New("event: the subscriber does not keep up")

// Subscribe says what a subscriber wants.
type Subscribe struct {
	Topics []Topic // none: all
	Since  *uint64 // also what is kept with a higher number; nil: only what comes
}

// Subscription is one reader's place. Its methods may be called by several goroutines.
type Subscription struct {
	hub    *Hub
	topics []Topic
	wake   chan struct{} // one place: something is to be read, or the end

	// guarded by hub.mu
	replay []*Event // what was kept when it began
	live   []*Event
	bytes  int // of live
	gap    struct{ from, to, dropped uint64 }
	gaps   []time.Time
	err    error
}

// Subscribe opens a subscription. If the gate is ready, [TopicReady] is the first event. A
// number that is no longer kept, or was never given out here, is answered with a gap and
// all that is kept.
func (h *Hub) Subscribe(s Subscribe) (*Subscription, error) {
	for _, t := range s.Topics {
		if !slices.Contains(Topics(), t) {
			return nil, fmt.Errorf("event: no topic %q", string(t))
		}
	}
	sub := &Subscription{hub: h, topics: slices.Clone(s.Topics), wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if h.ready != nil && sub.wants(TopicReady) {
		sub.replay = append(sub.replay, h.ready)
	}
	if s.Since != nil {
		sub.rewind(*s.Since)
	}
	h.subs[sub] = true
	sub.notify()
	return sub, nil
}

// rewind fills replay with what came after a number.
func (s *Subscription) rewind(since uint64) {
	h := s.hub
	first := h.seq + 1 // the oldest number that is kept
	if len(h.ring) > 0 {
		first = h.ring[0].Seq
	}
	if since > h.seq { // of another hub
		since = 0
	}
	if since+1 < first {
		s.replay = append(s.replay, h.gapEvent(since+1, first-1, first-1-since))
	}
	for _, e := range h.ring {
		if e.Seq > since && e.Topic != TopicReady && s.wants(e.Topic) {
			s.replay = append(s.replay, e)
		}
	}
}

func (h *Hub) gapEvent(from, to, dropped uint64) *Event {
	data := gap(from, to, dropped)
	return &Event{Topic: TopicGap, Seq: to, Time: h.now(), Data: string(strictjson.Append(nil, &data))}
}

func (s *Subscription) wants(t Topic) bool {
	return len(s.topics) == 0 || slices.Contains(s.topics, t)
}

// push gives a subscriber an event; the oldest goes when there are too many.
func (s *Subscription) push(e *Event) {
	if s.err != nil || !s.wants(e.Topic) {
		return
	}
	s.live, s.bytes = append(s.live, e), s.bytes+len(e.Data)
	for len(s.live) > SubscriberEvents || s.bytes > SubscriberBytes {
		if s.gap.dropped == 0 {
			s.gap.from = s.live[0].Seq
			if s.late() {
				s.end(ErrSlow)
				delete(s.hub.subs, s)
				return
			}
		}
		s.gap.to, s.gap.dropped = s.live[0].Seq, s.gap.dropped+1
		s.bytes -= len(s.live[0].Data)
		s.live[0] = nil
		s.live = s.live[1:]
	}
	s.notify()
}

// late counts a gap, and reports whether it is one too many. The times have a monotonic
// reading: a jump of the wall clock neither closes a subscription nor keeps it.
func (s *Subscription) late() bool {
	now := time.Now()
	s.gaps = slices.DeleteFunc(append(s.gaps, now), func(t time.Time) bool { return now.Sub(t) >= gapWindow })
	return len(s.gaps) >= mostGaps
}

func (s *Subscription) end(err error) {
	if s.err == nil {
		s.err = err
	}
	s.notify()
}

func (s *Subscription) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Next returns the next event, and waits for it. The error is ctx's, [ErrClosed] after the
// last event of a closed hub, or [ErrSlow].
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		if e, err := s.take(); e != nil || err != nil {
			s.notify() // for another reader, or the next call
			if err != nil {
				return Event{}, err
			}
			return *e, nil
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// take removes the next event: nil and nil if there is none yet.
func (s *Subscription) take() (*Event, error) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	switch {
	case s.err != nil && !errors.Is(s.err, ErrClosed):
		return nil, s.err
	case len(s.replay) > 0:
		e := s.replay[0]
		s.replay = s.replay[1:]
		return e, nil
	case s.gap.dropped > 0:
		e := s.hub.gapEvent(s.gap.from, s.gap.to, s.gap.dropped)
		s.gap.dropped = 0
		return e, nil
	case len(s.live) > 0:
		e := s.live[0]
		s.live, s.bytes = s.live[1:], s.bytes-len(e.Data)
		return e, nil
	}
	return nil, s.err
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subs, s)
	s.replay, s.live, s.bytes, s.gap.dropped = nil, nil, 0, 0
	s.end(ErrClosed)
}

// Listen calls f with each event, in a goroutine of its own, until stop is called, the hub
// is closed, or f does not keep up. What f does, panic and block included, affects nothing
// else. stop does not wait for f.
func (h *Hub) Listen(topics []Topic, f func(Event)) (stop func(), err error) {
	sub, err := h.Subscribe(Subscribe{Topics: topics})
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			e, err := sub.Next(context.Background())
			if err != nil {
				return
			}
			call(f, e)
		}
	}()
	return sub.Close, nil
}

func call(f func(Event), e Event) {
	defer func() { _ = recover() }()
	f(e)
}
