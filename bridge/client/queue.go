package client

import (
	"strconv"
	"sync"
	"time"

	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// TopicGap is the topic of what stands for events that were not delivered (section E.7).
const TopicGap = "events:gap"

// mostQueued bounds the events that nobody has asked for yet.
const mostQueued = 1024

// queue keeps events for a reader that may be slow: answers to calls come over the same
// stream and must not wait for it. The oldest give way, and a gap says so.
type queue struct {
	more chan struct{} // has one element after put

	mu       sync.Mutex
	events   []wire.Event
	from, to uint64 // what gave way
	dropped  uint64
}

func newQueue() *queue { return &queue{more: make(chan struct{}, 1)} }

func (q *queue) put(e wire.Event) {
	q.mu.Lock()
	if len(q.events) == mostQueued {
		old := q.events[0]
		q.events = append(q.events[:0], q.events[1:]...)
		q.drop(&old)
	}
	q.events = append(q.events, e)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// drop counts an event that gives way, or what a gap among them stood for.
func (q *queue) drop(old *wire.Event) {
	from, to, n, isGap := Gap(old)
	if !isGap {
		from, to, n = old.Seq, old.Seq, 1
	}
	if q.dropped == 0 {
		q.from = from
	}
	q.to, q.dropped = to, q.dropped+n
}

func (q *queue) get() (wire.Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped > 0 {
		e := wire.Event{Topic: TopicGap, Time: time.Now(), Data: strictjson.Object(
			strictjson.Pair("from", strictjson.Uint(q.from)), strictjson.Pair("to", strictjson.Uint(q.to)),
			strictjson.Pair("dropped", strictjson.Uint(q.dropped)))}
		q.dropped = 0
		return e, true
	}
	if len(q.events) == 0 {
		return wire.Event{}, false
	}
	e := q.events[0]
	q.events = append(q.events[:0], q.events[1:]...)
	return e, true
}

// Gap reads an event with [TopicGap]: the first and the last number that are missing, and
// how many events that were.
func Gap(e *wire.Event) (from, to, dropped uint64, ok bool) {
	if e.Topic != TopicGap {
		return 0, 0, 0, false
	}
	for _, m := range []struct {
		key string
		to  *uint64
	}{{"from", &from}, {"to", &to}, {"dropped", &dropped}} {
		v := e.Data.Get(m.key)
		if v == nil || v.Kind != strictjson.KindNumber {
			return 0, 0, 0, false
		}
		n, err := strconv.ParseUint(v.Text, 10, 64)
		if err != nil {
			return 0, 0, 0, false
		}
		*m.to = n
	}
	return from, to, dropped, true
}
