package bridge

import (
	"strconv"
	"strings"
	"testing"

	"brainbox/gate/prompt"
)

// events reads notifications until one of a topic comes, and returns its data.
func (p *peer) event(topic string) object {
	p.t.Helper()
	for {
		m := p.read()
		if m["closed"] == true {
			p.t.Fatalf("no event %s", topic)
		}
		if params, _ := m["params"].(object); m["method"] == "event" && params["topic"] == topic {
			data, _ := params["data"].(object)
			return data
		}
	}
}

func TestPermissionCheck(t *testing.T) {
	s := newStand(t, many)
	p := s.agent()
	for _, tt := range []struct{ name, params, want string }{
		{"bg/D42 without a surface", `{"value":"x"}`, "field_invalid"},
		{"unknown field", `{"surface":"bash","Value":"x"}`, "unknown_field"},
		{"bg/D41 an unknown surface", `{"surface":"nope"}`, "surface_unknown"},
		{"bg/D40 as the gate", `{"surface":"bash","value":"cd / && npm i"}`, "deny"},
		{"asked", `{"surface":"bash","value":"make","agentName":"x"}`, "ask"},
		{"allowed", `{"surface":"bash","value":"ls -l"}`, "allow"},
	} {
		got := p.call("permission.check", tt.params)
		r, _ := got["result"].(object)
		result, _ := r["result"].(string)
		if word(got)+result != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
		if result == "deny" && r["matchedPattern"] != "npm *" {
			t.Errorf("%s: %v", tt.name, r)
		}
	}
	if n, m := s.count(); n != 0 || m != 0 || len(s.broker.List()) != 0 {
		t.Error("a check had an effect")
	}
}

func TestPermissionPrompt(t *testing.T) {
	const ask = `{"surface":"bash","value":"make","message":"please\u001b[2J","agentName":"x"}`
	s := newStand(t)
	p := s.agent()
	if got := p.call("permission.prompt", ask); word(got) != "no_ui" { // bg/D43
		t.Errorf("bg/D43: %v", got)
	}
	if got := p.call("permission.prompt", `{"surface":"bash"}`); word(got) != "field_invalid" {
		t.Errorf("without a value: %v", got)
	}
	ui := s.ui()
	ui.call("events.subscribe", `{"topics":["permissions:ui_prompt"]}`)
	for _, tt := range []struct{ answer, state, reason string }{
		{`"decision":"deny"`, "denied", ""},
		{`"decision":"deny","reason":"not now"`, "denied_with_reason", "not now"}, // bg/D46
		{`"decision":"approve"`, "approved", ""},                                  // bg/D44
	} {
		id := p.begin("permission.prompt", ask)
		shown := ui.event("permissions:ui_prompt")
		if shown["source"] != "rpc_prompt" {
			t.Errorf("%v", shown)
		}
		params := `{"requestId":"` + shown["requestId"].(string) + `","digest":"` + s.broker.List()[0].Digest.String() + `",` + tt.answer + `}` //nolint:forcetypeassert // a panic fails the test
		if got := ui.call("prompt.answer", params); got["result"] == nil {
			t.Fatalf("%v", got)
		}
		r, _ := p.await(id)["result"].(object)
		reason, _ := r["denialReason"].(string)
		if r["state"] != tt.state || r["approved"] != (tt.state == "approved") || reason != tt.reason || r["requestId"] != shown["requestId"] {
			t.Errorf("%s: %v", tt.answer, r)
		}
	}
	// The answer is advice: the call itself is asked about anew.
	p.begin("tool.call", request(t, toolName, `"tool":"asked"`))
	if shown := ui.event("permissions:ui_prompt"); shown["source"] != "tool_call" {
		t.Errorf("%v", shown)
	}
}

