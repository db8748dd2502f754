package delegate

import (
	"time"

	"brainbox/internal/strictjson"
)

// call is one Do under way.
type call struct {
	d       *Delegator
	request Request
	started time.Time
	events  []Event
}

// event is one more, and told to whoever observes.
func (c *call) event(what string, provider string) {
	e := Event{Name: Execution + "." + what, Time: time.Now().UTC(), RequestID: c.request.ID, Provider: provider}
	if what != "requested" {
		e.Status = Status(what)
	}
	c.events = append(c.events, e)
	if c.d.o.Observe == nil {
		return
	}
	defer func() { _ = recover() }() // an observer has no say
	c.d.o.Observe(e)
}

// value is an event on the wire.
func (e Event) value() strictjson.Value {
	v := strictjson.Object(
		strictjson.Pair("schema", strictjson.Text(EventSchema)), strictjson.Pair("event", strictjson.Text(e.Name)),
		strictjson.Pair("time", strictjson.Text(e.Time.Format(timeFormat))), strictjson.Pair("request_id", strictjson.Text(e.RequestID)),
	)
	if e.Status != "" {
		v.Add("status", strictjson.Text(string(e.Status)))
	}
	if e.Provider != "" {
		v.Add("provider", strictjson.Text(e.Provider))
	}
	return v
}

// end redacts what came of it and makes the envelope. What cannot be redacted, or does not
// fit, is a failure that tells nothing.
func (c *call) end(o outcome) *strictjson.Value {
	request, err := c.redacted(&o)
	if err != nil {
		request, o = strictjson.Null(), bad(CodeRedaction, "secrets could not be taken out")
	}
	if size(o.result, o.provider, o.artifacts)+len(strictjson.Append(nil, o.errData())) > maxEnvelope {
		o = bad(CodeResult, "the provider's answer does not fit a frame")
	}
	if request.Kind != strictjson.KindNull && size(&request, request.Get("orchestrator"), o.result, o.provider, o.artifacts, o.errData()) > maxEnvelope {
		request = strictjson.Null() // it is an echo: the caller has it
	}
	provider := ""
	if o.provider != nil && o.provider.Kind == strictjson.KindString {
		provider = clip(o.provider.Text, 128)
	}
	c.event(string(o.status), provider)
	return c.envelope(request, o)
}

// size is how many bytes values take.
func size(list ...*strictjson.Value) int {
	n := 0
	for _, v := range list {
		if v != nil {
			n += len(strictjson.Append(nil, v))
		}
	}
	return n
}

func (o *outcome) errData() *strictjson.Value {
	if o.err == nil {
		return &strictjson.Value{}
	}
	return &o.err.data
}

// redacted takes secrets out of an outcome, and gives the request for the echo: null if it
// was no object.
func (c *call) redacted(o *outcome) (request strictjson.Value, err error) {
	clean := func(v *strictjson.Value, with Redactor) (*strictjson.Value, error) {
		if v == nil || v.Kind == strictjson.KindNull {
			return v, nil
		}
		out, err := guarded(with, clone(*v))
		return &out, err
	}
	for _, f := range []struct {
		to   **strictjson.Value
		with Redactor
	}{{&o.result, c.d.o.Output}, {&o.provider, c.d.o.Redact}, {&o.artifacts, c.d.o.Redact}} {
		if *f.to, err = clean(*f.to, f.with); err != nil {
			return request, err
		}
	}
	if o.err != nil {
		e := *o.err
		message := strictjson.Text(e.message)
		clear, err := clean(&message, c.d.o.Redact)
		if err != nil {
			return request, err
		}
		if e.message = clip(clear.Text, maxMessage); clear.Kind != strictjson.KindString || e.message == "" {
			e.message = "the provider failed"
		}
		data, err := clean(&e.data, c.d.o.Redact)
		if err != nil {
			return request, err
		}
		e.data = *data
		o.err = &e
	}
	out, err := clean(&c.request.Value, c.d.o.Redact)
	if err != nil {
		return request, err
	}
	return *out, nil
}

// guarded is a redactor that may panic.
func guarded(f Redactor, v strictjson.Value) (out strictjson.Value, err error) {
	defer func() {
		if recover() != nil {
			out, err = strictjson.Null(), errRedactor
		}
	}()
	return f(v)
}

type redactorError struct{}

// Error says what happened.
func (redactorError) Error() string { return "delegate: the redactor panicked" }

var errRedactor = redactorError{}

// envelope puts the result together. What is empty is left out.
func (c *call) envelope(request strictjson.Value, o outcome) *strictjson.Value {
	good := o.status == Accepted || o.status == Completed
	v := strictjson.Object(
		strictjson.Pair("success", strictjson.Bool(good)), strictjson.Pair("schema", strictjson.Text(ResultSchema)),
		strictjson.Pair("execution", strictjson.Text(Execution)), strictjson.Pair("status", strictjson.Text(string(o.status))),
		strictjson.Pair("request_id", strictjson.Text(c.request.ID)),
	)
	if c.request.Session != "" {
		v.Add("session_id", strictjson.Text(c.request.Session))
	}
	add := func(key string, m *strictjson.Value) {
		if m != nil && m.Kind != strictjson.KindNull {
			v.Add(key, *m)
		}
	}
	add("request", &request)
	if good {
		add("result", o.result)
	}
	if o.err != nil {
		e := strictjson.Object(strictjson.Pair("code", strictjson.Text(o.err.code)), strictjson.Pair("message", strictjson.Text(o.err.message)))
		if o.err.data.Kind != strictjson.KindNull {
			e.Add("data", o.err.data)
		}
		v.Add("error", e)
	}
	events := strictjson.Array()
	for _, e := range c.events {
		events.Items = append(events.Items, e.value())
	}
	took := time.Since(c.started)
	v.Add("events", events)
	v.Add("timings", strictjson.Object(
		strictjson.Pair("started_at", strictjson.Text(c.started.UTC().Format(timeFormat))),
		strictjson.Pair("ended_at", strictjson.Text(c.started.Add(took).UTC().Format(timeFormat))),
		strictjson.Pair("duration_ms", strictjson.Int(took.Milliseconds())),
	))
	if o := request.Get("orchestrator"); o != nil && o.Kind == strictjson.KindObject {
		add("orchestrator", o)
	}
	add("provider", o.provider)
	add("artifacts", o.artifacts)
	return &v
}
