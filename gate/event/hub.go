package event

import (
	"sync"
	"time"

	"brainbox/internal/strictjson"
)

// The bounds of a hub.
const (
	RingEvents       = 4096
	RingBytes        = 8 << 20
	SubscriberEvents = 1024
	SubscriberBytes  = 8 << 20
)

const (
	mostGaps  = 3 // gaps within gapWindow close a subscription
	gapWindow = 30 * time.Second
)

// timeForm is RFC 3339 in UTC with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z"

// Options configures a [Hub]. The zero value works.
type Options struct {
	Session      string
	Capabilities []string            // of ready
	Redact       func(string) string // masks secrets in every text; nil masks nothing
	Now          func() time.Time    // the wall clock of events; nil means time.Now
}

// Event is one event. Its members are immutable, so that one subscriber cannot change what
// another one reads.
type Event struct {
	Topic Topic
	Seq   uint64 // from 1, without holes; of a gap: the last number that was missed
	Time  time.Time
	Data  string // one JSON object
}

// Hub numbers events, keeps the last ones and hands them to subscribers. All methods may be
// called by several goroutines, and none waits for a subscriber.
type Hub struct {
	writer writer
	now    func() time.Time
	caps   []string

	mu     sync.Mutex
	seq    uint64
	ring   []*Event
	bytes  int
	ready  *Event
	subs   map[*Subscription]bool
	closed bool
}

// New returns a hub. It is not ready before [Hub.Ready].
func New(o Options) *Hub {
	h := &Hub{
		writer: writer{redact: o.Redact},
		now:    o.Now, caps: append([]string{}, o.Capabilities...), subs: map[*Subscription]bool{},
	}
	h.writer.session = h.writer.text(o.Session)
	if h.now == nil {
		h.now = time.Now
	}
	return h
}

// Ready publishes [TopicReady] once. Who subscribes later gets it at once.
func (h *Hub) Ready() {
	caps := make([]strictjson.Value, 0, len(h.caps))
	for _, c := range h.caps {
		caps = append(caps, h.writer.text(c))
	}
	h.append(TopicReady, strictjson.Object(
		strictjson.Pair("protocolVersion", strictjson.Int(ProtocolVersion)),
		strictjson.Pair("sessionId", h.writer.session),
		strictjson.Pair("capabilities", strictjson.Array(caps...)),
	))
}

// IsReady reports whether [Hub.Ready] was called.
func (h *Hub) IsReady() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ready != nil
}

// Publish publishes p and returns its number; 0 when the hub is closed.
func (h *Hub) Publish(p Payload) uint64 { return h.Send(h.Prepare(p)) }

// Prepared is an event without its number.
type Prepared struct {
	topic Topic
	data  strictjson.Value
}

// Prepare makes the data of an event, which calls the redactor; [Hub.Send] calls nothing
// of the caller's but the clock, and may be called with a lock held.
func (h *Hub) Prepare(p Payload) Prepared { return Prepared{p.topic(), p.data(&h.writer)} }

// Send publishes what was prepared and returns its number; 0 when the hub is closed.
func (h *Hub) Send(p Prepared) uint64 { return h.append(p.topic, p.data) }

// append numbers an event, keeps it and hands it out.
func (h *Hub) append(topic Topic, data strictjson.Value) uint64 {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || topic == TopicReady && h.ready != nil {
		return 0
	}
	h.seq++
	if topic == TopicDecision {
		data.Add("seq", strictjson.Uint(h.seq)).Add("time", strictjson.Text(now.UTC().Format(timeForm)))
	}
	e := &Event{Topic: topic, Seq: h.seq, Time: now, Data: string(strictjson.Append(make([]byte, 0, 640), &data))}
	if topic == TopicReady {
		h.ready = e
	}
	h.ring, h.bytes = append(h.ring, e), h.bytes+len(e.Data)
	for len(h.ring) > RingEvents || h.bytes > RingBytes {
		h.bytes -= len(h.ring[0].Data)
		h.ring[0] = nil
		h.ring = h.ring[1:]
	}
	for s := range h.subs {
		s.push(e)
	}
	return e.Seq
}

// Seq returns the number of the last event, 0 before the first.
func (h *Hub) Seq() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

// Close ends all subscriptions once they have read what is there. Later events are lost.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.subs {
		s.end(ErrClosed)
	}
	clear(h.subs)
}