func TestPromptsAreAnsweredOnce(t *testing.T) {
	s := newStand(t)
	p, ui := s.agent(), s.ui()
	ui.call("prompt.list", `{}`) // prompts wait
	first := p.begin("tool.call", request(t, toolName, `"tool":"asked"`))
	var prompts []any
	eventually(t, "it is listed", func() bool {
		r, _ := ui.call("prompt.list", `{}`)["result"].(object)
		prompts, _ = r["prompts"].([]any)
		return len(prompts) == 1
	})
	v, _ := prompts[0].(object)
	digest, _ := v["digest"].(string)
	requestID, _ := v["requestId"].(string)
	if v["source"] != "tool_call" || v["editable"] != true || v["cut"] != false || v["input"] == nil || len(v["rows"].([]any)) < 3 { //nolint:forcetypeassert // a panic fails the test
		t.Errorf("%v", v)
	}
	answer := func(rest string) string { return `{"requestId":"` + requestID + `",` + rest + `}` }
	own, other := `"digest":"`+digest+`"`, `"digest":"`+strings.Repeat("0", 64)+`"`
	for _, tt := range []struct{ params, want string }{
		{answer(other + `,"decision":"approve"`), "stale_prompt"}, // bg/D57
		{answer(own + `,"decision":"yes"`), "field_invalid"},
		{answer(own + `,"decision":"approve","scope":"whole_session"`), "field_invalid"},
		{answer(own + `,"decision":"approve","reason":"x"`), "field_invalid"},
		{answer(own + `,"decision":"approve","editedInput":[]`), "field_invalid"},
		{answer(own + `,"decision":"approve","editedInput":{"__proto__":1}`), "unknown_field"},
		{answer(own + `,"decision":"approve","Scope":"x"`), "unknown_field"},
		{answer(`"decision":"approve","digest":"x"`), "field_invalid"},
		{answer(own + `,"decision":"approve_session","forMs":0`), "field_invalid"},
		{answer(own + `,"decision":"approve_session","scope":"whole_session"`), ""}, // bg/D45
		{answer(own + `,"decision":"deny"`), "stale_prompt"},                        // bg/D50
	} {
		got := ui.call("prompt.answer", tt.params)
		if word(got) != tt.want {
			t.Errorf("%s: %v, want %q", tt.params, got, tt.want)
		}
	}
	if got := p.await(first); word(got) != "succeeded" {
		t.Errorf("%v", got)
	}
	if got := p.call("tool.call", request(t, `"ptr_1"`, `"2"`, toolName, `"tool":"asked"`)); word(got) != "succeeded" || s.recorded()[1].Decision.Resolution != "session_approved" {
		t.Errorf("bg/D45: %v", got)
	}
	grants(t, s, p, ui)
}

// grants takes back what was approved for the session.
func grants(t *testing.T, s *stand, p, ui *peer) {
	t.Helper()
	r, _ := ui.call("grants.list", `{}`)["result"].(object)
	all, _ := r["grants"].([]any)
	if len(all) != 1 {
		t.Fatalf("%v", r)
	}
	g, _ := all[0].(object)
	if g["surface"] != "asked" || g["wholeSession"] != true || g["leftMs"] != nil {
		t.Errorf("%v", g)
	}
	for _, tt := range []struct{ id, want string }{{`1`, "field_invalid"}, {`"x"`, "field_invalid"}, {`"-1"`, "field_invalid"}} {
		if got := ui.call("grants.revoke", `{"id":`+tt.id+`}`); word(got) != tt.want {
			t.Errorf("%s: %v", tt.id, got)
		}
	}
	for _, want := range []bool{true, false} {
		r, _ := ui.call("grants.revoke", `{"id":"`+g["id"].(string)+`"}`)["result"].(object) //nolint:forcetypeassert // a panic fails the test
		if r["revoked"] != want {
			t.Errorf("%v, want %v", r, want)
		}
	}
	_ = ui.conn.Close()
	eventually(t, "the operator is gone", func() bool { s.s.mu.Lock(); defer s.s.mu.Unlock(); return s.s.uis == 0 })
	if got := p.call("tool.call", request(t, `"ptr_1"`, `"3"`, toolName, `"tool":"asked"`)); word(got) != "unavailable/confirmation_unavailable" {
		t.Errorf("after it was revoked: %v", got)
	}
}

func TestSubscriptions(t *testing.T) {
	s := newStand(t)
	p, ui := s.agent(), s.ui()
	p.call("tool.call", base)
	for _, tt := range []struct{ params, want string }{
		{`{}`, "field_invalid"},
		{`{"topics":["nope"]}`, "field_invalid"},
		{`{"topics":[],"since":-1}`, "field_invalid"},
		{`{"topics":[],"Since":1}`, "unknown_field"},
	} {
		if got := ui.call("events.subscribe", tt.params); word(got) != tt.want {
			t.Errorf("%s: %v", tt.params, got)
		}
	}
	s.hub.Ready()
	r, _ := ui.call("events.subscribe", `{"topics":[],"since":0}`)["result"].(object)
	if r["ready"] != true || r["seq"] != 3.0 {
		t.Errorf("%v", r)
	}
	// bg/D54: who comes late gets ready, and what was.
	for _, topic := range []string{"permissions:ready", "permissions:decision", "bridge:call"} {
		params, _ := ui.read()["params"].(object)
		if params["topic"] != topic || params["time"] == nil {
			t.Errorf("%v, want %s", params, topic)
		}
	}
	if got := ui.call("events.subscribe", `{"topics":[]}`); word(got) != "field_invalid" {
		t.Errorf("twice: %v", got)
	}
	p.call("tool.call", base)
	if data := ui.event("bridge:call"); data["error"] != "request_replayed" || data["clientRequestId"] != "ptr_1" {
		t.Errorf("%v", data)
	}
}

