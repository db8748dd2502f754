package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"brainbox/internal/strictjson"
)

// TestAnswers are the vectors of what an adapter answers to Q.
func TestAnswers(t *testing.T) {
	const p = "wp_codebox_host_delegation_"
	for _, c := range []struct{ id, answer, code string }{
		{"bg/B12", `"done"`, p + "provider_result_invalid"},
		{"bg/B12 a list", `[{}]`, CodeResult},
		{"bg/B12 no JSON", `{`, CodeResult},
		{"bg/B12 twice", `{"status":"completed","status":"failed"}`, CodeResult},
		{"bg/B13", `{"status":"maybe","result":{"x":1}}`, p + "provider_status_invalid"},
		{"bg/B13 timeout", `{"status":"timeout"}`, CodeStatus},
		{"bg/B13 case", `{"status":"Completed"}`, CodeStatus},
		{"bg/B13 no text", `{"status":1}`, CodeStatus},
		{"bg/B14", `{"schema":"wp-codebox/host-delegation-result/v2","status":"completed"}`, p + "provider_result_schema_invalid"},
		{"bg/B14 of a request", `{"schema":"` + RequestSchema + `"}`, CodeResultSchema},
		{"bg/B15", `{"status":"completed","request_id":"r2"}`, p + "request_id_mismatch"},
		{"bg/B15 nested", `{"status":"completed","result":{"request_id":"r2"}}`, CodeIDMismatch},
		{"bg/B15 no text", `{"status":"completed","request_id":null}`, CodeIDMismatch},
		{"bg/B15 of a failure", `{"status":"failed","request_id":"r2"}`, CodeIDMismatch},
		{"bg/B16", `{"status":"completed","request_id":"R1"}`, CodeIDMismatch},
		{"bg/B17", `{"status":"completed","sandbox_session_id":"sB"}`, p + "scope_mismatch"},
		{"bg/B17 other name", `{"status":"completed","session_id":"sB"}`, CodeScopeMismatch},
		{"bg/B18", `{"status":"completed","result":{"sandbox_session_id":"sB"}}`, CodeScopeMismatch},
		{"bg/B19", `{"status":"completed","session_id":"sA","result":{"session_id":"sB"}}`, CodeScopeMismatch},
		{"bg/B20", `{"status":"completed","source_digest":"` + bbbb + `"}`, p + "source_digest_mismatch"},
		{"bg/B20 nested", `{"status":"completed","result":{"source_digest":{"sha256":"` + bbbb + `"}}}`, CodeDigestMismatch},
		{"bg/B21", `{"status":"completed","source_digest":"stale"}`, CodeDigestMismatch},
		{"bg/B21 null", `{"status":"completed","source_digest":null}`, CodeDigestMismatch},
		{"bg/B23", `{"success":true,"status":"failed"}`, p + "provider_result_invalid"},
		{"bg/B23 the other way", `{"success":false,"status":"completed"}`, CodeResult},
		{"bg/B23 accepted", `{"success":false,"status":"accepted"}`, CodeResult},
		{"bg/B23 unavailable", `{"success":true,"status":"unavailable"}`, CodeResult},
		{"bg/B23 with an error", `{"status":"completed","error":{"code":"x"}}`, CodeResult},
		{"success no boolean", `{"success":"yes"}`, CodeResult},
		{"bg/B24", `{"error":{"code":"quota_used","message":"no more","data":{"n":1}},"result":{"x":1}}`, "quota_used"},
		{"bg/B24 a bad code", `{"error":{"code":"Quota Used","message":"no more"}}`, CodeProvider},
		{"bg/B24 a text", `{"error":"no more"}`, CodeProvider},
		{"bg/B25", `{"success":false}`, p + "provider_error"},
		{"bg/B25 failed", `{"status":"failed","result":{"x":1}}`, CodeProvider},
		{"bg/B26", `{"status":"completed","result":[1]}`, p + "provider_result_invalid"},
		{"bg/B26 a text", `{"result":"x"}`, CodeResult},
		{"order: schema before status", `{"schema":"x","status":"maybe"}`, CodeResultSchema},
		{"order: status before result", `{"status":"maybe","result":[1]}`, CodeStatus},
		{"order: result before id", `{"result":[1],"request_id":"r2"}`, CodeResult},
		{"order: id before session", `{"session_id":"sB","request_id":"r2"}`, CodeIDMismatch},
		{"order: session before digest", `{"source_digest":"x","session_id":"sB"}`, CodeScopeMismatch},
	} {
		t.Run(c.id, func(t *testing.T) {
			v := do(t, with(t, Options{Adapter: says(c.answer)}), q())
			fails(t, v, Failed, c.code)
		})
	}
	t.Run("bg/B15 says which", func(t *testing.T) {
		v := do(t, with(t, Options{Adapter: says(`{"request_id":"r2"}`)}), q())
		if text(v, "error", "data", "expected") != "r1" || text(v, "error", "data", "actual") != "r2" {
			t.Errorf("%s", text(v, "error"))
		}
	})
	t.Run("bg/B24 is told whole", func(t *testing.T) {
		v := do(t, with(t, Options{Adapter: says(`{"error":{"code":"quota_used","message":"no more","data":{"n":1}},"provider":"p","artifacts":[1]}`)}), q())
		if text(v, "error", "message") != "no more" || text(v, "error", "data", "n") != "1" || text(v, "provider") != "p" || text(v, "artifacts") != "[1]" {
			t.Errorf("%s", text(v))
		}
		if e := v.Get("events").Items[1]; text(&e, "provider") != "p" {
			t.Errorf("%s", text(&e))
		}
	})
	for _, c := range []struct{ id, answer, status, result string }{
		{"bg/B28", `{"status":"accepted","success":true,"result":{"job":"j1"}}`, "accepted", `{"job":"j1"}`},
		{"bg/B30", `{"status":"completed","payload":1}`, "completed", "absent"},
		{"an empty object", `{}`, "completed", "absent"},
		{"all ids", `{"request_id":"r1","session_id":"sA","source_digest":" ` + strings.ToUpper(aaaa) + `","result":{"id":"job","request_id":"r1","sandbox_session_id":"sA"}}`, "completed", `{"id":"job","request_id":"r1","sandbox_session_id":"sA"}`},
		{"nulls", `{"status":null,"success":null,"error":null,"result":null,"provider":null}`, "completed", "absent"},
	} {
		t.Run(c.id, func(t *testing.T) {
			v := do(t, with(t, Options{Adapter: says(c.answer)}), q())
			if text(v, "status") != c.status || text(v, "result") != c.result {
				t.Errorf("%s", text(v))
			}
		})
	}
	t.Run("bg/B22", func(t *testing.T) {
		for _, digest := range []string{`"` + bbbb + `"`, `"stale"`} {
			if v := do(t, with(t, Options{Adapter: says(`{"source_digest":` + digest + `}`)}), q("source_digest", "")); text(v, "status") != "completed" {
				t.Errorf("%s", text(v))
			}
		}
	})
	t.Run("bg/B11", func(t *testing.T) {
		for _, a := range []Adapter{nil, says(""), says(" null "), says("null")} {
			fails(t, do(t, with(t, Options{Adapter: a}), q()), Unavailable, "wp_codebox_host_delegation_unavailable")
		}
		v := do(t, with(t, Options{Adapter: says(`{"status":"unavailable","error":{"message":"later"}}`)}), q())
		if fails(t, v, Unavailable, CodeUnavailable); text(v, "error", "message") != "later" {
			t.Errorf("%s", text(v))
		}
	})
}

