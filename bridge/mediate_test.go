package bridge

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"brainbox/internal/procfs"

	"brainbox/bridge/tool"
	"brainbox/gate"
	"brainbox/internal/strictjson"
)

// note is a tool that is carried out here: it keeps its text.
type note struct {
	name, surface string
	plans, done   atomic.Int32
	fail          error
	panics        bool
	last          atomic.Value // string
	digests       atomic.Int32 // decisions that were spent when Do ran
	drift         bool         // a second plan reads otherwise
}

func (n *note) Name() string    { return n.name }
func (n *note) Surface() string { return n.surface }

func (n *note) Plan(input *strictjson.Value) (tool.Planned, error) {
	f := strictjson.Bind(input, "text")
	text := f.String("text")
	if err := f.Err(); err != nil {
		return nil, &tool.Refusal{Code: "invalid_request", Message: "no text"}
	}
	p := &plannedNote{n: n, text: text, value: text}
	if k := n.plans.Add(1); n.drift && k > 2 {
		p.value += "?"
	}
	return p, nil
}

type plannedNote struct {
	n           *note
	text, value string
}

func (p *plannedNote) Reading() gate.Reading { return gate.Reading{Value: p.value} }
func (p *plannedNote) Locks() []string       { return []string{"note"} }

func (p *plannedNote) Do(_ context.Context, d *gate.Decision) (*strictjson.Value, error) {
	p.n.done.Add(1)
	p.n.last.Store(p.text)
	if d.Allowed && d.Value == p.value {
		p.n.digests.Add(1)
	}
	if p.n.panics {
		panic("/home/op/secret")
	}
	v := strictjson.Text(p.text)
	return &v, p.n.fail
}

// noteRequest is a request for the tool, with an input.
func noteRequest(t testing.TB, requestID, name, input string) string {
	t.Helper()
	return request(t, append(id(requestID), toolName, `"tool":"`+name+`"`, `{"path":"README.md"}`, input, allowedTools, `["`+name+`"]`)...)
}

func withTool(n *note) func(*Config) { return func(c *Config) { c.Tools = append(c.Tools, n) } }

