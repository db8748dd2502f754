package netask

import (
	"strings"
	"time"

	"brainbox/internal/strictjson"
	"brainbox/proxy/allow"
)

// maxEvent bounds the line of an event, in bytes: a host name is at most 255, each of which
// may be written in six.
const maxEvent = 4096

// Event is one decision of the proxy, or the end of what it let through.
type Event struct {
	ID      uint64
	Path    string // connect, http, socks, direct, lookup
	Host    string // as asked for; raw
	Port    uint16 // 0: of a lookup
	Reason  string // why it is refused, one of allow.Reasons; empty: it is allowed
	Rule    int    // index into the rules; -1: none
	Address string // what was dialled, ADDRESS:PORT; empty: nothing

	Closed         bool
	Sent, Received int64 // bytes from and to the program, of a Closed one
	Duration       time.Duration

	Lost int64 // events that are missing from here on; then nothing else is set
}

// reasons are the words that Reason may be.
func reasons() []string {
	words := []string{""}
	for _, r := range allow.Reasons() {
		words = append(words, string(r))
	}
	return words
}

// Allowed reports whether the program could connect.
func (e *Event) Allowed() bool { return e.Reason == "" }

// append adds the event as one line. What no text can hold of a host is U+FFFD in it: the
// program chooses it, and must not keep an event from being read.
func (e *Event) append(dst []byte) []byte {
	v := strictjson.Object(strictjson.Pair("lost", strictjson.Int(e.Lost)))
	if e.Lost == 0 {
		v = strictjson.Object(
			strictjson.Pair("id", strictjson.Int(int64(e.ID&(1<<53-1)))), strictjson.Pair("path", strictjson.Text(e.Path)),
			strictjson.Pair("host", strictjson.Text(strings.ReplaceAll(e.Host, "\x00", "\uFFFD"))), strictjson.Pair("port", strictjson.Int(int64(e.Port))),
			strictjson.Pair("allowed", strictjson.Bool(e.Allowed())), strictjson.Pair("reason", strictjson.Text(e.Reason)),
			strictjson.Pair("rule", strictjson.Int(int64(e.Rule))), strictjson.Pair("address", strictjson.Text(e.Address)),
			strictjson.Pair("closed", strictjson.Bool(e.Closed)), strictjson.Pair("sent", strictjson.Int(e.Sent)),
			strictjson.Pair("received", strictjson.Int(e.Received)), strictjson.Pair("duration_ms", strictjson.Int(e.Duration.Milliseconds())))
	}
	return strictjson.AppendLine(dst, &v)
}

// DecodeEvent reads one line of the host, strictly.
func DecodeEvent(line []byte) (Event, error) {
	v, err := strictjson.Decode(line, strictjson.Limits{Bytes: maxEvent, Keys: 32, Values: 32})
	if err != nil {
		return Event{}, err
	}
	const most = 1<<53 - 1
	if v.Get("lost") != nil {
		f := strictjson.Bind(v, "lost")
		return Event{Lost: f.Int("lost", 1, most)}, f.Err()
	}
	f := strictjson.Bind(v, "id", "path", "host", "port", "allowed", "reason", "rule", "address", "closed", "sent", "received", "duration_ms")
	e := Event{
		ID: uint64(f.Int("id", 0, most)), Path: f.Enum("path", "connect", "http", "socks", "direct", "lookup"),
		Host: f.String("host"), Port: uint16(f.Int("port", 0, 1<<16-1)),
		Reason: f.Enum("reason", reasons()...), Rule: int(f.Int("rule", -1, mostRules)), Address: f.String("address"),
		Closed: f.Bool("closed"), Sent: f.Int("sent", 0, most), Received: f.Int("received", 0, most),
		Duration: time.Duration(f.Int("duration_ms", 0, most/1_000_000)) * time.Millisecond,
	}
	if f.Bool("allowed") != e.Allowed() {
		f.Invalid("allowed", "it is allowed where there is no reason against it, and nowhere else")
	}
	return e, f.Err()
}
