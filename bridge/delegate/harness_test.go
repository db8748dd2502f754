package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"brainbox/internal/strictjson"
)

// adapter answers with a function.
type adapter func(ctx context.Context, r Request) (json.RawMessage, error)

func (a adapter) Delegate(ctx context.Context, r Request) (json.RawMessage, error) { return a(ctx, r) }

// says is an adapter that answers the same to everything.
func says(text string) adapter {
	return func(context.Context, Request) (json.RawMessage, error) { return json.RawMessage(text), nil }
}

// must not be called.
func silent(t *testing.T) adapter {
	return func(context.Context, Request) (json.RawMessage, error) {
		t.Error("the adapter was called")
		return nil, nil
	}
}

var aaaa, bbbb = strings.Repeat("a", 64), strings.Repeat("b", 64)

// q is the request of the vectors with some members replaced; an empty text removes one.
func q(change ...string) string {
	v := strictjson.Object(
		strictjson.Pair("schema", strictjson.Text(RequestSchema)), strictjson.Pair("request_id", strictjson.Text("r1")), strictjson.Pair("goal", strictjson.Text("Check")),
		strictjson.Pair("sandbox_session_id", strictjson.Text("sA")), strictjson.Pair("source_digest", strictjson.Text(aaaa)),
	)
	for i := 0; i < len(change); i += 2 {
		kept := v.Members[:0]
		for _, m := range v.Members {
			if m.Key != change[i] {
				kept = append(kept, m)
			}
		}
		v.Members = kept
		if change[i+1] != "" {
			m, err := strictjson.Decode([]byte(change[i+1]), strictjson.Limits{})
			if err != nil {
				panic(err)
			}
			v.Add(change[i], *m)
		}
	}
	return string(strictjson.Append(nil, &v))
}

func with(t *testing.T, o Options) *Delegator {
	t.Helper()
	if o.Redact == nil {
		o.Redact = Unredacted
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// do makes one call, and checks what every result must have.
func do(t *testing.T, d *Delegator, request string) *strictjson.Value {
	t.Helper()
	in, err := strictjson.Decode([]byte(request), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	before := string(strictjson.Append(nil, in))
	out := d.Do(t.Context(), in)
	if string(strictjson.Append(nil, in)) != before {
		t.Error("the request was changed")
	}
	sound(t, out)
	return out
}

func text(v *strictjson.Value, path ...string) string {
	for _, p := range path {
		v = v.Get(p)
	}
	if v == nil {
		return "absent"
	}
	if v.Kind == strictjson.KindString {
		return v.Text
	}
	return string(strictjson.Append(nil, v))
}

// sound checks the shape of a result (section B.1).
func sound(t *testing.T, v *strictjson.Value) {
	t.Helper()
	status := text(v, "status")
	good := status == "accepted" || status == "completed"
	if text(v, "schema") != ResultSchema || text(v, "execution") != "host-delegation" || text(v, "request_id") == "absent" || text(v, "success") != fmt.Sprint(good) {
		t.Errorf("%s", text(v))
	}
	if (v.Get("error") == nil) != good || !good && v.Get("result") != nil {
		t.Errorf("error and result: %s", text(v))
	}
	if !good && (!validCode(text(v, "error", "code")) || text(v, "error", "message") == "" || len(text(v, "error", "message")) > 2048) {
		t.Errorf("error: %s", text(v))
	}
	events := v.Get("events")
	if events == nil || len(events.Items) != 2 || text(&events.Items[0], "event") != "host-delegation.requested" ||
		text(&events.Items[1], "event") != "host-delegation."+status || text(&events.Items[1], "status") != status {
		t.Fatalf("events: %s", text(events))
	}
	for i := range events.Items {
		e := &events.Items[i]
		at, err := time.Parse(time.RFC3339, text(e, "time"))
		if err != nil || at.Location() != time.UTC || text(e, "schema") != EventSchema || text(e, "request_id") != text(v, "request_id") {
			t.Errorf("event: %s (%v)", text(e), err)
		}
	}
	start, err1 := time.Parse(time.RFC3339, text(v, "timings", "started_at"))
	end, err2 := time.Parse(time.RFC3339, text(v, "timings", "ended_at"))
	if err1 != nil || err2 != nil || end.Before(start) || v.Get("timings").Get("duration_ms").Kind != strictjson.KindNumber {
		t.Errorf("timings: %s", text(v, "timings"))
	}
	for _, m := range v.Members {
		if m.Value.Kind == strictjson.KindNull {
			t.Errorf("%s is empty", m.Key)
		}
	}
	if _, err := strictjson.Decode(strictjson.Append(nil, v), strictjson.Limits{}); err != nil {
		t.Errorf("a strict reader says %v", err)
	}
}

// fails wants a failure with a code.
func fails(t *testing.T, v *strictjson.Value, status Status, code string) {
	t.Helper()
	if text(v, "status") != string(status) || text(v, "error", "code") != code {
		t.Errorf("got %s, want %s", text(v), code)
	}
}
