package wire

import (
	"strconv"
	"time"

	"brainbox/internal/strictjson"
)

// TopicNonce is the topic of the greeting of a user interface.
const TopicNonce = "bridge:nonce"

// timeForm is RFC 3339 in UTC with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z"

// Event is the params of an event notification.
type Event struct {
	Topic string
	Seq   uint64 // 0: not of the event hub
	Time  time.Time
	Data  strictjson.Value // object
}

// Message is the event as a notification.
func (e *Event) Message() *Message {
	v := strictjson.Object(
		strictjson.Pair("topic", strictjson.Text(e.Topic)),
		strictjson.Pair("seq", strictjson.Uint(e.Seq)),
		strictjson.Pair("time", strictjson.Text(e.Time.UTC().Format(timeForm))),
		strictjson.Pair("data", e.Data),
	)
	return &Message{Kind: Notification, Method: MethodEvent, Params: &v}
}

// AppendEvent appends the frame of an event whose data is the JSON text of an object.
func AppendEvent(dst []byte, topic string, seq uint64, at time.Time, data string) []byte {
	text := strictjson.Text(topic)
	dst = append(dst, `{"jsonrpc":"2.0","method":"event","params":{"topic":`...)
	dst = strictjson.Append(dst, &text)
	dst = strconv.AppendUint(append(dst, `,"seq":`...), seq, 10)
	dst = at.UTC().AppendFormat(append(dst, `,"time":"`...), timeForm)
	return append(append(append(dst, `","data":`...), data...), "}}\n"...)
}

// ReadEvent reads the params of an event notification.
func ReadEvent(params *strictjson.Value) (Event, error) {
	f := strictjson.BindLenient(params)
	e := Event{Topic: f.String("topic"), Data: *f.Opaque("data", 0)}
	var err error
	if v := f.Any("seq"); v.Kind != strictjson.KindNumber {
		f.Invalid("seq", "not a number")
	} else if e.Seq, err = strconv.ParseUint(v.Text, 10, 64); err != nil {
		f.Invalid("seq", "not a number of an event")
	}
	if e.Time, err = time.Parse(time.RFC3339Nano, f.String("time")); err != nil {
		f.Invalid("time", "not a time")
	}
	if err := f.Err(); err != nil {
		return Event{}, err
	}
	return e, nil
}

// Nonce is the greeting of a user interface.
func Nonce(nonce [NonceSize]byte, now time.Time) *Message {
	e := Event{Topic: TopicNonce, Time: now, Data: strictjson.Object(strictjson.Pair("nonce", strictjson.Text(hexText(nonce[:]))))}
	return e.Message()
}

// ReadNonce reads the greeting.
func ReadNonce(m *Message) (nonce [NonceSize]byte, err error) {
	if m.Kind != Notification || m.Method != MethodEvent {
		return nonce, fail(CodeFieldInvalid, "no greeting")
	}
	e, err := ReadEvent(m.Params)
	if err != nil {
		return nonce, err
	}
	if e.Topic != TopicNonce || !fromHex(nonce[:], strictjson.BindLenient(&e.Data).String("nonce")) {
		return nonce, fail(CodeFieldInvalid, "no greeting")
	}
	return nonce, nil
}
