package delegate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"brainbox/internal/strictjson"
)

const secret = "bearer-4f1c99"

// scrub replaces the secret in every string.
func scrub(v strictjson.Value) (strictjson.Value, error) {
	v.Text = strings.ReplaceAll(v.Text, secret, "[redacted]")
	for i := range v.Items {
		v.Items[i], _ = scrub(v.Items[i])
	}
	for i := range v.Members {
		v.Members[i].Key = strings.ReplaceAll(v.Members[i].Key, secret, "[redacted]")
		v.Members[i].Value, _ = scrub(v.Members[i].Value)
	}
	return v, nil
}

// TestRedacted: nothing leaves with a secret in it, on any way out.
func TestRedacted(t *testing.T) {
	t.Run("bg/B29", func(t *testing.T) {
		request := q("context", `{"auth":"Bearer `+secret+`"}`, "orchestrator", `{"`+secret+`":1}`)
		v := do(t, with(t, Options{Redact: scrub, Adapter: says(`{"result":{"ok":1}}`)}), request)
		if text(v, "request", "context", "auth") != "Bearer [redacted]" || strings.Contains(text(v), secret) {
			t.Errorf("%s", text(v))
		}
		if v := do(t, with(t, Options{Adapter: says(`{}`)}), request); !strings.Contains(text(v), secret) {
			t.Error("the control: there was no secret")
		}
	})
	for _, answer := range []string{
		`{"result":{"x":"` + secret + `"}}`, `{"provider":"` + secret + `","artifacts":["` + secret + `"]}`, `{"error":{"code":"x","message":"` + secret + `","data":["` + secret + `"]}}`,
		`{"error":"` + secret + `"}`, `{"request_id":"` + secret + `"}`,
	} {
		if v := do(t, with(t, Options{Redact: scrub, Adapter: says(answer)}), q()); strings.Contains(text(v), secret) {
			t.Errorf("%s: %s", answer, text(v))
		}
	}
	t.Run("bad requests too", func(t *testing.T) {
		v := do(t, with(t, Options{Redact: scrub, Adapter: silent(t)}), q("schema", `"x"`, "context", `{"auth":"`+secret+`"}`))
		if strings.Contains(text(v), secret) || text(v, "request", "context", "auth") != "[redacted]" {
			t.Errorf("%s", text(v))
		}
	})
	t.Run("another one for the result", func(t *testing.T) {
		d := with(t, Options{Redact: scrub, Output: Unredacted, Adapter: says(`{"result":{"x":"` + secret + `"},"provider":"` + secret + `"}`)})
		if v := do(t, d, q()); text(v, "result", "x") != secret || strings.Count(text(v), secret) != 1 {
			t.Errorf("%s", text(v))
		}
	})
	t.Run("a redactor that fails", func(t *testing.T) {
		for _, r := range []Redactor{
			func(v strictjson.Value) (strictjson.Value, error) { return v, errors.New("no") },
			func(strictjson.Value) (strictjson.Value, error) { panic("no") },
		} {
			for _, o := range []Options{{Redact: r}, {Redact: scrub, Output: r}} {
				o.Adapter = says(`{"result":{"x":"` + secret + `"}}`)
				v := do(t, with(t, o), q("context", `{"auth":"`+secret+`"}`))
				if fails(t, v, Failed, CodeRedaction); v.Get("request") != nil || strings.Contains(text(v), secret) {
					t.Errorf("%s", text(v))
				}
			}
		}
	})
	if _, err := New(Options{}); err == nil {
		t.Error("it starts without a redactor")
	}
	if _, err := New(Options{Redact: scrub, Timeout: -1}); err == nil {
		t.Error("it starts with a negative limit")
	}
}

// TestObserved: who observes is told both events, redacted, and has no say.
func TestObserved(t *testing.T) {
	var seen []Event
	d := with(t, Options{Redact: scrub, Adapter: says(`{"provider":"p ` + secret + `"}`), Observe: func(e Event) {
		seen = append(seen, e)
		panic("x")
	}})
	if v := do(t, d, q()); text(v, "status") != "completed" {
		t.Errorf("%s", text(v))
	}
	if len(seen) != 2 || seen[0].Name != "host-delegation.requested" || seen[0].Status != "" || seen[1].Status != Completed || seen[1].Provider != "p [redacted]" {
		t.Errorf("%+v", seen)
	}
}

// TestFrame: whatever an adapter answers and a caller asks, a result fits a frame.
func TestFrame(t *testing.T) {
	big := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	for _, c := range []struct {
		what, request, answer, status string
		echo                          bool
	}{
		{"a big request", q("context", `{"x":`+big(900_000)+`}`), `{"result":{"ok":1}}`, "completed", true},
		{"both are big", q("context", `{"x":`+big(900_000)+`}`), `{"result":{"x":` + big(900_000) + `}}`, "completed", false},
		{"its orchestrator counts twice", q("orchestrator", `{"x":`+big(600_000)+`}`), `{}`, "completed", false},
		{"a big answer", q(), `{"result":{"x":` + big(1_046_000) + `}}`, "failed", true},
		{"a big error", q(), `{"error":{"data":` + big(1_046_000) + `}}`, "failed", true},
		{"beyond all", q(), `{"result":{"x":` + big(1<<20) + `}}`, "failed", true},
	} {
		v := do(t, with(t, Options{Adapter: says(c.answer)}), c.request)
		if text(v, "status") != c.status || (v.Get("request") != nil) != c.echo || len(text(v)) > 1<<20 {
			t.Errorf("%s: %s, echo %v, %d bytes", c.what, text(v, "status"), v.Get("request") != nil, len(text(v)))
		}
	}
}

// FuzzDelegate: any request and any answer make one sound result.
func FuzzDelegate(f *testing.F) {
	f.Add(q(), `{"status":"completed","request_id":"r1"}`)
	f.Add(q("goal", "", "source_digest", `{"value":"x"}`), `{"error":{"code":"x"}}`)
	f.Add(`{"id":"","task":"x","session_id":"s"}`, `{"result":{"source_digest":{"hash":1}}}`)
	f.Add(`[]`, `null`)
	f.Fuzz(func(t *testing.T, request, answer string) {
		in, err := strictjson.Decode([]byte(request), strictjson.Limits{})
		if err != nil {
			return
		}
		v := with(t, Options{Adapter: says(answer)}).Do(t.Context(), in)
		sound(t, v)
		if !json.Valid(strictjson.Append(nil, v)) {
			t.Error("no JSON")
		}
	})
}
