package ask

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"brainbox/bridge/tool"
	"brainbox/gate"
	"brainbox/gate/permit"
	"brainbox/internal/strictjson"
)

// Hosts that can do one thing each.
type (
	userHost     func(UserRequest) (UserAnswer, error)
	listHost     func(ListRequest) (ListAnswer, error)
	rankHost     func(RankRequest) (RankAnswer, error)
	formHost     func(FormRequest) (json.RawMessage, error)
	activityHost func(ActivityQuery) (json.RawMessage, error)
)

func (h userHost) AskUser(_ context.Context, r UserRequest) (UserAnswer, error)     { return h(r) }
func (h listHost) AskUserList(_ context.Context, r ListRequest) (ListAnswer, error) { return h(r) }
func (h rankHost) AskUserRank(_ context.Context, r RankRequest) (RankAnswer, error) { return h(r) }
func (h formHost) AskUserForm(_ context.Context, r FormRequest) (json.RawMessage, error) {
	return h(r)
}

func (h activityHost) QueryActivity(_ context.Context, q ActivityQuery) (json.RawMessage, error) {
	return h(q)
}

func newSet(t *testing.T, c Config) *Set {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func find(t *testing.T, s *Set, name string) tool.Tool {
	t.Helper()
	for _, x := range s.Tools() {
		if x.Name() == name {
			return x
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

// call is a call from its text to the text of its result, as an adapter does it.
func call(t *testing.T, s *Set, name, input string) (string, error) {
	t.Helper()
	in, err := strictjson.Decode([]byte(input), strictjson.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", input, err)
	}
	p, err := find(t, s, name).Plan(in)
	if err != nil {
		return "", err
	}
	if r := p.Reading(); len(p.Locks()) != 0 || r.Value != "" || len(r.Targets)+len(r.Env)+len(r.Hosts) != 0 {
		t.Errorf("%s: locks %q, reading %+v", name, p.Locks(), r)
	}
	out, err := p.Do(t.Context(), &gate.Decision{RequestID: "r-1", Allowed: true})
	if err != nil {
		return "", err
	}
	return string(strictjson.Append(nil, out)), nil
}

// wantResult makes one call that must succeed.
func wantResult(t *testing.T, s *Set, name, input, want string) {
	t.Helper()
	got, err := call(t, s, name, input)
	if err != nil {
		t.Errorf("%s: %v", input, err)
	} else if got != want {
		t.Errorf("%s\n got %s\nwant %s", input, got, want)
	}
}

// wantRefusal makes one call that must fail with the code; its message begins with the tool's
// name and has all words.
func wantRefusal(t *testing.T, s *Set, name, input, code string, words ...string) {
	t.Helper()
	got, err := call(t, s, name, input)
	refusal(t, name+" "+input, got, err, name, code, words...)
}

func refusal(t *testing.T, what, got string, err error, name, code string, words ...string) {
	t.Helper()
	var r *tool.Refusal
	if !errors.As(err, &r) || r.Code != code {
		t.Errorf("%.200s: got %s, %v, want %s", what, got, err, code)
		return
	}
	if !strings.HasPrefix(r.Message, name) || r.Status == "succeeded" {
		t.Errorf("%.200s: %q with status %q", what, r.Message, r.Status)
	}
	for _, w := range words {
		if !strings.Contains(r.Message, w) {
			t.Errorf("%.200s: %q does not say %q", what, r.Message, w)
		}
	}
}

// never is a host that must not be asked.
type never struct{ t *testing.T }

func (n never) asked() error { n.t.Helper(); n.t.Error("the host was asked"); return errors.New("no") }

func (n never) AskUser(context.Context, UserRequest) (UserAnswer, error) {
	return UserAnswer{}, n.asked()
}

func (n never) AskUserList(context.Context, ListRequest) (ListAnswer, error) {
	return ListAnswer{}, n.asked()
}

func (n never) AskUserRank(context.Context, RankRequest) (RankAnswer, error) {
	return RankAnswer{}, n.asked()
}

func (n never) AskUserForm(context.Context, FormRequest) (json.RawMessage, error) {
	return nil, n.asked()
}

func (n never) QueryActivity(context.Context, ActivityQuery) (json.RawMessage, error) {
	return nil, n.asked()
}

// text300 is a prompt of 300 UTF-16 units in 150 characters.
var text300 = strings.Repeat("\U0001F600", 150)

var unattended = permit.Posture{EnforceAllowedTools: true, NoGrantSurface: true}

const (
	fieldInvalid  = CodeInput
	unknownField  = CodeInput
	schemaInvalid = CodeInput
)

type strictValue = strictjson.Value
