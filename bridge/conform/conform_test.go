package conform_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"brainbox/bridge"
	"brainbox/bridge/conform"
	"brainbox/bridge/envelope"
	"brainbox/bridge/run"
	"brainbox/bridge/spec"
	"brainbox/bridge/tool"
	"brainbox/bridge/tool/shell"
	"brainbox/gate/action"
	"brainbox/gate/permit"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
)

// TestDispatch is what hack/mutate-gate runs with a part of gate or bridge taken out: it
// must then fail, and at a receipt. bk/T1, bk/T2, bk/T5, bk/T9, bk/T10, bk/CT11.
func TestDispatch(t *testing.T) {
	for _, f := range conform.Dispatch(t.Context(), t.TempDir(), reference{}.serve, conform.Options{}) {
		t.Error(f)
	}
}

// every is each tool that the suite must call.
func every(t *testing.T) []string {
	t.Helper()
	all := spec.Names()
	for _, name := range spec.AllowedNames(false) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) != 18 || !slices.Contains(all, "bash") || !slices.Contains(all, spec.ShowBlock) {
		t.Fatalf("the tools are %q", all)
	}
	return all
}

// without removes a tool from a server's configuration.
func without(names ...string) reference {
	return reference{change: func(c *bridge.Config) {
		c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(t tool.Tool) bool { return slices.Contains(names, t.Name()) })
		for _, name := range names {
			delete(c.Parent.Tools, name)
		}
	}}
}

// A backend of public names alone runs every tool; without any one of them the suite says
// so, by the result that is an error, of that one and no other.
func TestEveryTool(t *testing.T) {
	t.Run("bk/BP6", func(t *testing.T) {
		for _, f := range conform.Tools(t.Context(), t.TempDir(), reference{}.serve, conform.Options{}) {
			t.Error(f)
		}
		for _, name := range every(t) {
			t.Run("without "+name, func(t *testing.T) {
				got := conform.Tools(t.Context(), t.TempDir(), without(name).serve, conform.Options{})
				if len(got) != 1 || got[0].ID != "BP6" || got[0].Kind != conform.ErrorResult || got[0].Name != name {
					t.Errorf("the suite says %v", got)
				}
			})
		}
	})
}

// A host may say that it has no browser. It must then not have one.
func TestWithout(t *testing.T) {
	browser := []string{spec.GetCurrentLocation, spec.ShowBlock}
	o := conform.Options{Without: browser}
	for _, f := range conform.Run(t.Context(), t.TempDir(), without(browser...).serve, o) {
		t.Error(f)
	}
	got := conform.Tools(t.Context(), t.TempDir(), reference{}.serve, o)
	if len(got) != 2 || got[0].Kind != conform.ErrorResult || got[1].Kind != conform.ErrorResult {
		t.Errorf("it has one all the same: %v", got)
	}
}

// as serves a scene that was changed on the way.
func as(change func(s *conform.Scene)) conform.Backend {
	return func(ctx context.Context, s conform.Scene) (conform.Session, error) {
		change(&s)
		return reference{}.serve(ctx, s)
	}
}

// after serves a scene whose results are changed on the way back, or made up.
type after struct {
	conform.Session
	answer func(res *envelope.Result) *envelope.Result
}

func (a after) Call(ctx context.Context, name string, input []byte) (*envelope.Result, error) {
	res, err := a.Session.Call(ctx, name, input)
	if err == nil {
		res = a.answer(res)
	}
	return res, err
}

// allowing makes every rule one that allows.
func allowing(scopes []rule.Scope) []rule.Scope {
	scopes = slices.Clone(scopes)
	for i := range scopes {
		scopes[i].Rules = slices.Clone(scopes[i].Rules)
		for j := range scopes[i].Rules {
			scopes[i].Rules[j].Action = action.Allow
		}
	}
	return scopes
}

// ui is a function that answers prompts.
type ui func(ctx context.Context, v prompt.View) (prompt.Answer, error)

func (f ui) Prompt(ctx context.Context, v prompt.View) (prompt.Answer, error) { return f(ctx, v) }

// twice runs everything two times.
type twice struct {
	mu   sync.Mutex
	next shell.Runner
}

func (r *twice) Run(ctx context.Context, c shell.Command) (*run.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.next.Run(ctx, c); err != nil {
		return nil, err
	}
	return r.next.Run(ctx, c)
}

// broken are backends that must not pass, and where each must be caught.
var broken = []struct {
	name    string
	kind    conform.Kind
	at      []string
	backend conform.Backend
}{
	{"it takes a denial for an approval", conform.Receipt, []string{"T1"}, as(func(s *conform.Scene) {
		asked := s.Person
		s.Person = ui(func(ctx context.Context, v prompt.View) (prompt.Answer, error) {
			a, err := asked.Prompt(ctx, v)
			return prompt.Answer{ID: v.ID, Digest: v.Digest, Decision: prompt.Approve, Edited: a.Edited}, err
		})
	})},
	{"it does not look at the posture", conform.Receipt, []string{"T5"}, as(func(s *conform.Scene) { s.Posture = permit.Posture{} })},
	{"it does what was proposed in place of what was approved", conform.Receipt, []string{"T9", "T10"}, as(func(s *conform.Scene) {
		asked := s.Person
		s.Person = ui(func(ctx context.Context, v prompt.View) (prompt.Answer, error) {
			a, err := asked.Prompt(ctx, v)
			a.Edited = nil
			return a, err
		})
	})},
	{"it confirms no single use", conform.Receipt, []string{"T5", "T10"}, as(func(s *conform.Scene) { s.Policy.Confirm.None = true })},
	{"it asks about nothing", conform.Receipt, []string{"T1", "T5"}, as(func(s *conform.Scene) {
		s.Policy.Rules.Scopes = allowing(s.Policy.Rules.Scopes)
	})},
	{"it protects no place", conform.Receipt, []string{"CT11"}, reference{bare: true}.serve},
	{"it runs commands twice", conform.Receipt, []string{"T2", "T5", "T9"}, as(func(s *conform.Scene) { s.Runner = &twice{next: s.Runner} })},
	{"it has other roots", conform.Receipt, []string{"T2", "T9"}, as(func(s *conform.Scene) { s.Dir = s.Temp })},
	{"it calls a denial a success", conform.ErrorResult, []string{"T1", "T5", "T10", "CT11"}, func(ctx context.Context, s conform.Scene) (conform.Session, error) {
		n, err := reference{}.serve(ctx, s)
		return after{n, func(res *envelope.Result) *envelope.Result {
			return &envelope.Result{ID: res.ID, Tool: res.Tool, Operation: res.Operation, Status: envelope.Succeeded, Output: res.Output}
		}}, err
	}},
	{"it does nothing, and says that it did", conform.Receipt, []string{"T2", "T9"}, func(ctx context.Context, s conform.Scene) (conform.Session, error) {
		n, err := reference{change: func(c *bridge.Config) { c.Tools = nil }}.serve(ctx, s)
		return after{n, func(res *envelope.Result) *envelope.Result { return &envelope.Result{Status: envelope.Succeeded} }}, err
	}},
}

// The suite catches what it is for.
func TestBrokenBackends(t *testing.T) {
	for _, c := range broken {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range conform.Dispatch(t.Context(), t.TempDir(), c.backend, conform.Options{}) {
				if f.Kind == c.kind && !slices.Contains(got, f.ID) {
					got = append(got, f.ID)
				}
			}
			for _, id := range c.at {
				if !slices.Contains(got, id) {
					t.Errorf("%s passes; caught at %v", id, got)
				}
			}
		})
	}
}
