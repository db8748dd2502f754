package event

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/golden")

// noon is the wall clock of the tests.
func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 5e6, time.UTC) }

// all returns what is kept, one line each: topic, number and data.
func all(t *testing.T, h *Hub) string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, e := range h.ring {
		b.WriteString(string(e.Topic) + " " + e.Data + "\n")
	}
	return b.String()
}

var idPattern = regexp.MustCompile(`perm-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

// TestPayloadsAreGolden holds the JSON of every topic.
func TestPayloadsAreGolden(t *testing.T) {
	h := New(Options{Session: "s1", Capabilities: []string{"prompt", "check"}, Now: noon})
	h.Ready()
	h.Publish(UIPrompt{
		RequestID: "perm-1", Source: "tool_call", Surface: "bash", Value: "npm publish", AgentName: "planner", Digest: "ab",
		Request: []Fact{{Name: "cwd", Text: "/w"}, {Name: "message", Text: "please\nhurry", Agent: true}},
	})
	h.Publish(UIPrompt{RequestID: "perm-2", Source: "rpc_prompt", Surface: "read", Value: ".env"})
	h.Begin(Request{ClientRequestID: "c7", Surface: "bash", Value: "npm publish", AgentName: "planner"}).
		Decide(Verdict{Resolution: PolicyDeny, Origin: "project", MatchedPattern: "npm *"})
	h.Begin(Request{Surface: "bash", Value: "ls"}).Decide(Verdict{Resolution: UserApproved, AnsweredBy: "terminal", Value: "ls -l"})
	h.Begin(Request{}).End()
	h.Publish(PromptClosed{RequestID: "perm-1", Reason: "caller_gone", Shown: true})
	h.Publish(Call{RequestID: "perm-1", Tool: "bash", Operation: "call", Status: "succeeded", DurationMS: 12})
	h.Publish(Call{RequestID: "perm-1", ClientRequestID: "c7", Tool: "bash", Operation: "call", Status: "denied", ErrorCode: "user_denied"})
	h.Publish(PolicyError{Origin: "project", Message: "line 3: duplicate key"})
	g := h.gapEvent(4, 9, 2)
	got := idPattern.ReplaceAllString(all(t, h), "perm-ID") + string(g.Topic) + " " + g.Data + "\n"
	golden(t, "payloads", got)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// TestEveryPathShowsTheSame is esc/GT-07: what goes to a log, a card or a notification is
// escaped and redacted where it is published, in every member of every topic.
func TestEveryPathShowsTheSame(t *testing.T) {
	const own = "a\x1b[2K\u202e\xff *** \n" // ids and our own words are escaped, and not redacted
	const evil = "a\x1b[2K\u202e\xff hunter2 \n"
	h := New(Options{
		Session: evil, Capabilities: []string{evil}, Now: noon,
		Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") },
	})
	h.Ready()
	h.Publish(UIPrompt{
		RequestID: own, Source: own, Surface: evil, Value: evil, AgentName: evil, Digest: own,
		Request: []Fact{{Name: evil, Text: evil, Agent: true}},
	})
	h.Publish(PromptClosed{RequestID: own, Reason: own})
	h.Publish(Call{own, evil, evil, evil, evil, evil, 1})
	h.Publish(PolicyError{evil, evil})
	h.Begin(Request{evil, evil, evil, evil}).Decide(Verdict{PolicyDeny, evil, evil, evil, evil})
	got := all(t, h)
	if strings.Contains(got, "hunter2") || strings.ContainsAny(got, "\x1b\u202e") || !utf8.ValidString(got) || strings.Contains(got, `\u001b`) {
		t.Errorf("raw text: %s", got)
	}
	const shown = `a\\x1b[2K\\u{202e}\\xff *** \\n`
	if n := strings.Count(got, shown); n != 2+9+3+7+3+8 {
		t.Errorf("the text is shown %d times: %s", n, got)
	}
}

// TestValueIsBounded: 1000 characters, redacted before it is cut, the end kept.
func TestValueIsBounded(t *testing.T) {
	h := New(Options{Now: noon, Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "*") }})
	h.Begin(Request{Surface: "bash", Value: strings.Repeat("secret", 2000) + "; rm -rf ~"}).Decide(Verdict{Resolution: PolicyDeny})
	got := all(t, h)
	if len(got) > 1000+500 || !strings.Contains(got, `; rm -rf ~","result":"deny"`) || strings.Contains(got, "sec") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	h = New(Options{Now: noon, Redact: func(string) string { panic("no") }})
	h.Begin(Request{Surface: "bash", Value: "secret"}).Decide(Verdict{Resolution: PolicyAllow})
	if got := all(t, h); strings.Contains(got, "secret") || !strings.Contains(got, `"result":"allow"`) {
		t.Errorf("a redactor that fails: %s", got)
	}
}

// TestOneDecision: the first verdict counts, and no verdict is a denial (bg/D52).
func TestOneDecision(t *testing.T) {
	h := New(Options{Now: noon})
	r := h.Begin(Request{Surface: "bash"})
	if !r.Claim() || r.Claim() {
		t.Error("a request is put before people once")
	}
	if !r.Decide(Verdict{Resolution: UserDenied}) || r.Decide(Verdict{Resolution: PolicyAllow}) {
		t.Error("the first verdict counts, and no other")
	}
	r.End()
	if got := all(t, h); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"resolution":"user_denied"`) {
		t.Errorf("decisions: %s", got)
	}
	if r := h.Begin(Request{}); !r.Decide(Verdict{}) || r.Claim() {
		t.Error("what is decided can be put before people")
	}
	func() {
		r := h.Begin(Request{Surface: "bash"})
		defer func() { _ = recover() }()
		defer r.End()
		panic("a fault in the gate")
	}()
	lines := strings.Split(strings.TrimSpace(all(t, h)), "\n")
	if len(lines) != 3 || !strings.Contains(lines[2], `"result":"deny","resolution":"gate_error"`) || !strings.Contains(lines[2], `"decidedBy":"gate_error"`) {
		t.Errorf("after a panic: %q", lines)
	}
}

// TestResolutions is the mapping of the contract.
func TestResolutions(t *testing.T) {
	for _, c := range []struct {
		r       Resolution
		allowed bool
		by      string
	}{
		{PolicyAllow, true, "rule"},
		{PolicyDeny, false, "rule"},
		{SessionApproved, true, "session_approval"},
		{InfrastructureAutoAllowed, true, "infrastructure_read"},
		{UserApproved, true, "user"},
		{UserApprovedForSession, true, "user"},
		{UserDenied, false, "user"},
		{AutoApproved, true, "auto"},
		{ConfirmationUnavailable, false, "unavailable"},
		{AuthorizerAllowed, true, "authorizer"},
		{AuthorizerDenied, false, "authorizer"},
		{GateError, false, "gate_error"},
		{WriteProtected, false, "write_protection"},
		{"", false, "gate_error"},
		{"user_approved ", false, "gate_error"},
	} {
		if c.r.Allowed() != c.allowed || c.r.DecidedBy() != c.by {
			t.Errorf("%q: %v by %q", c.r, c.r.Allowed(), c.r.DecidedBy())
		}
	}
}

// TestManyFacts: one request cannot take the place of all events that are kept.
func TestManyFacts(t *testing.T) {
	hub := New(Options{Session: "s1"})
	hub.Begin(Request{Surface: "bash", Value: "the first"}).End()
	facts := make([]Fact, 100_000)
	for i := range facts {
		facts[i] = Fact{Name: "sets", Text: "\x01" + strconv.Itoa(i)}
	}
	for range 20 {
		hub.Publish(UIPrompt{RequestID: "perm-1", Request: facts})
	}
	since := uint64(0)
	sub, err := hub.Subscribe(Subscribe{Since: &since})
	if err != nil {
		t.Fatal(err)
	}
	e, err := sub.Next(t.Context())
	if err != nil || e.Topic != TopicDecision || !strings.Contains(e.Data, "the first") {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err = sub.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"\\x010"`, `"\\x0141"`, `{"name":"facts","text":"\\{99937 more rows}","agent":false}`, `"\\x0199979"`, `"\\x0199999"`} {
		if !strings.Contains(e.Data, want) {
			t.Errorf("%s is not in %s", want, e.Data)
		}
	}
	for _, not := range []string{`"\\x0142"`, `"\\x0199978"`} {
		if strings.Contains(e.Data, not) {
			t.Errorf("%s is in it", not)
		}
	}
	sub.Close()
}