// A user interface that does not read gets a gap, and delays nobody.
func TestSlowUserInterface(t *testing.T) {
	s := newStand(t, many)
	ui, p := s.ui(), s.agent()
	ui.call("events.subscribe", `{"topics":["permissions:decision"]}`)
	long := strings.Repeat("x", 800)
	for i := range 2500 {
		if got := p.call("tool.call", request(t, `"ptr_1"`, `"r`+strconv.Itoa(i)+`"`, `"call"`, `"call"`, `README.md`, long)); word(got) != "succeeded" {
			t.Fatalf("%v", got)
		}
	}
	if data := ui.event("events:gap"); data["dropped"] == 0.0 || data["from"] == nil {
		t.Errorf("%v", data)
	}
}

// A prompt whose facts do not fit into a frame is listed in short, and says so.
func TestLongPrompts(t *testing.T) {
	s := newStand(t)
	p, ui := s.agent(), s.ui()
	ui.call("prompt.list", `{}`) // prompts wait
	p.begin("tool.call", request(t, toolName, `"tool":"asked"`, `README.md`, strings.Repeat(`\u202e`, 100_000)))
	var prompts []any
	eventually(t, "it is listed", func() bool {
		r, _ := ui.call("prompt.list", `{}`)["result"].(object)
		prompts, _ = r["prompts"].([]any)
		return len(prompts) == 1
	})
	if v, _ := prompts[0].(object); v["cut"] != true || v["input"] != nil {
		t.Errorf("cut %v", v["cut"])
	}
}

// esc/BR-12, section E.8: at the end of a session prompts are nobody's answer.
func TestShutdownSettlesPrompts(t *testing.T) {
	s := newStand(t)
	p, ui := s.agent(), s.ui()
	ui.call("events.subscribe", `{"topics":["permissions:ui_prompt","permissions:prompt_closed"]}`)
	first := p.begin("tool.call", request(t, toolName, `"tool":"asked"`))
	ui.event("permissions:ui_prompt")
	go func() { _ = s.s.Shutdown(t.Context()) }()
	if got := p.await(first); word(got) != "unavailable/shutting_down" {
		t.Errorf("%v", got)
	}
	if data := ui.event("permissions:prompt_closed"); data["reason"] != string(prompt.ShuttingDown) {
		t.Errorf("%v", data)
	}
	if s.recorded()[0].Decision.Resolution != "confirmation_unavailable" {
		t.Errorf("%v", s.recorded()[0].Decision.Resolution)
	}
}

// bg/D47: nobody's answer in time is no denial of a person's.
func TestPromptTimeout(t *testing.T) {
	s := newStandFor(t, prompt.LeastTimeout)
	p, ui := s.agent(), s.ui()
	ui.call("events.subscribe", `{"topics":["permissions:ui_prompt"]}`)
	got := p.call("tool.call", request(t, toolName, `"tool":"asked"`))
	if n, _ := s.count(); word(got) != "timeout/prompt_timeout" || n != 0 || s.recorded()[0].Decision.Resolution != "confirmation_unavailable" {
		t.Errorf("%v", got)
	}
}

// An agent that dies takes its prompt with it.
func TestCallerGoneDuringPrompt(t *testing.T) {
	s := newStand(t)
	p, ui := s.agent(), s.ui()
	ui.call("events.subscribe", `{"topics":["permissions:ui_prompt","permissions:prompt_closed"]}`)
	p.begin("tool.call", request(t, toolName, `"tool":"asked"`))
	shown := ui.event("permissions:ui_prompt")
	digest := s.broker.List()[0].Digest.String()
	_ = p.conn.Close()
	if data := ui.event("permissions:prompt_closed"); data["reason"] != "caller_gone" {
		t.Errorf("%v", data)
	}
	got := ui.call("prompt.answer", `{"requestId":"`+shown["requestId"].(string)+`","decision":"approve","digest":"`+digest+`"}`) //nolint:forcetypeassert // a panic fails the test
	if n, _ := s.count(); word(got) != "stale_prompt" || n != 0 {
		t.Errorf("%v, dispatched %d times", got, n)
	}
}
