package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"brainbox/internal/strictjson"
)

// The schemas.
const (
	RequestSchema = "wp-codebox/host-delegation-request/v1"
	ResultSchema  = "wp-codebox/host-delegation-result/v1"
	EventSchema   = "wp-codebox/host-delegation-event/v1"
)

// Execution is what every result says it is.
const Execution = "host-delegation"

// Status of a result. There is no timeout: that is a failure with its code.
type Status string

// The statuses.
const (
	Accepted    Status = "accepted"
	Completed   Status = "completed"
	Failed      Status = "failed"
	Unavailable Status = "unavailable"
)

// The codes of errors, behind their common prefix (section B.3). The last one is this
// package's: what could not be redacted does not leave.
const (
	prefix = "wp_codebox_host_delegation_"

	CodeSchema         = prefix + "schema_invalid"
	CodeRequest        = prefix + "request_invalid"
	CodeDigest         = prefix + "source_digest_invalid"
	CodeUnavailable    = prefix + "unavailable"
	CodeResult         = prefix + "provider_result_invalid"
	CodeResultSchema   = prefix + "provider_result_schema_invalid"
	CodeStatus         = prefix + "provider_status_invalid"
	CodeIDMismatch     = prefix + "request_id_mismatch"
	CodeScopeMismatch  = prefix + "scope_mismatch"
	CodeDigestMismatch = prefix + "source_digest_mismatch"
	CodeTimeout        = prefix + "timeout"
	CodeProvider       = prefix + "provider_error"
	CodeRedaction      = prefix + "redaction_failed"
)

// Request is one that was checked.
type Request struct {
	ID      string
	Session string // empty: none was named
	Goal    string // empty: Task says it
	Task    string
	Digest  string // 64 lower-case hexadecimal digits; empty: none was given

	// Value is the whole request, with its schema, id and normal digest filled in.
	Value strictjson.Value
}

// Adapter does the work, or queues it. It may be called by several goroutines.
type Adapter interface {
	// Delegate returns a JSON object (section B.1), or nothing: nil or null means that
	// nobody handles it. An error with a code of its own is an *[Error]; the text of any
	// other is not told. The context ends at the deadline.
	Delegate(ctx context.Context, r Request) (json.RawMessage, error)
}

// Error is an adapter's error for the caller.
type Error struct {
	Code    string // ^[a-z][a-z0-9_]{0,127}$; anything else becomes provider_error
	Message string // at most 2048 bytes of it are told
	Data    json.RawMessage
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Defaults and bounds.
const (
	DefaultTimeout = 120 * time.Second
	DefaultRunning = 16
	MaxResult      = 1 << 20                         // of an adapter's answer, in bytes
	maxEnvelope    = 1<<20 - 4<<10                   // so that it fits a frame
	maxMessage     = 2048                            // bytes
	timeFormat     = "2006-01-02T15:04:05.000Z07:00" // RFC 3339
)

// Redactor takes secrets out of a value.
type Redactor func(strictjson.Value) (strictjson.Value, error)

// Unredacted is for hosts that have no secret.
func Unredacted(v strictjson.Value) (strictjson.Value, error) { return v, nil }

// Options of a Delegator. Redact is required.
type Options struct {
	Adapter Adapter       // nil: every call is unavailable
	Timeout time.Duration // of one call; default 120 s
	Running int           // adapters at work at once, those past their deadline included; default 16

	// Session is the one that the caller is bound to. A request that names another is a
	// scope_mismatch; one that names none is of this one. Empty: whatever it names.
	Session string

	// Redact is for all that leaves except the adapter's result, which has Output; nil: the
	// same. An error is redaction_failed.
	Redact Redactor
	Output Redactor

	// Observe is told of each event, from the calling goroutine. A panic in it is dropped.
	Observe func(Event)
}

// Event is what happens to a request. It is advice: the result is what counts.
type Event struct {
	Name      string // host-delegation.requested, .unavailable, .accepted, .completed or .failed
	Time      time.Time
	RequestID string
	Status    Status // empty: none yet
	Provider  string // empty: not said
}

// Delegator carries out requests.
type Delegator struct {
	o       Options
	running chan struct{}
	newID   func() string
}

// New checks the options.
func New(o Options) (*Delegator, error) {
	switch {
	case o.Redact == nil:
		return nil, errors.New("delegate: no Redact; Unredacted says that there are no secrets")
	case o.Timeout < 0 || o.Running < 0:
		return nil, errors.New("delegate: a limit is negative")
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Running == 0 {
		o.Running = DefaultRunning
	}
	if o.Output == nil {
		o.Output = o.Redact
	}
	return &Delegator{o: o, running: make(chan struct{}, o.Running), newID: newID}, nil
}

// Do carries out one request, which may be any value, and gives the result envelope.
func (d *Delegator) Do(ctx context.Context, request *strictjson.Value) *strictjson.Value {
	c := &call{d: d, started: time.Now()}
	r, issues := read(request, d.o.Session)
	if r.ID == "" {
		r.ID = d.newID()
	}
	if len(issues) == 0 {
		r.fill()
	}
	c.request = r
	c.event("requested", "")
	if len(issues) > 0 {
		return c.end(outcome{status: Failed, err: issues.fault()})
	}
	answer, fault := d.run(ctx, r)
	if fault != nil {
		return c.end(outcome{status: fault.status, err: fault})
	}
	return c.end(check(r, answer))
}

// Request is [Delegator.Do] for a server that has one function for it. The error is nil.
func (d *Delegator) Request(ctx context.Context, request *strictjson.Value) (*strictjson.Value, error) {
	return d.Do(ctx, request), nil
}

// reply is what an adapter came back with.
type reply struct {
	raw   json.RawMessage
	err   error
	panic bool
}

// run has the adapter answer, for no longer than the deadline.
func (d *Delegator) run(ctx context.Context, r Request) (json.RawMessage, *fault) {
	unavailable := &fault{status: Unavailable, code: CodeUnavailable, message: "nobody handles this request"}
	if d.o.Adapter == nil {
		return nil, unavailable
	}
	select {
	case d.running <- struct{}{}:
	default:
		unavailable.message = "too many requests are being handled"
		return nil, unavailable
	}
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	done := make(chan reply, 1) // a late answer goes nowhere
	go func() {
		defer func() { <-d.running }()
		done <- d.adapt(ctx, r)
	}()
	select {
	case got := <-done:
		return got.read()
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, failure(CodeTimeout, "no answer in time; the work may go on")
	}
	return nil, failure(CodeProvider, "the request was cancelled")
}

// adapt calls the adapter, with a copy of the request.
func (d *Delegator) adapt(ctx context.Context, r Request) (out reply) {
	defer func() {
		if recover() != nil {
			out = reply{panic: true}
		}
	}()
	r.Value = clone(r.Value)
	out.raw, out.err = d.o.Adapter.Delegate(ctx, r)
	return out
}

// read tells an answer from what is none.
func (p reply) read() (json.RawMessage, *fault) {
	var own *Error
	switch {
	case p.panic:
		return nil, failure(CodeProvider, "the provider failed")
	case errors.As(p.err, &own):
		return nil, own.fault()
	case errors.Is(p.err, context.DeadlineExceeded):
		return nil, failure(CodeTimeout, "no answer in time; the work may go on")
	case p.err != nil:
		return nil, failure(CodeProvider, "the provider failed")
	}
	return p.raw, nil
}
