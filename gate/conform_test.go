package gate

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"brainbox/gate/confirm"
	"brainbox/gate/event"
	"brainbox/gate/grant"
	"brainbox/gate/permit"
	"brainbox/gate/permit/conform"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
)

// joined is a backend that has nothing but a gate: rules that allow everything, so that
// what is left is the tools, the single uses and the posture.
func joined(ctx context.Context, s conform.Scenario) (string, error) {
	g, broker, err := scenarioGate(s)
	if err != nil {
		return "", err
	}
	defer broker.Close()
	if err := s.Posture.Check(permit.Support{EnforceAllowedTools: true, NoGrantSurface: true}); err != nil {
		return "", err
	}
	if err := s.Acquire(); err != nil {
		return "", err
	}
	c, err := scenarioCall(s)
	if err != nil {
		return "", err
	}
	serving, leave := context.WithCancel(ctx)
	left := make(chan struct{})
	defer func() { leave(); <-left }()
	there, err := broker.Attach("host")
	if err != nil {
		close(left)
		return "", err
	}
	go func() {
		defer close(left)
		_ = there.Serve(serving, person{s})
	}()
	d := g.Decide(ctx, c)
	defer d.Close()
	if d.Err != nil || !d.Allowed {
		return d.Reason, d.Err
	}
	c.Args, c.Reading = d.Args, d.Reading
	if err := d.Spend(c); err != nil {
		return "", err
	}
	in, err := permit.ParseInput(d.Args)
	if err != nil {
		return "", err
	}
	return "", s.Tool(ctx, in)
}

// scenarioGate makes the gate of a scenario. What a runtime would let run by itself is an
// approval of the session.
func scenarioGate(s conform.Scenario) (*Gate, *prompt.Broker, error) {
	own, err := rule.ParseJSON([]byte(`{"*":"allow","bash":"allow"}`))
	if err != nil {
		return nil, nil, err
	}
	p, _, err := Compile(Policy{
		Rules:   rule.Config{Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Rules: own}}},
		Confirm: confirm.Config{}, Tools: s.Rules.Allowed, Shell: s.Rules.Shell, Update: s.Rules.Update,
	})
	if err != nil {
		return nil, nil, err
	}
	hub := event.New(event.Options{})
	broker, err := prompt.New(prompt.Options{Hub: hub, Grace: 50 * time.Millisecond})
	if err != nil {
		return nil, nil, err
	}
	g, err := New(Config{Policy: p, Hub: hub, Broker: broker, Unjudged: true, Host: s.Bridge})
	if err == nil && s.Shortcut(s.Call.Tool) {
		_, err = g.book.Add(grant.Grant{Surface: toolList, Pattern: s.Call.Tool, Exact: true, Whole: true}, grant.Run())
	}
	return g, broker, err
}

func scenarioCall(s conform.Scenario) (Call, error) {
	read := func(args json.RawMessage) (Reading, error) {
		if s.Call.Tool != s.Rules.Shell {
			return Reading{}, nil
		}
		_, r, _, err := ReadTool("bash", args)
		return r, err
	}
	c := Call{ID: s.Call.ID, Tool: s.Call.Tool, Args: s.Call.Input.JSON(), Reread: read, Posture: s.Posture}
	var err error
	c.Reading, err = read(c.Args)
	return c, err
}

// person is the host of a scenario behind a user interface.
type person struct{ s conform.Scenario }

func (p person) Prompt(ctx context.Context, _ prompt.View) (prompt.Answer, error) {
	a := p.s.Rules.Decide(p.s.Call.Tool, p.s.Call.Input)
	q := permit.NewRequest(p.s.Call, a, p.s.Posture.EnforceAllowedTools && a.Kind == permit.Tool)
	got, err := p.s.Bridge.RequestPermission(ctx, q)
	if err != nil || got.Behavior != "allow" {
		return prompt.Answer{Reason: got.Message}, err
	}
	ans := prompt.Answer{Decision: prompt.Approve}
	if edit, ok := got.Edit.(json.RawMessage); ok {
		ans.Edited = edit
	}
	return ans, nil
}

// TestDispatch is what hack/mutate-gate runs with a part of the joined gate taken out: it
// must then fail, and at a receipt. bk/T1, bk/T2, bk/T3, bk/T4, bk/T5, bk/T6, bk/T9, bk/T10.
func TestDispatch(t *testing.T) {
	for _, f := range conform.Run(t.Context(), t.TempDir(), spoken) {
		t.Error(f)
	}
}

// spoken is joined with the words of the host alone, which the suite compares.
func spoken(ctx context.Context, s conform.Scenario) (string, error) {
	denial, err := joined(ctx, s)
	const ours = "the user denied it: "
	if len(denial) > len(ours) && denial[:len(ours)] == ours {
		denial = denial[len(ours):]
	}
	var rejected *permit.RequestError
	if err != nil && !errors.As(err, &rejected) {
		return err.Error(), nil
	}
	return denial, err
}
