package bridge

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"brainbox/bridge/envelope"
)

const toolName, allowedTools = `"tool":"workspace.read"`, `["workspace.read"]`

// vector is a changed request and what becomes of it.
type vector struct {
	name    string
	replace []string
	want    string
}

func vectors() []vector {
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	input := `{"path":"README.md"}`
	return []vector{
		{"bg/A04 not listed", []string{toolName, `"tool":"workspace.write"`}, "denied/tool_not_allowed"},
		{"bg/A05 claims what is not listed", []string{toolName, `"tool":"workspace.write"`, allowedTools, `["workspace.read","workspace.write"]`}, "denied/allowlist_mismatch"},
		{"bg/A06 another case", []string{toolName, `"tool":"Workspace.Read"`}, "denied/tool_not_allowed"},
		{"bg/A07 homoglyph", []string{toolName, `"tool":"wоrkspace.read"`}, "field_invalid"},
		{"bg/A11 duplicate key", []string{`"operation":`, `"tool":"workspace.write","operation":`}, "duplicate_key"},
		{"bg/A12 duplicate key, escaped", []string{`"operation":`, `"\u0074ool":"workspace.read","operation":`}, "duplicate_key"},
		{"bg/A13 key in another case", []string{`"tool":`, `"Tool":`}, "unknown_field"},
		{"bg/A14 key that folds to a known one", []string{`"schema":`, `"ſchema":`}, "unknown_field"},
		{"bg/A15 duplicate key in the input", []string{input, `{"a":1,"a":1}`}, "duplicate_key"},
		{"bg/A16 __proto__", []string{input, `{"__proto__":{}}`}, "unknown_field"},
		{"bg/A17 version 2", []string{`"version":1`, `"version":2`}, "version_unsupported"},
		{"bg/A17 version 1.0", []string{`"version":1`, `"version":1.0`}, "version_unsupported"},
		{"bg/A17 version as text", []string{`"version":1`, `"version":"1"`}, "version_unsupported"},
		{"bg/A17 version null", []string{`"version":1`, `"version":null`}, "version_unsupported"},
		{"bg/A18 another schema", []string{"request/v1", "request/v2"}, "schema_invalid"},
		{"bg/A19 schema of the sandbox's own tools", []string{"parent-tool-request", "tool-bridge"}, "schema_invalid"},
		{"bg/A20 no input", []string{`"input":` + input + `,`, ``}, "field_invalid"},
		{"bg/A20 input null", append([]string{input, `null`}, id("null")...), "succeeded"},
		{"bg/A21 no metadata", []string{`,"metadata":{}`, ``}, "field_invalid"},
		{"bg/A24 raw byte", []string{"README.md", "a\xff"}, "encoding_invalid"},
		{"bg/A24 lone surrogate", []string{"README.md", `\ud800`}, "encoding_invalid"},
		{"bg/A25 65 arrays", []string{input, deep}, "too_complex"},
		{"bg/A27 another session", []string{`"s1"`, `"s2"`}, "denied/session_mismatch"},
		{"esc/BR-04 ../tool", []string{toolName, `"tool":"../tool"`}, "field_invalid"},
		{"esc/BR-04 absolute path", []string{toolName, `"tool":"/bin/sh"`}, "field_invalid"},
		{"esc/BR-04 empty", []string{toolName, `"tool":""`}, "field_invalid"},
		{"esc/BR-04 unknown", []string{toolName, `"tool":"sh"`}, "denied/tool_not_allowed"},
		{"esc/BR-04 with a path behind it", []string{toolName, `"tool":"workspace.read/../../x"`}, "denied/tool_not_allowed"},
		{"esc/BR-08 env of the request", []string{`"operation":`, `"env":{"LD_PRELOAD":"x"},"operation":`}, "unknown_field"},
		{"esc/BR-08 cwd of the request", []string{`"operation":`, `"cwd":"/","operation":`}, "unknown_field"},
		{"esc/BR-08 stdin of the request", []string{`"operation":`, `"stdin":"x","operation":`}, "unknown_field"},
		{"operation that the tool has not", []string{toolName, `"tool":"jobs"`, `"call"`, `"drop"`}, "denied/operation_not_allowed"},
		{"capability that the tool has not", []string{toolName, `"tool":"jobs"`}, "denied/capability_denied"},
		{"bg/A83 a rule denies", append([]string{toolName, `"tool":"forbidden"`}, id("rule")...), "denied/permission_denied"},
		{"a rule denies the operation", append([]string{
			toolName, `"tool":"jobs"`, `"call"`, `"delete"`, allowedTools, `["jobs"],"capability":"read"`,
		}, id("operation")...), "denied/permission_denied"},
		{"bg/A84 nobody to ask", append([]string{toolName, `"tool":"asked"`}, id("ask")...), "unavailable/confirmation_unavailable"},
	}
}

