package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"brainbox/internal/strictjson"
)

// TestRequests are the vectors that the adapter never sees, and their controls.
func TestRequests(t *testing.T) {
	never := with(t, Options{Adapter: silent(t)})
	refuse := func(id, request, code, field string) {
		t.Run(id, func(t *testing.T) {
			v := do(t, never, request)
			fails(t, v, Failed, code)
			if got := text(v, "error", "data", "field"); got != field {
				t.Errorf("field %q, want %q", got, field)
			}
		})
	}
	refuse("bg/B03", q("schema", `"wrong"`), "wp_codebox_host_delegation_schema_invalid", "schema")
	refuse("bg/B03 of a result", q("schema", `"`+ResultSchema+`"`), CodeSchema, "schema")
	refuse("bg/B03 null", q("schema", `null`), CodeSchema, "schema")
	refuse("bg/B04 neither", q("goal", ""), "wp_codebox_host_delegation_request_invalid", "goal")
	refuse("bg/B04 blank", q("goal", `" \n"`, "task", `""`), CodeRequest, "goal")
	refuse("goal no text", q("goal", `["x"]`), CodeRequest, "goal")
	refuse("task no text", q("task", `7`), CodeRequest, "task")
	for _, key := range []string{"target", "context", "execution", "orchestrator", "metadata"} {
		refuse("bg/B06 "+key, q(key, `[]`), CodeRequest, key)
		refuse("text for "+key, q(key, `"x"`), CodeRequest, key)
	}
	refuse("bg/B07", q("expected_artifacts", `{}`), CodeRequest, "expected_artifacts")
	for _, bad := range []string{`"not-a-sha256"`, `"` + aaaa[1:] + `"`, `"` + aaaa[1:] + `g"`, `""`, `null`, `1`, `[]`, `"` + aaaa + `a"`} {
		refuse("bg/B08 "+bad, q("source_digest", bad), "wp_codebox_host_delegation_source_digest_invalid", "source_digest")
	}
	for _, bad := range []string{
		`{"algorithm":"sha512","value":"` + aaaa + `"}`, `{"algorithm":"SHA256","value":"` + aaaa + `"}`, `{"algorithm":1,"value":"` + aaaa + `"}`, `{"algorithm":"sha256"}`,
		`{"value":"` + aaaa + `","hash":"` + aaaa + `"}`, `{"value":["` + aaaa + `"]}`, `{}`,
	} {
		refuse("bg/B10 "+bad, q("source_digest", bad), CodeDigest, "source_digest")
	}
	for _, bad := range []string{`"r 1"`, `"-r"`, `"r/1"`, `"ré"`, `7`, `null`, `"` + strings.Repeat("r", 129) + `"`} {
		refuse("id "+bad, q("request_id", bad), CodeRequest, "request_id")
		refuse("session "+bad, q("sandbox_session_id", bad), CodeRequest, "sandbox_session_id")
	}
	refuse("two ids", q("id", `"r2"`), CodeRequest, "id")
	for _, bad := range []string{`[]`, `null`, `"x"`, `1`} {
		refuse("no object: "+bad, bad, CodeRequest, "")
	}
	t.Run("all faults are listed, the first one counts", func(t *testing.T) {
		v := do(t, never, q("goal", "", "metadata", "[]", "context", "1", "source_digest", "1", "expected_artifacts", "1", "request_id", "1"))
		var fields []string
		for _, i := range v.Get("error").Get("data").Get("issues").Items {
			fields = append(fields, text(&i, "field"))
		}
		if got := strings.Join(fields, " "); got != "request_id goal context metadata expected_artifacts source_digest" || text(v, "error", "code") != CodeRequest {
			t.Errorf("%s: %q", text(v, "error", "code"), got)
		}
	})
	t.Run("another session than the caller's", func(t *testing.T) {
		d := with(t, Options{Adapter: silent(t), Session: "sB"})
		fails(t, do(t, d, q()), Failed, CodeScopeMismatch)
	})
}

