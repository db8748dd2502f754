package gate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"brainbox/gate/action"
	"brainbox/gate/confirm"
	"brainbox/gate/grant"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
)

// Rules through the joined gate: nobody is there to ask, so that what is asked is
// confirmation_unavailable. bg/D01, bg/D03, bg/D05, bg/D06, bg/D09, bg/D13, bg/D14, bg/D15,
// bg/D18, bg/D19, bg/D21, bg/D22, bg/D24, bg/D26, bg/D27.
func TestRules(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{PerSecond: 1000})
	const asks = "deny confirmation_unavailable"
	for _, c := range []struct {
		call Call
		want string
	}{
		{bash("git push origin"), "deny policy_deny"},
		{bash("cd /w/p && npm i x"), "deny policy_deny"},
		{bash("ls $(npm i)"), "deny policy_deny"},
		{bash("ls .env"), "deny policy_deny"},
		{file("read_file", ".env"), "deny policy_deny"},
		{bash("gitk"), asks},
		{bash("PATH=/tmp git status"), asks},
		{bash(`bash -c "git status"`), asks},
		{bash("sudo ls"), asks},
		{bash(`ls "`), asks},
		{file("read_file", "/etc/hosts"), asks},
		{bash("git status"), "allow policy_allow"},
		{bash("# hi"), "allow policy_allow"},
		{file("read_file", "src/a.go"), "allow policy_allow"},
		{file("read_file", "/h/cache/a/b"), "allow policy_allow"},
	} {
		d.want(c.call, c.want)
	}
}

// Approvals of a session: bg/D31, bg/D32, bg/D33, bg/D34.
func TestApprovals(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{PerSecond: 1000})
	for _, p := range []string{"git push *", "make *"} {
		if _, err := d.g.book.Add(grant.Grant{Surface: "bash", Pattern: p, Agent: "a"}, grant.Run()); err != nil {
			t.Fatal(err)
		}
	}
	d.want(bash("git push origin"), "deny policy_deny")
	other := bash("make all")
	other.Agent = "b"
	d.want(other, "deny confirmation_unavailable")
	d.want(bash("make all"), "allow session_approved")
	if all := d.g.Grants(); len(all) != 2 || !d.g.Revoke(all[1].ID) || d.g.Revoke(all[1].ID) {
		t.Errorf("the list is %v, or revoking does not end", all)
	}
	d.want(bash("make all"), "deny confirmation_unavailable")

	yolo := newDesk(t, Config{Policy: compiled(t, vectorPolicy), OnAskAllow: true}, prompt.Options{})
	yolo.want(bash("git push origin"), "deny policy_deny")
	yolo.want(bash("make"), "allow auto_approved")
}

// bg/D40, bg/D41, bg/D42: a check says what the gate would, asks nobody and publishes
// nothing.
func TestCheck(t *testing.T) {
	p := compiled(t, vectorPolicy, func(p *Policy) {
		p.AnyTool, p.Tools = false, []string{"bash"}
		p.Confirm = confirm.Config{}
	})
	dir, judge, places := tree(t)
	d := newDesk(t, Config{Policy: p, Judge: judge, Resolver: places}, prompt.Options{})
	ctx := context.Background()
	if a, err := d.g.Check(ctx, Call{Surface: "bash", Reading: Reading{Value: "cd / && npm i"}, Cwd: "/w/p"}); err != nil || a.Action != action.Deny {
		t.Errorf("D40: %v, %v", a.Action, err)
	}
	if _, err := d.g.Check(ctx, Call{Surface: "nope"}); !errors.Is(err, rule.ErrUnknownSurface) {
		t.Errorf("D41: %v", err)
	}
	if _, err := d.g.Check(ctx, Call{Reading: Reading{Value: "x"}}); !errors.Is(err, rule.ErrNoSurface) {
		t.Errorf("D42: %v", err)
	}
	for value, want := range map[string]action.Action{"git reset --hard": action.Ask, "git status": action.Allow} {
		if a, err := d.g.Check(ctx, Call{Surface: "bash", Reading: Reading{Value: value}}); err != nil || a.Action != want {
			t.Errorf("%q: %v (%s), %v, want %v", value, a.Action, a.Pattern, err, want)
		}
	}
	if a, err := d.g.Check(ctx, Call{Surface: "path_write", Reading: Reading{Value: dir + "/.git/config"}}); err != nil || a.Action != action.Ask || a.Row != ".git" {
		t.Errorf("a protected name: %v, %v", a, err)
	}
	if n := d.hub.Seq(); n != 0 {
		t.Errorf("%d events were published", n)
	}
}