// What is refused is not dispatched; what the same connection then asks for is.
func TestVectors(t *testing.T) {
	for i, tt := range vectors() {
		t.Run(tt.name, func(t *testing.T) {
			s := newStand(t)
			p := s.agent()
			r := request(t, tt.replace...)
			got := p.call("tool.call", r)
			if word(got) != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
			if n, _ := s.count(); tt.want != "succeeded" && n != 0 {
				t.Error("it was dispatched")
			}
			control := p.call("tool.call", request(t, id("control"+strconv.Itoa(i))...)) // bg/A01
			if word(control) != "succeeded" {
				t.Errorf("the control: %v", control)
			}
		})
	}
}

func TestCallIsDispatchedAndEchoed(t *testing.T) {
	s := newStand(t)
	p := s.agent()
	got := p.call("tool.call", base)
	r, _ := got["result"].(object)
	if word(got) != "succeeded" || r["request_id"] != "ptr_1" || r["tool"] != "workspace.read" || r["operation"] != "call" {
		t.Fatalf("bg/A01: %v", got)
	}
	if out, _ := r["output"].(object); out["path"] != "README.md" {
		t.Errorf("output %v", r["output"])
	}
	if a, _ := r["artifacts"].(object); len(a["transcripts"].([]any)) != 1 { //nolint:forcetypeassert // a panic fails the test
		t.Errorf("artifacts %v", a)
	}
	if n, m := s.count(); n != 1 || m != 1 || len(s.transcripts()) != 1 || !s.recorded()[0].Decision.Allowed {
		t.Errorf("dispatched %d, recorded %d, %d transcripts", n, m, len(s.transcripts()))
	}
}

func TestReplays(t *testing.T) {
	t.Run("bg/A28 after the first", func(t *testing.T) {
		s := newStand(t)
		p := s.agent()
		if got := p.call("tool.call", base); word(got) != "succeeded" {
			t.Fatalf("the control: %v", got)
		}
		for _, q := range []*peer{p, s.agent()} { // esc/BR-12: on another connection too
			if got := q.call("tool.call", base); word(got) != "denied/request_replayed" {
				t.Errorf("%v", got)
			}
		}
		if n, _ := s.count(); n != 1 {
			t.Errorf("dispatched %d times", n)
		}
	})
	t.Run("bg/A29 during the first", func(t *testing.T) {
		s := newStand(t)
		release := make(chan struct{})
		s.answers(func(_ context.Context, r *envelope.Request) *envelope.Result { <-release; return r.Succeed(nil) })
		p, q := s.agent(), s.agent()
		first := p.begin("tool.call", base)
		eventually(t, "the first is dispatched", func() bool { n, _ := s.count(); return n == 1 })
		if got := q.call("tool.call", base); word(got) != "denied/request_replayed" {
			t.Errorf("%v", got)
		}
		close(release)
		if got := p.await(first); word(got) != "succeeded" {
			t.Errorf("the first: %v", got)
		}
	})
	t.Run("no more can be remembered", func(t *testing.T) {
		s := newStand(t, func(c *Config) { c.Limits.Replays = 1 })
		p := s.agent()
		if got := p.call("tool.call", base); word(got) != "succeeded" {
			t.Fatalf("the control: %v", got)
		}
		got := p.call("tool.call", request(t, id("ptr_2")...))
		r, _ := got["result"].(object)
		if e, _ := r["error"].(object); word(got) != "unavailable/overloaded" || e["retryable"] != false {
			t.Errorf("%v", got)
		}
		if got := p.call("tool.call", base); word(got) != "denied/request_replayed" {
			t.Errorf("%v", got)
		}
	})
}

func TestWithoutABridge(t *testing.T) {
	s := newStand(t, func(c *Config) { c.Parent = nil })
	p := s.agent()
	for i, r := range []string{base, request(t, append(id("2"), toolName, `"tool":"x"`)...)} {
		if got := p.call("tool.call", r); word(got) != "unavailable/bridge_not_configured" {
			t.Errorf("bg/A30 %d: %v", i, got)
		}
	}
	for status, want := range map[envelope.Status]string{"": "unavailable", envelope.Denied: "denied"} {
		s := newStand(t, func(c *Config) { c.Parent.Dispatcher, c.Parent.NotReady = nil, status })
		if got := s.agent().call("tool.call", base); word(got) != want+"/bridge_not_configured" {
			t.Errorf("without a dispatcher: %v", got)
		}
	}
}
