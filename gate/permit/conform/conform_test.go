package conform

import (
	"context"
	"errors"
	"slices"
	"testing"

	"brainbox/gate/permit"
)

// reference is a backend made of nothing but package permit's operations.
func reference(ctx context.Context, s Scenario) (string, error) {
	turn, err := permit.NewTurn(permit.Config{Rules: s.Rules, Posture: s.Posture, Bridge: s.Bridge, Granted: s.Shortcut})
	if err != nil {
		return "", err
	}
	if err = s.Acquire(); err != nil {
		return "", err
	}
	r, err := turn.Do(ctx, s.Call, s.Tool)
	return r.Denial, err
}

// steps is the same without a Turn, as an adapter that has its own would do it.
func steps(ctx context.Context, s Scenario) (string, error) {
	if err := s.Posture.Check(permit.Support{EnforceAllowedTools: true, NoGrantSurface: true}); err != nil {
		return "", err
	}
	if err := s.Acquire(); err != nil {
		return "", err
	}
	in, a := s.Call.Input, s.Rules.Decide(s.Call.Tool, s.Call.Input)
	if !a.None {
		q := permit.NewRequest(s.Call, a, s.Posture.EnforceAllowedTools && a.Kind == permit.Tool)
		d, err := permit.Ask(ctx, s.Bridge, q, permit.Options{NoGrantSurface: s.Posture.NoGrantSurface})
		if err != nil {
			return "", err
		}
		if !d.Allow {
			return d.Message, nil
		}
		if d.Edited {
			if err = s.Rules.CheckEdit(permit.Edit{Tool: s.Call.Tool, Original: in, Edited: d.Edit}); err != nil {
				return err.Error(), nil
			}
			in = d.Edit
		}
	}
	return "", s.Tool(ctx, in)
}

// TestDispatch is what hack/mutate-gate runs with a part of the gate taken out: it must
// then fail, and at a receipt. bk/T1, bk/T2, bk/T3, bk/T4, bk/T5, bk/T6, bk/T9, bk/T10.
func TestDispatch(t *testing.T) {
	for name, b := range map[string]Backend{"a turn": reference, "step by step": steps} {
		t.Run(name, func(t *testing.T) {
			for _, f := range Run(t.Context(), t.TempDir(), b) {
				t.Error(f)
			}
		})
	}
}

// broken are backends that must not pass, and where each must be caught: at a receipt of
// one of these scenarios.
var broken = []struct {
	name    string
	at      []string
	backend Backend
}{
	{"bk/T7 it ignores a denial", []string{"T1", "T3", "T4", "T5", "T10"}, func(ctx context.Context, s Scenario) (string, error) {
		denial, err := reference(ctx, s)
		if denial != "" {
			err = errors.Join(err, s.Tool(ctx, s.Call.Input))
		}
		return denial, err
	}},
	{"bk/T8 it rejects the turn when all is done", []string{"T6"}, func(ctx context.Context, s Scenario) (string, error) {
		late := s.Posture.Check(permit.Support{EnforceAllowedTools: true, NoGrantSurface: true})
		s.Posture.EnforceAllowedTools = s.Posture.EnforceAllowedTools || late != nil
		denial, err := reference(ctx, s)
		return denial, errors.Join(err, late)
	}},
	{"it does not look at the posture", []string{"T4", "T5", "T6"}, func(ctx context.Context, s Scenario) (string, error) {
		s.Posture = permit.Posture{}
		return reference(ctx, s)
	}},
	{"it lets the runtime's shortcut decide", []string{"T4"}, func(ctx context.Context, s Scenario) (string, error) {
		if s.Shortcut(s.Call.Tool) {
			return "", errors.Join(s.Acquire(), s.Tool(ctx, s.Call.Input))
		}
		return reference(ctx, s)
	}},
	{"it dispatches the original in place of the edit", []string{"T9"}, func(ctx context.Context, s Scenario) (string, error) {
		tool := s.Tool
		s.Tool = func(ctx context.Context, _ permit.Input) error { return tool(ctx, s.Call.Input) }
		return reference(ctx, s)
	}},
	{"it runs the tool twice", []string{"T2", "T3", "T5", "T9"}, func(ctx context.Context, s Scenario) (string, error) {
		tool := s.Tool
		s.Tool = func(ctx context.Context, in permit.Input) error { return errors.Join(tool(ctx, in), tool(ctx, in)) }
		return reference(ctx, s)
	}},
	{"it does nothing", []string{"T2", "T3", "T5", "T9"}, func(_ context.Context, s Scenario) (string, error) {
		return "no", s.Acquire()
	}},
}

// The suite catches what it is for, by files.
func TestBrokenBackends(t *testing.T) {
	for _, c := range broken {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range Run(t.Context(), t.TempDir(), c.backend) {
				if f.Receipt && !slices.Contains(got, f.ID) {
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