// TestGood are the vectors of requests that the adapter gets.
func TestGood(t *testing.T) {
	var got Request
	d := with(t, Options{Adapter: adapter(func(_ context.Context, r Request) (json.RawMessage, error) {
		got = r
		r.Value.Members[0].Value.Text = "changed" // its own copy
		return json.RawMessage(fmt.Sprintf(`{"schema":%q,"success":true,"status":"completed","request_id":%q,"result":{"ok":1}}`, ResultSchema, r.ID)), nil
	})})
	take := func(id, request string, more func(t *testing.T, v *strictjson.Value)) {
		t.Run(id, func(t *testing.T) {
			got = Request{}
			v := do(t, d, request)
			if text(v, "status") != "completed" || text(v, "result", "ok") != "1" || text(v, "request", "schema") != RequestSchema {
				t.Errorf("got %s", text(v))
			}
			more(t, v)
		})
	}
	take("bg/B01", q(), func(t *testing.T, v *strictjson.Value) {
		if text(v, "request_id") != "r1" || text(v, "session_id") != "sA" || got.Goal != "Check" || got.Digest != aaaa {
			t.Errorf("%+v, %s", got, text(v))
		}
	})
	take("bg/B02", q("schema", ""), func(t *testing.T, _ *strictjson.Value) {
		if text(&got.Value, "schema") == "absent" {
			t.Error("the schema was not filled in")
		}
	})
	take("bg/B05", q("goal", `""`, "task", `"x"`), func(t *testing.T, _ *strictjson.Value) {
		if got.Goal != "" || got.Task != "x" {
			t.Errorf("%+v", got)
		}
	})
	take("bg/B09", q("source_digest", `"  `+strings.ToUpper(aaaa)+`\n"`), func(t *testing.T, v *strictjson.Value) {
		if got.Digest != aaaa || text(v, "request", "source_digest") != aaaa {
			t.Errorf("%q, %s", got.Digest, text(v, "request", "source_digest"))
		}
	})
	for _, key := range []string{"value", "sha256", "hash"} {
		take("digest under "+key, q("source_digest", `{"algorithm":"sha256","`+key+`":"`+strings.ToUpper(aaaa)+`"}`), func(t *testing.T, _ *strictjson.Value) {
			if got.Digest != aaaa {
				t.Errorf("%q", got.Digest)
			}
		})
	}
	take("other keys pass", q("extra", `{"n":1.50}`), func(t *testing.T, v *strictjson.Value) {
		if text(&got.Value, "extra", "n") != "1.50" || text(v, "request", "extra", "n") != "1.50" {
			t.Errorf("%s", text(v))
		}
	})
	take("an id is made", q("request_id", `""`), func(t *testing.T, v *strictjson.Value) {
		id := text(v, "request_id")
		if !validID(id) || got.ID != id || text(v, "request", "request_id") != id {
			t.Errorf("%q, %+v", id, got)
		}
	})
	take("ids by their other names", q("request_id", "", "id", `"x.9"`, "sandbox_session_id", "", "session_id", `"sZ"`), func(t *testing.T, v *strictjson.Value) {
		if got.ID != "x.9" || got.Session != "sZ" || text(v, "session_id") != "sZ" {
			t.Errorf("%+v", got)
		}
	})
	take("orchestrator", q("orchestrator", `{"name":"o"}`), func(t *testing.T, v *strictjson.Value) {
		if text(v, "orchestrator", "name") != "o" {
			t.Errorf("%s", text(v))
		}
	})
	bound := with(t, Options{Adapter: says(`{"session_id":"sB"}`), Session: "sB"})
	if v := do(t, bound, q("sandbox_session_id", "")); text(v, "status") != "completed" || text(v, "session_id") != "sB" {
		t.Errorf("bound: %s", text(v))
	}
}