// bg/D43: without anybody there it is never a user's denial.
func TestNobodyThere(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{})
	got := d.want(bash("make"), "deny confirmation_unavailable")
	if got.Code != prompt.NoUI {
		t.Errorf("code %q", got.Code)
	}
	none, err := New(Config{Policy: compiled(t, vectorPolicy), Hub: d.hub})
	if err != nil {
		t.Fatal(err)
	}
	if got := none.Decide(t.Context(), bash("make")); got.Allowed || got.Code != prompt.NoUI {
		t.Errorf("without a broker: %v", got)
	}
}

// What people say: bg/D44, bg/D45, bg/D46.
func TestPerson(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{PerSecond: 1000})
	answers := []prompt.Answer{{Decision: prompt.Deny, Reason: "not now"}, approve, approveRun}
	var n atomic.Int32
	var offered atomic.Value
	d.person(func(_ context.Context, v prompt.View) (prompt.Answer, error) {
		offered.Store(v.Grant)
		return answers[n.Add(1)-1], nil
	})
	if got := d.want(bash("make all"), "deny user_denied"); !strings.Contains(got.Reason, "not now") {
		t.Errorf("reason %q", got.Reason)
	}
	d.want(bash("make all"), "allow user_approved")
	if len(d.g.Grants()) != 0 {
		t.Errorf("one use became a grant: %v", d.g.Grants())
	}
	d.want(bash("make all"), "allow user_approved_for_session")
	d.want(bash("make all"), "allow session_approved")
	if n.Load() != 3 || offered.Load() != "bash make all *" && offered.Load() != "bash make *" {
		t.Errorf("asked %d times, offered %q, grants %v", n.Load(), offered.Load(), d.g.Grants())
	}
	other := bash("make all")
	other.Agent = "b"
	n.Store(0)
	d.want(other, "deny user_denied")
}

// bg/D55: a command that asks, on a path that asks, with a pattern that confirms: one
// prompt with every reason, one decision.
func TestOnePrompt(t *testing.T) {
	p := compiled(t, vectorPolicy, func(p *Policy) {
		p.AnyTool, p.Confirm = false, confirm.Config{Confirm: []confirm.Source{{Pattern: "hosts", Effect: "touch the hosts"}}}
	})
	d := newDesk(t, Config{Policy: p}, prompt.Options{})
	d.person(says(approve))
	got := d.want(bash("cat /etc/hosts"), "allow user_approved")
	if d.asked.Load() != 1 || reasons(got) != "bash external_directory_read external_directory_write <allowed-tools> <confirm>" {
		t.Errorf("asked %d times: %s", d.asked.Load(), reasons(got))
	}
}

// A single use is asked about each time, whatever was approved; and it does not take the
// offer for the rest away.
func TestSingleUse(t *testing.T) {
	p := compiled(t, allowAll, func(p *Policy) {
		p.AnyTool, p.Confirm = false, confirm.Config{Confirm: []confirm.Source{{Pattern: "deploy"}}}
	})
	d := newDesk(t, Config{Policy: p}, prompt.Options{PerSecond: 1000})
	d.person(says(approveRun))
	d.want(bash("deploy x"), "allow user_approved_for_session")
	if all := d.g.Grants(); len(all) != 1 || all[0].Grant.Surface != toolList || all[0].Grant.Pattern != "bash" {
		t.Fatalf("grants %v", all)
	}
	d.want(bash("true"), "allow session_approved")
	got := d.decide(bash("deploy x")) // only once is offered now, so the answer is none
	if got.Allowed || reasons(got) != singleUse {
		t.Errorf("%v, asked %s", got.Resolution, reasons(got))
	}
}

