package bridge

import (
	"context"
	"testing"

	"brainbox/bridge/envelope"
	"brainbox/gate/prompt"
)

// answering lets a person answer all prompts from now on.
func (s *stand) answering(f func(v prompt.View) prompt.Answer) {
	s.t.Helper()
	there, err := s.broker.Attach("test")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = there.Serve(ctx, person(f))
	}()
	s.t.Cleanup(func() { cancel(); <-done })
}

type person func(v prompt.View) prompt.Answer

func (f person) Prompt(_ context.Context, v prompt.View) (prompt.Answer, error) { return f(v), nil }

// An edit is planned anew, and that plan is carried out; one that reads otherwise by then
// is not.
func TestEditedCalls(t *testing.T) {
	edit := func(text string) func(prompt.View) prompt.Answer {
		return func(v prompt.View) prompt.Answer {
			return prompt.Answer{ID: v.ID, Digest: v.Digest, Decision: prompt.Approve, Edited: []byte(text)}
		}
	}
	for _, tt := range []struct {
		name, edit, want, last string
		drift                  bool
	}{
		{"to what a rule denies", `{"text":"npm i"}`, "denied/permission_denied", "", false},
		{"to no call of the tool", `{"txt":"make"}`, "denied/permission_denied", "", false},
		{"bg/D57 to what reads otherwise when it is planned", `{"text":"ls b"}`, "denied/permission_denied", "", true},
		{"to what is allowed", `{"text":"ls b"}`, "succeeded", "ls b", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := &note{name: "run", surface: "bash", drift: tt.drift}
			s := newStand(t, withTool(n))
			s.answering(edit(tt.edit))
			got := s.agent().call("tool.call", noteRequest(t, "n1", "run", `{"text":"make"}`))
			last, _ := n.last.Load().(string)
			if word(got) != tt.want || last != tt.last {
				t.Errorf("%v, carried out %q; want %s", got, last, tt.want)
			}
			if in := s.recorded()[0].Input.Get("text"); tt.last != "" && (in == nil || in.Text != tt.last) {
				t.Errorf("what is recorded is not what was done: %v", in)
			}
		})
	}
	t.Run("of a dispatched call", func(t *testing.T) {
		s := newStand(t)
		s.answering(edit(`{"path":"other"}`))
		got := s.agent().call("tool.call", request(t, toolName, `"tool":"asked"`))
		if d, _ := s.count(); word(got) != "succeeded" || d != 1 || !s.recorded()[0].Decision.Edited || s.recorded()[0].Input.Get("path").Text != "other" || dispatched(s).Input.Get("path").Text != "other" {
			t.Errorf("%v", got)
		}
	})
	t.Run("a person denies", func(t *testing.T) {
		s := newStand(t)
		s.answering(func(v prompt.View) prompt.Answer { return prompt.Answer{ID: v.ID, Digest: v.Digest, Reason: "no"} })
		got := s.agent().call("tool.call", request(t, toolName, `"tool":"asked"`))
		if d, _ := s.count(); word(got) != "denied/permission_denied" || d != 0 {
			t.Errorf("%v", got)
		}
	})
}

// dispatched is the first request that was.
func dispatched(s *stand) *envelope.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dispatched[0]
}