// TestAdapterErrors: the adapter's own error is told, any other says nothing, and a panic
// ends nothing.
func TestAdapterErrors(t *testing.T) {
	for _, c := range []struct {
		err        error
		code, text string
	}{
		{fmt.Errorf("x: %w", &Error{Code: "quota_used", Message: "no more"}), "quota_used", "no more"},
		{&Error{Code: "Not A Code", Message: strings.Repeat("é", 2000)}, CodeProvider, strings.Repeat("é", 1024)},
		{&Error{}, CodeProvider, "the provider failed"},
		{errors.New("dial 10.0.0.1: secret"), CodeProvider, "the provider failed"},
		{context.Canceled, CodeProvider, "the provider failed"},
		{context.DeadlineExceeded, CodeTimeout, "no answer in time; the work may go on"},
	} {
		v := do(t, with(t, Options{Adapter: adapter(func(context.Context, Request) (json.RawMessage, error) {
			return json.RawMessage(`{"result":{}}`), c.err
		})}), q())
		if fails(t, v, Failed, c.code); text(v, "error", "message") != c.text {
			t.Errorf("%v: %s", c.err, text(v))
		}
	}
	v := do(t, with(t, Options{Adapter: adapter(func(context.Context, Request) (json.RawMessage, error) { panic("secret") })}), q())
	if fails(t, v, Failed, CodeProvider); strings.Contains(text(v), "secret") {
		t.Errorf("%s", text(v))
	}
}

// TestDeadline: one that does not come back costs its deadline and no more.
func TestDeadline(t *testing.T) {
	t.Run("bg/B27", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var ended atomic.Bool
			d := with(t, Options{Running: 1, Adapter: adapter(func(ctx context.Context, _ Request) (json.RawMessage, error) {
				time.Sleep(10 * time.Minute) // it does not look at its context
				ended.Store(ctx.Err() != nil)
				return json.RawMessage(`{"status":"completed","result":{"late":1}}`), nil
			})})
			at := time.Now()
			v := do(t, d, q())
			if fails(t, v, Failed, "wp_codebox_host_delegation_timeout"); time.Since(at) != 120*time.Second || text(v, "timings", "duration_ms") != "120000" {
				t.Errorf("after %v: %s", time.Since(at), text(v, "timings"))
			}
			// While it goes on it takes a place, and nobody waits for one.
			at = time.Now()
			if fails(t, do(t, d, q()), Unavailable, CodeUnavailable); time.Since(at) != 0 {
				t.Errorf("it took %v", time.Since(at))
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if !ended.Load() || len(d.running) != 0 {
				t.Error("the adapter's context did not end, or its place is not free")
			}
		})
	})
	t.Run("the caller goes away", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{})
		d := with(t, Options{Adapter: adapter(func(ctx context.Context, _ Request) (json.RawMessage, error) {
			close(started)
			<-ctx.Done()
			return nil, ctx.Err()
		})})
		go func() { <-started; cancel() }()
		in, err := strictjson.Decode([]byte(q()), strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		v := d.Do(ctx, in)
		sound(t, v)
		fails(t, v, Failed, CodeProvider)
	})
}
