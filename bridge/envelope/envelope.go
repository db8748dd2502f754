package envelope

import (
	"context"

	"brainbox/internal/strictjson"
)

// The schemas and the version of the envelopes: ids of the contract, section A.1.
const (
	BridgeSchema     = "wp-codebox/parent-tool-bridge/v1"
	RequestSchema    = "wp-codebox/parent-tool-request/v1"
	ResultSchema     = "wp-codebox/parent-tool-result/v1"
	TranscriptSchema = "wp-codebox/tool-call-transcript/v1"
)

// Request is one call of a tool.
type Request struct {
	ID        string // unique in the session for ever: a second use is a replay
	Tool      string
	Operation string
	Input     strictjson.Value // opaque; numbers keep their source text

	Session Session

	// AllowedTools is what the caller believes it may call. It is never the authority.
	AllowedTools []string
	Principal    *strictjson.Value // opaque object; nil: absent
	Capability   string            // empty: absent

	Metadata strictjson.Value // opaque object
}

// Session names the session that a request belongs to. Only ID is checked.
type Session struct {
	ID     string
	Caller string // empty: absent
	Task   string // empty: absent
}

// Status is what became of a call. The zero value is none of the five, and never sent.
type Status string

// The five statuses.
const (
	Succeeded   Status = "succeeded"
	Failed      Status = "failed"
	Denied      Status = "denied"
	Unavailable Status = "unavailable"
	Timeout     Status = "timeout"
)

// Valid reports whether s is one of the five.
func (s Status) Valid() bool {
	switch s {
	case Succeeded, Failed, Denied, Unavailable, Timeout:
		return true
	}
	return false
}

// Result answers one request, whose id, tool and operation it repeats.
type Result struct {
	ID        string
	Tool      string
	Operation string
	Status    Status

	Output *strictjson.Value // only with Succeeded; nil: absent
	Err    *Error            // with every other status, and only there

	Transcripts []Ref
	Evidence    []Ref
	Diagnostics strictjson.Value // object
	Metadata    strictjson.Value // object
}

// Error says why a call did not succeed.
type Error struct {
	Code      string // ^[a-z][a-z0-9_]{0,63}$; the table is in section A.5
	Message   string // 1 to 2048 bytes, redacted
	Retryable bool
	Details   *strictjson.Value // object; nil: absent
}

// Ref names an artifact. Path, ID or URI is set.
type Ref struct {
	Kind     string
	Path     string // relative, clean
	ID       string
	URI      string
	SHA256   string            // 64 lower-case hexadecimal digits; empty: absent
	Metadata *strictjson.Value // object; nil: absent
}

// Dispatcher carries out what was allowed. It is total: there is always a valid result
// that matches the request, whatever happens.
type Dispatcher interface {
	Dispatch(ctx context.Context, r *Request) *Result
}
