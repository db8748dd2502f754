package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/bridge/redact"
	"brainbox/internal/strictjson"
)

// Record is one call that is over.
type Record struct {
	Request *envelope.Request
	Result  *envelope.Result // redacted or not

	// Type is what kind of tool it was; empty: parent.
	Type string

	// Cancelled says that nobody was there to be answered any more (vector A82).
	Cancelled bool

	Started time.Time // wall clock, when the request was there
	Took    time.Duration
}

// MaxBytes is how long a file may be.
const MaxBytes = 1 << 20

// ErrTooLong means that a record has no form of at most [MaxBytes].
var ErrTooLong = errors.New("transcript: longer than a file may be")

// encode returns the text of the file: whole, without what was put in and came out, or only
// what became of the call.
func (r Record) encode(red *redact.Redactor) ([]byte, error) {
	if r.Request == nil || r.Result == nil {
		return nil, errors.New("transcript: no call")
	}
	var parts [4]strictjson.Value // input, output, diagnostics, metadata
	for i, v := range [...]*strictjson.Value{
		&r.Request.Input, r.Result.Output, &r.Result.Diagnostics, &r.Result.Metadata,
	} {
		if v == nil {
			continue
		}
		var err error
		if parts[i], err = red.Value(*v, redact.Full); err != nil {
			return nil, err
		}
	}
	for level := whole; level <= bare; level++ {
		v, err := r.value(red, parts, level)
		if err != nil {
			return nil, err
		}
		if text := strictjson.AppendLine(nil, &v); len(text) <= MaxBytes {
			return text, nil
		}
	}
	return nil, ErrTooLong
}

// level is how much of a call is written down.
type level int

const (
	whole   level = iota
	digests       // of input and output
	bare          // and no diagnostics and metadata
)

func (r Record) value(red *redact.Redactor, parts [4]strictjson.Value, l level) (strictjson.Value, error) {
	policy := strictjson.Object(strictjson.Pair("policy", strictjson.Text(redact.Policy)))
	name := func(s string) strictjson.Value { return strictjson.Text(red.Text(s, redact.Names)) }
	kind := r.Type
	if kind == "" {
		kind = "parent"
	}
	call := strictjson.Object(
		strictjson.Pair("call_id", name(r.Request.ID)),
		strictjson.Pair("tool_name", name(r.Request.Tool)),
		strictjson.Pair("tool_type", strictjson.Text(kind)),
		strictjson.Pair("operation", name(r.Request.Operation)),
		strictjson.Pair("phase", strictjson.Text("completed")),
		strictjson.Pair("status", strictjson.Text(r.status())),
		strictjson.Pair("started_at", stamp(r.Started)),
		strictjson.Pair("finished_at", stamp(r.Started.Add(r.Took))),
		strictjson.Pair("duration_ms", strictjson.Int(r.Took.Milliseconds())),
		strictjson.Pair("sandbox_session_id", name(r.Request.Session.ID)),
	)
	for _, m := range [...]struct{ key, text string }{
		{"caller_session_id", r.Request.Session.Caller},
		{"task_id", r.Request.Session.Task},
		{"capability", r.Request.Capability},
	} {
		if m.text != "" {
			call.Add(m.key, strictjson.Text(red.Text(m.text, redact.Full)))
		}
	}
	add(&call, "input", &parts[0], l)
	if r.Result.Output != nil {
		add(&call, "output", &parts[1], l)
	}
	rest, err := red.Value(r.rest(), redact.Full)
	if err != nil {
		return rest, err
	}
	call.Members = append(call.Members, rest.Members...)
	if l < bare {
		call.Add("diagnostics", parts[2])
		call.Add("metadata", parts[3])
	}
	if l > whole {
		call.Add("truncated", strictjson.Bool(true))
	}
	call.Add("redaction", policy)
	return strictjson.Object(
		strictjson.Pair("schema", strictjson.Text(envelope.TranscriptSchema)),
		strictjson.Pair("version", strictjson.Int(1)),
		strictjson.Pair("redaction", policy),
		strictjson.Pair("tool_calls", strictjson.Array(call)),
	), nil
}

// rest returns the error and what the tool refers to, which may hold secrets.
func (r Record) rest() strictjson.Value {
	v := strictjson.Object()
	full := r.Result.Value()
	if e := full.Get("error"); e != nil && !r.Cancelled {
		v.Add("error", *e)
	}
	if r.Cancelled {
		v.Add("error", strictjson.Object(
			strictjson.Pair("code", strictjson.Text(envelope.CodeCallerGone)),
			strictjson.Pair("message", strictjson.Text("nobody was there to be answered")),
			strictjson.Pair("retryable", strictjson.Bool(false)),
		))
	}
	if a := full.Get("artifacts"); len(r.Result.Transcripts)+len(r.Result.Evidence) > 0 {
		v.Add("artifacts", *a)
	}
	return v
}

// add adds v, or the digest of its encoding: of what was redacted, since a short secret is
// guessed by its digest.
func add(call *strictjson.Value, key string, v *strictjson.Value, l level) {
	if l == whole {
		call.Add(key, *v)
		return
	}
	sum := sha256.Sum256(strictjson.Append(nil, v))
	call.Add(key+"_sha256", strictjson.Text(hex.EncodeToString(sum[:])))
}

// status returns the word that transcripts have for what became of the call.
func (r Record) status() string {
	if r.Cancelled {
		return "cancelled"
	}
	switch r.Result.Status {
	case envelope.Succeeded:
		return "succeeded"
	case envelope.Timeout:
		return "timed_out"
	case envelope.Denied:
		return "skipped"
	case envelope.Failed, envelope.Unavailable:
	}
	return "failed"
}

func stamp(t time.Time) strictjson.Value {
	return strictjson.Text(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// fileName returns the name of the file for a request.
func fileName(red *redact.Redactor, id string) string {
	const digit, most = "0123456789abcdef", 200
	name := make([]byte, 0, len(id)+16)
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-' && i > 0:
			name = append(name, c)
		default:
			name = append(name, '=', digit[c>>4], digit[c&15])
		}
	}
	if len(id) == 0 || len(name) > most || red.Holds(id) {
		sum := sha256.Sum256([]byte(id))
		return "=sha256-" + hex.EncodeToString(sum[:]) + ".json"
	}
	return string(name) + ".json"
}
