package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"brainbox/bridge/ask"
	"brainbox/bridge/spec"
	"brainbox/bridge/tool"
	"brainbox/gate"
	"brainbox/internal/strictjson"
)

// person answers everything, and is made of public names alone.
type person struct{}

func (person) AskUser(_ context.Context, r ask.UserRequest) (ask.UserAnswer, error) {
	return ask.UserAnswer{Answers: map[string]string{r.Questions[0].Question: r.Questions[0].Options[1].Label}}, nil
}

func (person) AskUserList(_ context.Context, r ask.ListRequest) (ask.ListAnswer, error) {
	return ask.ListAnswer{Answers: map[string]string{r.Items[0].ID: r.Scale[1].Label}}, nil
}

func (person) AskUserRank(_ context.Context, r ask.RankRequest) (ask.RankAnswer, error) {
	return ask.RankAnswer{Order: []string{r.Items[1].ID, r.Items[0].ID}}, nil
}

func (person) AskUserForm(_ context.Context, r ask.FormRequest) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"answers": map[string]string{r.Nodes[0].ID: "fine"}})
}

func (person) QueryActivity(_ context.Context, q ask.ActivityQuery) (json.RawMessage, error) {
	return json.Marshal(q)
}

var calls = map[string]struct{ input, want string }{
	spec.AskUser: {
		`{"questions":[{"question":"Q","header":"H","options":[{"label":"a","description":""},{"label":"b","description":""}],"multiSelect":false}]}`,
		`{"Q":"b"}`,
	},
	spec.AskUserList:   {`{"prompt":"p","scale":[{"label":"a"},{"label":"b"}],"items":[{"id":"x","label":"X"}]}`, `{"x":"b"}`},
	spec.AskUserRank:   {`{"prompt":"p","items":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]}`, ``},
	spec.AskUserForm:   {`{"prompt":"p","nodes":[{"kind":"text","id":"n","prompt":"p"}]}`, `{"n":"fine"}`},
	spec.QueryActivity: {`{"scope":"recent"}`, ``},
}

// backend runs every bridge tool that a host may have here, and gives the names of those
// whose result was an error.
func backend(t *testing.T, host ask.Host) (failed []string) {
	t.Helper()
	set, err := ask.New(ask.Config{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, x := range set.Tools() {
		c, ok := calls[x.Name()]
		if _, known := spec.FindContract(x.Name()); !ok || !known {
			t.Fatalf("%s is no tool of the posture", x.Name())
		}
		ran++
		out, err := run(t.Context(), x, c.input)
		var r *tool.Refusal
		switch {
		case errors.As(err, &r) && r.Code == ask.CodeUnsupported:
			failed = append(failed, x.Name())
		case err != nil:
			t.Errorf("%s: %v", x.Name(), err)
		default:
			check(t, x.Name(), out, c.want)
		}
	}
	if ran != len(calls) {
		t.Errorf("%d tools of %d", ran, len(calls))
	}
	return failed
}

// check looks at a result: the tools' own answers, or a text.
func check(t *testing.T, name string, out *strictjson.Value, want string) {
	t.Helper()
	switch answers := out.Get("answers"); {
	case name == spec.QueryActivity:
		if out.Kind != strictjson.KindString {
			t.Errorf("%s: a %v", name, out.Kind)
		}
	case name == spec.AskUserRank:
		if got := fmt.Sprint(len(out.Get("order").Items), out.Get("unchanged").Bool); got != "2 false" {
			t.Errorf("%s: %s", name, got)
		}
	case answers == nil || string(strictjson.Append(nil, answers)) != want:
		t.Errorf("%s: %s", name, strictjson.Append(nil, out))
	}
}

func run(ctx context.Context, x tool.Tool, input string) (*strictjson.Value, error) {
	in, err := strictjson.Decode([]byte(input), strictjson.Limits{})
	if err != nil {
		return nil, err
	}
	p, err := x.Plan(in)
	if err != nil {
		return nil, err
	}
	return p.Do(ctx, &gate.Decision{Allowed: true})
}

// TestPublic is a backend built from public names.
func TestPublic(t *testing.T) {
	t.Run("bk/BP6", func(t *testing.T) {
		if failed := backend(t, person{}); len(failed) != 0 {
			t.Errorf("error results: %q", failed)
		}
	})
	var p person
	for removed, host := range map[string]ask.Host{
		spec.AskUser: struct {
			ask.ListAsker
			ask.RankAsker
			ask.FormAsker
			ask.ActivityQuerier
		}{p, p, p, p},
		spec.AskUserList: struct {
			ask.UserAsker
			ask.RankAsker
			ask.FormAsker
			ask.ActivityQuerier
		}{p, p, p, p},
		spec.AskUserRank: struct {
			ask.UserAsker
			ask.ListAsker
			ask.FormAsker
			ask.ActivityQuerier
		}{p, p, p, p},
		spec.AskUserForm: struct {
			ask.UserAsker
			ask.ListAsker
			ask.RankAsker
			ask.ActivityQuerier
		}{p, p, p, p},
		spec.QueryActivity: struct {
			ask.UserAsker
			ask.ListAsker
			ask.RankAsker
			ask.FormAsker
		}{p, p, p, p},
	} {
		t.Run("bk/BP6 without "+removed, func(t *testing.T) {
			if failed := backend(t, host); !slices.Equal(failed, []string{removed}) {
				t.Errorf("error results: %q", failed)
			}
		})
	}
}