// bg/D57: what is done must be what was decided.
func TestSpend(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{PerSecond: 1000})
	d.person(says(approve))
	for _, command := range []string{"make all", "git status"} { // asked, and allowed by a rule
		for name, change := range map[string]func(*Call){
			"another command": func(c *Call) { c.Value += " " },
			"other arguments": func(c *Call) { c.Args = json.RawMessage(`{"command":"make all","x":1}`) },
			"elsewhere":       func(c *Call) { c.Cwd = "/" },
			"a variable":      func(c *Call) { c.Env = []string{"A=1"} },
			"a target":        func(c *Call) { c.Targets = []Target{{Path: "x"}} },
			"other content":   func(c *Call) { c.Content = []byte{1} },
			"another agent":   func(c *Call) { c.Agent = "b" },
		} {
			got := d.decide(bash(command))
			c := bash(command)
			change(&c)
			if err := got.Spend(c); !errors.Is(err, ErrChanged) {
				t.Errorf("%s: %v", name, err)
			}
			if err := got.Spend(bash(command)); !errors.Is(err, ErrSpent) {
				t.Errorf("%s: a wrong call did not use it up: %v", name, err)
			}
		}
		got := d.decide(bash(command))
		twin := got
		if err := got.Spend(bash(command)); err != nil {
			t.Errorf("the very call: %v", err)
		}
		if err := twin.Spend(bash(command)); !errors.Is(err, ErrSpent) {
			t.Errorf("a copy: %v", err)
		}
	}
	if got := d.decide(bash("npm i")); !errors.Is(got.Spend(bash("npm i")), ErrNotAllowed) {
		t.Error("a denial can be spent")
	}
}

// bg/D58: an edit is judged from the start.
func TestEdit(t *testing.T) {
	p := compiled(t, vectorPolicy, func(p *Policy) {
		p.Confirm = confirm.Config{Confirm: []confirm.Source{{Pattern: "deploy"}, {Pattern: "drop"}}}
	})
	for _, c := range []struct{ name, edit, want, runs string }{
		{"to another confirm pattern", `{"command":"drop x"}`, "deny policy_deny", ""},
		{"to what is denied", `{"command":"npm i"}`, "deny policy_deny", ""},
		{"to no command", `{"cmd":"ls"}`, "deny policy_deny", ""},
		{"with __proto__", `{"command":"ls","x":{"__proto__":1}}`, "deny confirmation_unavailable", ""}, // no answer at all
		{"to what is allowed", `{"command":"ls src"}`, "allow user_approved", "ls src"},
		{"to the same with another argument", `{"command":"deploy x","timeout":5}`, "allow user_approved", "deploy x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, Config{Policy: p}, prompt.Options{})
			d.person(says(prompt.Answer{Decision: prompt.Approve, Edited: []byte(c.edit)}))
			got := d.want(editable("deploy x"), c.want)
			if got.Value != c.runs || d.asked.Load() != 1 {
				t.Errorf("would run %q, want %q; asked %d times", got.Value, c.runs, d.asked.Load())
			}
			if !got.Allowed {
				return
			}
			if err := got.Spend(editable("deploy x")); !errors.Is(err, ErrChanged) {
				t.Errorf("the original runs in place of the edit: %v", err)
			}
		})
	}
	d := newDesk(t, Config{Policy: p}, prompt.Options{})
	answers := []prompt.Answer{{Decision: prompt.Approve, Edited: []byte(`{"command":"make x"}`)}, approve}
	var n atomic.Int32
	d.person(func(context.Context, prompt.View) (prompt.Answer, error) { return answers[n.Add(1)-1], nil })
	got := d.want(editable("make all"), "allow user_approved") // asks for another reason: shown again
	edited := editable("make x")
	edited.Args = got.Args
	if n.Load() != 2 || got.Value != "make x" || got.Spend(edited) != nil {
		t.Errorf("asked %d times, would run %q", n.Load(), got.Value)
	}
}