func TestToolsThatAreCarriedOutHere(t *testing.T) {
	for _, tt := range []struct {
		name, input, want string
		n                 *note
		replace           []string
	}{
		{"invalid input", `{"Text":"x"}`, "failed/invalid_request", &note{name: "note"}, nil},
		{"esc/BR-08 env of the input", `{"text":"x","env":{"A":"1"}}`, "failed/invalid_request", &note{name: "note"}, nil},
		{"another operation", `{"text":"x"}`, "denied/operation_not_allowed", &note{name: "note"}, []string{`"call"`, `"drop"`}},
		{"bg/A83 a rule denies", `{"text":"npm i"}`, "denied/permission_denied", &note{name: "run", surface: "bash"}, nil},
		{"bg/A84 nobody to ask", `{"text":"make"}`, "unavailable/confirmation_unavailable", &note{name: "run", surface: "bash"}, nil},
		{"the tool refuses", `{"text":"x"}`, "denied/not_yours", &note{name: "note", fail: &tool.Refusal{Status: "denied", Code: "not_yours", Message: "m"}}, nil},
		{"the tool fails", `{"text":"x"}`, "failed/internal_error", &note{name: "note", fail: errors.New("/home/op/secret")}, nil},
		{"the tool panics", `{"text":"x"}`, "failed/internal_error", &note{name: "note", panics: true}, nil},
		{"control", `{"text":"x"}`, "succeeded", &note{name: "note"}, nil},
		{"control of the shell", `{"text":"ls -l"}`, "succeeded", &note{name: "run", surface: "bash"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStand(t, withTool(tt.n))
			p := s.agent()
			r := noteRequest(t, "n1", tt.n.name, tt.input)
			for i := 0; i < len(tt.replace); i += 2 {
				r = strings.Replace(r, tt.replace[i], tt.replace[i+1], 1)
			}
			p.send(`{"jsonrpc":"2.0","id":"1","method":"tool.call","params":` + r + "}\n")
			if text := p.line(); strings.Contains(text, "secret") {
				t.Errorf("%s", text)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			res := s.calls[0].Result
			got := string(res.Status)
			if res.Err != nil {
				got += "/" + res.Err.Code
			}
			ran := tt.n.fail != nil || tt.n.panics || tt.want == "succeeded"
			if got != tt.want || (tt.n.done.Load() == 1) != ran {
				t.Errorf("%s, done %d times; want %s", got, tt.n.done.Load(), tt.want)
			}
			if ran && tt.n.digests.Load() != 1 {
				t.Error("it was not carried out with its decision")
			}
			if len(s.dispatched) != 0 {
				t.Error("it was dispatched")
			}
		})
	}
}

// bg/A81: what is denied, unavailable or replayed starts nothing: neither a tool, nor a
// dispatch, nor a process.
func TestNothingIsStartedInstead(t *testing.T) {
	n := &note{name: "run", surface: "bash"}
	s := newStand(t, withTool(n))
	p := s.agent()
	before := procfs.Children(os.Getpid())
	for i, r := range []string{
		noteRequest(t, "a", "run", `{"text":"npm i"}`), noteRequest(t, "b", "run", `{"text":"make"}`),
		noteRequest(t, "c", "run", `{"text":`+`1}`), request(t, `"ptr_1"`, `"d"`, toolName, `"tool":"forbidden"`),
	} {
		if got := p.call("tool.call", r); word(got) == "succeeded" || word(got) == "" {
			t.Errorf("bg/A81 %d: %v", i, got)
		}
	}
	if d, _ := s.count(); d != 0 || n.done.Load() != 0 || !slices.Equal(procfs.Children(os.Getpid()), before) {
		t.Errorf("dispatched %d, done %d, %v", d, n.done.Load(), procfs.Children(os.Getpid()))
	}
	if got := p.call("tool.call", noteRequest(t, "e", "run", `{"text":"ls x"}`)); word(got) != "succeeded" || n.done.Load() != 1 {
		t.Errorf("the control: %v", got)
	}
}

func TestMediatedMethods(t *testing.T) {
	n := &note{name: "mkdir", surface: "write"}
	s := newStand(t, withTool(n))
	p := s.agent()
	for _, tt := range []struct{ method, params, want string }{
		{"fs.mkdir", `{"text":"x"}`, "field_invalid"},
		{"fs.mkdir", `{"request_id":"../x","text":"x"}`, "field_invalid"},
		{"fs.mkdir", `{"request_id":"1","path":"x"}`, "failed/invalid_request"},
		{"fs.mkdir", `{"request_id":"1","text":"x"}`, "denied/request_replayed"},
		{"fs.remove", `{"request_id":"2","text":"x"}`, "denied/tool_not_allowed"},
		{"fs.mkdir", `{"request_id":"3","text":"x"}`, "succeeded"},
		{"fs.rmdir", `{"request_id":"4","text":"x"}`, "method_unknown"},
	} {
		if got := p.call(tt.method, tt.params); word(got) != tt.want {
			t.Errorf("%s %s: %v, want %s", tt.method, tt.params, got, tt.want)
		}
	}
	if n.done.Load() != 1 {
		t.Errorf("done %d times", n.done.Load())
	}
}

func TestLocksKeepCallsApart(t *testing.T) {
	inside, most := atomic.Int32{}, atomic.Int32{}
	release := make(chan struct{})
	n := &slow{inside: &inside, most: &most, release: release}
	s := newStand(t, many, func(c *Config) { c.Tools = []tool.Tool{n} })
	p := s.agent()
	ids := []string{
		p.begin("tool.call", noteRequest(t, "1", "note", `{}`)), p.begin("tool.call", noteRequest(t, "2", "note", `{}`)),
	}
	eventually(t, "one is inside", func() bool { return inside.Load() == 1 })
	close(release)
	for range ids {
		if got := p.read(); word(got) != "succeeded" {
			t.Errorf("%v", got)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d at a time", most.Load())
	}
}

type slow struct {
	inside, most *atomic.Int32
	release      chan struct{}
}

func (s *slow) Name() string                                 { return "note" }
func (s *slow) Plan(*strictjson.Value) (tool.Planned, error) { return s, nil }
func (s *slow) Reading() gate.Reading                        { return gate.Reading{Value: "x"} }
func (s *slow) Locks() []string                              { return []string{"a"} }

func (s *slow) Do(ctx context.Context, _ *gate.Decision) (*strictjson.Value, error) {
	if n := s.inside.Add(1); n > s.most.Load() {
		s.most.Store(n)
	}
	defer s.inside.Add(-1)
	select {
	case <-s.release:
	case <-ctx.Done():
	}
	return nil, nil
}

// pieces is a tool whose first call is but a piece.
type pieces struct{ note }

type piece struct{ plannedNote }

func (p *pieces) Plan(input *strictjson.Value) (tool.Planned, error) {
	planned, err := p.note.Plan(input)
	if err != nil {
		return nil, err
	}
	return &piece{*planned.(*plannedNote)}, nil //nolint:forcetypeassert // made above
}

func (p *piece) Partial() (*strictjson.Value, bool, error) {
	v := strictjson.Text("more")
	switch p.text {
	case "bad":
		return nil, false, &tool.Refusal{Code: "invalid_request", Message: "out of order"}
	case "last":
		return nil, false, nil
	}
	return &v, true, nil
}

func TestPiecesOfACall(t *testing.T) {
	n := &pieces{note{name: "note"}}
	s := newStand(t, func(c *Config) { c.Tools = []tool.Tool{n} })
	p := s.agent()
	for i, tt := range []struct {
		text, want string
		done       int32
	}{{"first", "succeeded", 0}, {"bad", "failed/invalid_request", 0}, {"last", "succeeded", 1}} {
		got := p.call("tool.call", noteRequest(t, "n"+string(rune('0'+i)), "note", `{"text":"`+tt.text+`"}`))
		if word(got) != tt.want || n.done.Load() != tt.done {
			t.Errorf("%s: %v, done %d times", tt.text, got, n.done.Load())
		}
	}
}
