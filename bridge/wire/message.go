package wire

import (
	"strings"

	"brainbox/internal/strictjson"
)

// Kind says what a message is.
type Kind uint8

// The kinds. The zero value is none, and is not written.
const (
	NoKind Kind = iota
	Request
	Notification
	Result  // the answer to a request
	Failure // the other answer
)

// MostID bounds an id, in bytes.
const MostID = 64

// Message is one frame.
type Message struct {
	Kind   Kind
	ID     string // empty: of a notification; or of a failure whose request could not be read
	Method string
	Params *strictjson.Value // an object; nil: none
	Result *strictjson.Value // any value
	Err    *Error
}

// DecodeRequest reads what a client sends: a request, or the notification cancel. With an
// error, the message has the id if that much could be read; the error is told by [Refusal].
// It keeps no reference to line.
func DecodeRequest(line []byte) (Message, error) {
	v, err := strictjson.Decode(line, strictjson.Limits{Bytes: MaxFrame})
	if err != nil {
		return Message{}, err
	}
	f := strictjson.Bind(v, "jsonrpc", "id", "method", "params")
	version(f)
	m := Message{Kind: Request, Method: f.String("method")}
	if f.Has("params") {
		m.Params = f.Opaque("params", 0)
	}
	switch {
	case f.Has("id") && m.Method == MethodCancel:
		f.Invalid("id", "cancel is a notification")
	case f.Has("id"):
		m.ID = f.Match("id", validID)
	case m.Method == MethodCancel:
		m.Kind = Notification
	default:
		f.Invalid("id", "missing")
	}
	if err := f.Err(); err != nil {
		return Message{ID: m.ID}, err
	}
	return m, nil
}

// DecodeReply reads what a server sends: the answer to a request, or a notification.
// Members that are not known are ignored.
func DecodeReply(line []byte) (Message, error) {
	// What a tool answers may have any key: that of a person's choice, too.
	v, err := strictjson.Decode(line, strictjson.Limits{Bytes: MaxFrame, Proto: true})
	if err != nil {
		return Message{}, err
	}
	f := strictjson.BindLenient(v)
	version(f)
	var m Message
	switch {
	case f.Has("method"):
		m.Kind, m.Method = Notification, f.String("method")
		if f.Has("params") {
			m.Params = f.Opaque("params", 0)
		}
	case f.Has("result") == f.Has("error"):
		f.Invalid("result", "either a result or an error")
	case f.Has("result"):
		m.Kind, m.ID, m.Result = Result, f.Match("id", validID), f.Any("result")
	default:
		m.Kind = Failure
		if id := f.Any("id"); id.Kind != strictjson.KindNull {
			m.ID = f.Match("id", validID)
		}
		m.Err = readError(f)
	}
	if err := f.Err(); err != nil {
		return Message{ID: m.ID}, err
	}
	return m, nil
}

func readError(f *strictjson.Fields) *Error {
	e := f.Object("error", "code", "message", "data")
	e.Int("code", -1<<31, 1<<31-1)
	return &Error{Message: e.String("message"), Code: e.Object("data", "code").String("code")}
}

func version(f *strictjson.Fields) { f.Enum("jsonrpc", "2.0") }

// validID takes 1 to 64 bytes of text.
func validID(s string) bool {
	return s != "" && len(s) <= MostID && strings.IndexByte(s, 0) < 0
}

// Append appends the message as one frame, line feed included. A frame can be longer than
// [MaxFrame]; who sends it looks.
func (m *Message) Append(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if m.Kind != Notification {
		id := strictjson.Null()
		if m.ID != "" {
			id = strictjson.Text(m.ID)
		}
		dst = strictjson.Append(append(dst, `,"id":`...), &id)
	}
	if m.Kind == Request || m.Kind == Notification {
		method := strictjson.Text(m.Method)
		dst = strictjson.Append(append(dst, `,"method":`...), &method)
		if m.Params != nil {
			dst = strictjson.Append(append(dst, `,"params":`...), m.Params)
		}
		return append(dst, "}\n"...)
	}
	if m.Kind == Result {
		dst = strictjson.Append(append(dst, `,"result":`...), m.Result)
		return append(dst, "}\n"...)
	}
	e := m.Err
	if e == nil {
		e = fail(CodeInternal, "internal error")
	}
	v := strictjson.Object(
		strictjson.Pair("code", strictjson.Int(Number(e.Code))),
		strictjson.Pair("message", strictjson.Text(e.Message)),
		strictjson.Pair("data", strictjson.Object(strictjson.Pair("code", strictjson.Text(e.Code)))),
	)
	return append(strictjson.Append(append(dst, `,"error":`...), &v), "}\n"...)
}
