package gate

import (
	"context"
	"sync/atomic"
	"testing"

	"brainbox/gate/event"
	"brainbox/gate/prompt"
)

// bg/D43, bg/D44, bg/D46: a question of the program's own is advice, and no more.
func TestAdvise(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{PerSecond: 1000})
	advise := func(c Call) (prompt.Outcome, map[string]any) {
		t.Helper()
		d.decisions()
		out := d.g.Advise(context.Background(), c)
		events := d.decisions()
		if len(events) != 1 || events[0]["resolution"] != string(out.Resolution) || events[0]["requestId"] != out.ID {
			t.Fatalf("%+v, events %v", out, events)
		}
		return out, events[0]
	}
	if out, _ := advise(bash("npm i")); out.Approved || out.Resolution != event.PolicyDeny {
		t.Errorf("what a rule denies: %+v", out)
	}
	if out, _ := advise(bash("make")); out.Approved || out.Code != prompt.NoUI {
		t.Errorf("nobody there: %+v", out)
	}
	if out, _ := advise(Call{}); out.Approved || out.Resolution != event.GateError {
		t.Errorf("no question: %+v", out)
	}
	answers := []prompt.Answer{approve, {Decision: prompt.Deny, Reason: "no"}}
	var n atomic.Int32
	var advising atomic.Bool
	advising.Store(true)
	d.person(func(_ context.Context, v prompt.View) (prompt.Answer, error) {
		if advising.Load() && v.Source != prompt.RPCPrompt || v.Source == prompt.RPCPrompt && (v.Grant != "" || v.Input != nil) {
			t.Errorf("shown as %+v", v)
		}
		return answers[n.Add(1)-1], nil
	})
	if out, _ := advise(bash("make")); out.State() != "approved" {
		t.Errorf("%+v", out)
	}
	if out, _ := advise(bash("make")); out.State() != "denied_with_reason" {
		t.Errorf("%+v", out)
	}
	n.Store(1)
	advising.Store(false)
	d.want(bash("make"), "deny user_denied") // the approval was good for nothing else
}

// After its end a session allows nothing.
func TestEnd(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{PerSecond: 1000})
	d.person(func(context.Context, prompt.View) (prompt.Answer, error) { d.g.End(); return approveRun, nil })
	d.want(bash("git status"), "allow policy_allow")
	d.want(bash("make"), "deny confirmation_unavailable") // ended while it was asked
	d.want(bash("git status"), "deny confirmation_unavailable")
	d.want(bash("npm i"), "deny policy_deny")
	if out := d.g.Advise(t.Context(), bash("make")); out.Approved || out.Code != prompt.ShuttingDown {
		t.Errorf("%+v", out)
	}
	if len(d.g.Grants()) != 0 {
		t.Error("an approval is left")
	}
}
