package client

import (
	"testing"

	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// What a slow reader misses is told in its place, and counted whole: a gap that gives way
// counts for all that it stood for.
func TestQueueTellsItsGap(t *testing.T) {
	q := newQueue()
	gap := wire.Event{Topic: TopicGap, Data: strictjson.Object(
		strictjson.Pair("from", strictjson.Uint(2)), strictjson.Pair("to", strictjson.Uint(11)), strictjson.Pair("dropped", strictjson.Uint(10)))}
	q.put(wire.Event{Topic: "a", Seq: 1})
	q.put(gap)
	last := uint64(11)
	for range mostQueued + 1 {
		last++
		q.put(wire.Event{Topic: "a", Seq: last})
	}
	e, ok := q.get()
	from, to, dropped, isGap := Gap(&e)
	if !ok || !isGap || from != 1 || to != 12 || dropped != 12 {
		t.Fatalf("%+v: %d to %d, %d events, %v", e, from, to, dropped, isGap)
	}
	for want := uint64(13); want <= last; want++ {
		if e, ok := q.get(); !ok || e.Seq != want {
			t.Fatalf("%+v, want %d", e, want)
		}
	}
	if e, ok := q.get(); ok {
		t.Errorf("one more: %+v", e)
	}
	if _, _, _, ok := Gap(&wire.Event{Topic: TopicGap, Data: strictjson.Object()}); ok {
		t.Error("a gap without numbers")
	}
}

// Whatever a host sends is an answer, an event, the end, or nothing.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":"n-1","result":{}}`), false)
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"m","data":{"code":"overloaded"}}}`), true)
	f.Add([]byte(`{"jsonrpc":"2.0","method":"event","params":{"topic":"t","seq":1,"time":"2026-01-01T00:00:00.000Z","data":{}}}`), false)
	f.Fuzz(func(t *testing.T, line []byte, inherited bool) {
		c := &conn{name: "n", waiting: map[string]chan answer{}, done: make(chan struct{})}
		if inherited {
			c.fd = 3
		}
		u := UI{events: newQueue()}
		c.event = func(m *wire.Message) { u.take(m, make(chan [wire.NonceSize]byte, 1)) }
		id, ch, err := c.register()
		if err != nil {
			t.Fatal(err)
		}
		err = c.take(line)
		select {
		case a := <-ch:
			if _, err := a.both(); err == nil && a.result == nil {
				t.Error("an answer that is none")
			}
			if c.waiting[id] != nil {
				t.Error("it is waited for still")
			}
		default:
		}
		if inherited && err != nil {
			t.Errorf("another process's rest ends the connection: %v", err)
		}
	})
}
