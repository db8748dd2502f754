package event

import (
	"brainbox/gate/show"
	"brainbox/internal/strictjson"
)

// valueMost bounds the value of a request in an event, in characters.
const valueMost = 1000

// writer makes the text of events: the one place where it is redacted, bounded and escaped.
type writer struct {
	session strictjson.Value
	redact  func(string) string
}

// own is a word of ours: an id, a reason.
func (w *writer) own(s string) strictjson.Value { return strictjson.Text(show.Field(s)) }

// text is a name or another short text.
func (w *writer) text(s string) strictjson.Value { return w.short(s, show.FieldMost) }

// value is what a request is about.
func (w *writer) value(s string) strictjson.Value { return w.short(s, valueMost) }

// orNull is text, or null for an empty one.
func (w *writer) orNull(s string) strictjson.Value {
	if s == "" {
		return strictjson.Null()
	}
	return w.text(s)
}

// short redacts before it cuts: half of a secret would not be found.
func (w *writer) short(s string, most int) strictjson.Value {
	return strictjson.Text(show.Short(w.masked(s), most))
}

// masked redacts; where that fails, nothing of the text is shown.
func (w *writer) masked(s string) (out string) {
	if w.redact == nil || s == "" {
		return s
	}
	out = "(not shown: redaction failed)"
	defer func() { _ = recover() }()
	return w.redact(s)
}
