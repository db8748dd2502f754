package envelope

import (
	"unicode/utf8"

	"brainbox/internal/strictjson"
)

// Bounds of opaque objects, in bytes of their source (section A.2).
const (
	maxMetadata  = 16 << 10
	maxPrincipal = 4 << 10
)

// DecodeRequest reads one request from its text, at most 1 MiB. The error is a
// [*strictjson.Error], whose code goes to the caller as a protocol error (section E.5): nothing
// that is not understood as a whole is dispatched, denied or echoed.
func DecodeRequest(data []byte) (*Request, error) {
	v, err := strictjson.Decode(data, strictjson.Limits{})
	if err != nil {
		return nil, err
	}
	return RequestOf(v)
}

// RequestOf is [DecodeRequest] for a value that strictjson has decoded: the parameters of a
// message. The request shares memory with v.
func RequestOf(v *strictjson.Value) (*Request, error) {
	f := strictjson.Bind(v, "schema", "version", "request_id", "tool", "operation", "input",
		"sandbox_session", "authorization", "metadata")
	f.Schema("schema", RequestSchema)
	f.Version("version")
	r := &Request{
		ID:        f.Match("request_id", RequestID),
		Tool:      f.Match("tool", strictjson.ToolName),
		Operation: f.Match("operation", Operation),
		Input:     *f.Any("input"),
	}
	s := f.Object("sandbox_session", "sandbox_session_id", "caller_session_id", "task_id")
	r.Session = Session{
		ID:     s.String("sandbox_session_id"),
		Caller: optionalString(s, "caller_session_id"),
		Task:   optionalString(s, "task_id"),
	}
	a := f.Object("authorization", "allowed_tools", "capability", "principal")
	r.AllowedTools = a.Strings("allowed_tools", strictjson.DefaultValues)
	r.Capability = optionalString(a, "capability")
	if a.Has("principal") {
		r.Principal = bounded(a, "principal", maxPrincipal)
	}
	r.Metadata = *bounded(f, "metadata", maxMetadata)
	if err := f.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

func optionalString(f *strictjson.Fields, key string) string {
	if !f.Has(key) {
		return ""
	}
	return f.String(key)
}

// bounded returns the object key, which is refused when it is longer than most bytes. One that
// was built has no source: the length of its encoding counts.
func bounded(f *strictjson.Fields, key string, most int) *strictjson.Value {
	v := f.Opaque(key, most)
	if v.Size() == 0 && sourceSize(v) > most {
		f.Invalid(key, "longer than its bound")
	}
	return v
}

func sourceSize(v *strictjson.Value) int {
	if v.Size() > 0 || len(v.Members) == 0 {
		return v.Size()
	}
	return len(strictjson.Append(nil, v))
}

// Value returns the request as the contract spells it, with every field that it requires.
func (r *Request) Value() strictjson.Value {
	session := strictjson.Object(strictjson.Pair("sandbox_session_id", strictjson.Text(r.Session.ID)))
	addText(&session, "caller_session_id", r.Session.Caller)
	addText(&session, "task_id", r.Session.Task)
	auth := strictjson.Object(strictjson.Pair("allowed_tools", strictjson.Texts(r.AllowedTools)))
	addText(&auth, "capability", r.Capability)
	addValue(&auth, "principal", r.Principal)
	return strictjson.Object(
		strictjson.Pair("schema", strictjson.Text(RequestSchema)),
		strictjson.Pair("version", strictjson.Int(1)),
		strictjson.Pair("request_id", strictjson.Text(r.ID)),
		strictjson.Pair("tool", strictjson.Text(r.Tool)),
		strictjson.Pair("operation", strictjson.Text(r.Operation)),
		strictjson.Pair("input", r.Input),
		strictjson.Pair("sandbox_session", session),
		strictjson.Pair("authorization", auth),
		strictjson.Pair("metadata", object(r.Metadata)),
	)
}

// Encode returns the request as one line of JSON, without a line end.
func (r *Request) Encode() []byte {
	v := r.Value()
	return strictjson.Append(nil, &v)
}

// object returns v, or an empty object for a value that is none.
func object(v strictjson.Value) strictjson.Value {
	if v.Kind != strictjson.KindObject {
		return strictjson.Object()
	}
	return v
}

func addText(v *strictjson.Value, key, s string) {
	if s != "" {
		v.Add(key, strictjson.Text(s))
	}
}

func addValue(v *strictjson.Value, key string, member *strictjson.Value) {
	if member != nil {
		v.Add(key, object(*member))
	}
}

// MaxMessage is how long the message of an error is at most, in bytes.
const MaxMessage = 2048

// ClipMessage returns message as an error may have it: at most [MaxMessage] bytes, cut between
// two characters. Cut after secrets were taken out: half of one is not found.
func ClipMessage(message string) string {
	if len(message) <= MaxMessage {
		return message
	}
	n := MaxMessage
	for n > MaxMessage-utf8.UTFMax && !utf8.RuneStart(message[n]) {
		n--
	}
	return message[:n]
}

// Fail returns the complete result for a call that did not succeed. It is retryable as the
// table of section A.5 says; the one exception, overloaded because no more ids are remembered,
// is for the caller to set. The message is shown to the sandbox: it must be our own words, with
// no secret, no path of the host and nothing of what a dispatcher said.
//
// A status that is none of the four, or a code that is none, is failed with internal_error: a
// half-filled envelope is never sent.
func (r *Request) Fail(status Status, code, message string) *Result {
	if !status.Valid() || status == Succeeded || !ErrorCode(code) {
		status, code, message = Failed, CodeInternalError, "internal error"
	}
	if message == "" {
		message = code
	}
	res := r.result(status)
	res.Err = &Error{
		Code:      code,
		Message:   ClipMessage(message),
		Retryable: Retryable(status, code, r.Capability),
	}
	return res
}

// Succeed returns the result for a call that succeeded. The output may be nil: there is none.
func (r *Request) Succeed(output *strictjson.Value) *Result {
	res := r.result(Succeeded)
	res.Output = output
	return res
}

func (r *Request) result(status Status) *Result {
	return &Result{
		ID: r.ID, Tool: r.Tool, Operation: r.Operation, Status: status,
		Diagnostics: strictjson.Object(), Metadata: strictjson.Object(),
	}
}
