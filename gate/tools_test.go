package gate

import (
	"context"
	"testing"

	"brainbox/gate/action"
	"brainbox/gate/event"
	"brainbox/gate/permit"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
)

// The list of tools: a tool that is not on it asks, also under rules that allow all.
// Enforced, no approval, authorizer or standing consent answers.
func TestToolList(t *testing.T) {
	p := compiled(t, allowAll, func(p *Policy) { p.AnyTool, p.Tools = false, []string{"bash"} })
	enforced := permit.Posture{EnforceAllowedTools: true}
	call := func(posture permit.Posture) Call {
		return Call{Tool: "note", Agent: "a", Posture: posture, Reading: Reading{Value: "x"}}
	}
	easy := authorizer{"easy", func(context.Context) rule.Verdict { return rule.Verdict{Action: action.Allow} }}
	d := newDesk(t, Config{Policy: p, OnAskAllow: true}, prompt.Options{PerSecond: 1000})
	d.want(call(enforced), "deny confirmation_unavailable")
	d.want(call(permit.Posture{}), "allow auto_approved")
	d = newDesk(t, Config{Policy: p, Authorizers: []Authorizer{easy}}, prompt.Options{PerSecond: 1000})
	d.want(call(enforced), "deny confirmation_unavailable")
	d.want(call(permit.Posture{}), "allow authorizer_allowed")
	d = newDesk(t, Config{Policy: p}, prompt.Options{PerSecond: 1000})
	d.want(Call{Surface: "write", Agent: "a", Reading: Reading{Value: "x"}}, "deny confirmation_unavailable") // bk/D18
	d.person(says(approveRun))
	got := d.decide(call(enforced))
	if got.Allowed { // more than once was not offered
		t.Errorf("%v", got.Resolution)
	}
	d.want(call(permit.Posture{}), "allow user_approved_for_session")
	d.want(call(permit.Posture{}), "allow session_approved")
	if got = d.decide(call(enforced)); got.Resolution == event.SessionApproved {
		t.Error("a remembered grant answered in a turn that enforces its list")
	}
}

// bg/D35, bg/D36, bg/D37: a project's own rules can only tighten, and unreadable ones turn
// what is allowed into a question.
func TestProject(t *testing.T) {
	project := func(text string) *Compiled {
		return compiled(t, vectorPolicy, func(p *Policy) {
			sc := rule.Scope{Kind: rule.Project, Name: "project"}
			sc.Rules, sc.Err = rule.ParseJSON([]byte(text))
			p.Rules.Scopes = append(p.Rules.Scopes, sc)
		})
	}
	for _, c := range []struct{ text, command, want string }{
		{`{"bash":"allow"}`, "make", "deny confirmation_unavailable"},
		{`{"bash":{"ls *":"deny"}}`, "ls x", "deny policy_deny"},
		{`{"bash":`, "git status", "deny confirmation_unavailable"},
		{`{"bash":{"ls *":"deny"}}`, "git status", "allow policy_allow"},
	} {
		d := newDesk(t, Config{Policy: project(c.text)}, prompt.Options{})
		got := d.want(bash(c.command), c.want)
		if c.text == `{"bash":` && got.Asks[0].Origin != rule.OriginFailClosed {
			t.Errorf("origin %q", got.Asks[0].Origin)
		}
	}
}

// The shell tool has a surface of its own, whatever it is called.
func TestShellTool(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy, func(p *Policy) { p.Shell = "run" })}, prompt.Options{})
	c := bash("npm i")
	c.Tool, c.Surface = "run", ""
	d.want(c, "deny policy_deny")
	c.Surface = "thing"
	d.want(c, "deny gate_error")
	c = bash("git status")
	c.Tool, c.Surface = "run", ""
	if got := d.want(c, "allow policy_allow"); got.Spend(c) != nil {
		t.Error("the very call is another one")
	}
}
