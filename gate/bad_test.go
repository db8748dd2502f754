package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brainbox/gate/action"
	"brainbox/gate/confirm"
	"brainbox/gate/event"
	"brainbox/gate/grant"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
)

type authorizer struct {
	name string
	f    func(ctx context.Context) rule.Verdict
}

func (a authorizer) Name() string { return a.name }
func (a authorizer) Authorize(ctx context.Context, _ Call, _ []rule.Answer) rule.Verdict {
	return a.f(ctx)
}

// An authorizer that fails denies, and is asked about nothing that a rule decides.
func TestAuthorizers(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	allows := func(context.Context) rule.Verdict { return rule.Verdict{Action: action.Allow} }
	passes := func(context.Context) rule.Verdict { return rule.Verdict{Defer: true} }
	for _, c := range []struct {
		name string
		list []Authorizer
		call Call
		want string
	}{
		{"panics", []Authorizer{authorizer{"p", func(context.Context) rule.Verdict { panic("x") }}}, bash("make"), "deny authorizer_denied"},
		{"hangs", []Authorizer{authorizer{"h", func(context.Context) rule.Verdict { <-release; return rule.Verdict{Action: action.Allow} }}}, bash("make"), "deny authorizer_denied"},
		{"says nothing", []Authorizer{authorizer{"z", func(context.Context) rule.Verdict { return rule.Verdict{} }}}, bash("make"), "deny authorizer_denied"},
		{"one denies later", []Authorizer{authorizer{"d", passes}, authorizer{"z", func(context.Context) rule.Verdict { return rule.Verdict{} }}}, bash("make"), "deny authorizer_denied"},
		{"allows what a rule denies", []Authorizer{authorizer{"a", allows}}, bash("npm i"), "deny policy_deny"},
		{"allows a path", []Authorizer{authorizer{"a", allows}}, file("read_file", "/etc/hosts"), "deny confirmation_unavailable"},
		{"denies what a rule allows", []Authorizer{authorizer{"z", func(context.Context) rule.Verdict { return rule.Verdict{} }}}, bash("git status"), "allow policy_allow"},
		{"defers", []Authorizer{authorizer{"d", passes}}, bash("make"), "deny confirmation_unavailable"},
		{"allows", []Authorizer{authorizer{"a", allows}}, bash("make"), "allow authorizer_allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wait := time.Minute
			if c.name == "hangs" {
				wait = 20 * time.Millisecond
			}
			d := newDesk(t, Config{Policy: compiled(t, vectorPolicy), Authorizers: c.list, Wait: wait}, prompt.Options{})
			d.want(c.call, c.want)
		})
	}
	for _, list := range [][]Authorizer{{authorizer{"d", passes}}, {authorizer{"z", func(context.Context) rule.Verdict { return rule.Verdict{} }}}} {
		d := newDesk(t, Config{Policy: compiled(t, vectorPolicy), Authorizers: list, OnAskAllow: true}, prompt.Options{})
		want := map[string]string{"d": "allow auto_approved", "z": "deny authorizer_denied"}[list[0].Name()]
		d.want(bash("make"), want) // before a standing consent
	}
}

type panics struct{}

func (panics) Resolve(string) (string, bool, error) { panic("resolver") }

type hangs struct{ until chan struct{} }

func (h hangs) Resolve(p string) (string, bool, error) { <-h.until; return p, true, nil }

// bg/D52: whatever panics or hangs, the answer is a denial with its one event.
func TestFaults(t *testing.T) {
	h := hangs{make(chan struct{})}
	defer close(h.until)
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{Env: noTree{}, OnAbsent: func(protect.Absence) { panic("told") }})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Config{
		"the resolver panics":                   {Resolver: panics{}},
		"the resolver hangs":                    {Resolver: h, Wait: 10 * time.Millisecond},
		"the one who is told of absence panics": {Judge: judge},
	} {
		t.Run(name, func(t *testing.T) {
			c.Policy, c.OnAskAllow = compiled(t, allowAll), true
			d := newDesk(t, c, prompt.Options{})
			d.want(file("write_file", "x"), "deny gate_error")
			if _, err := d.g.Check(t.Context(), Call{Surface: "path_write", Cwd: "/w/p", Reading: Reading{Value: "x"}}); err == nil {
				t.Error("a check answered")
			}
		})
	}
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{})
	d.person(says(prompt.Answer{Decision: prompt.Approve, Edited: []byte(`{"command":"ls"}`)}))
	c := bash("make")
	c.Reread = func(json.RawMessage) (Reading, error) { panic("reread") }
	d.want(c, "deny gate_error")
}

type noTree struct{}

func (noTree) Dir() string { return "/w/p" }
func (noTree) Resolve(context.Context, string, bool) (protect.Place, error) {
	return protect.Place{}, errors.New("no answer")
}

// What nobody could be shown, and what is no call, is refused.
func TestBadCalls(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, allowAll), OnAskAllow: true}, prompt.Options{})
	long := bash(strings.Repeat("x", 10<<20))
	nul := file("write_file", "a\x00b") // bg/C80
	forged := bash("ls")
	forged.Args = json.RawMessage(`{"command":"rm -rf /"}`)
	twice := bash("ls")
	twice.Args = json.RawMessage(`{"command":"ls","command":"rm"}`)
	args := func(text string) Call {
		c := bash("ls")
		c.Args = json.RawMessage(text)
		return c
	}
	for name, c := range map[string]Call{
		"10 MiB": long, "U+0000": nul, "no surface": {}, "a layer of the gate": {Surface: singleUse, Tool: "x"},
		"another command in its arguments": forged, "a key twice": twice,
		"a key twice, of another tool": {Surface: "read", Tool: "r", Reading: Reading{Value: "a"}, Args: json.RawMessage(`{"path":"a","path":"b"}`)},
		"the command in another case":  args(`{"Command":"rm","command":"ls"}`), "a command that is a list": args(`{"command":["rm"]}`), "no JSON": {Surface: "bash", Tool: "bash", Args: json.RawMessage("{")},
	} {
		if got := d.decide(c); got.Resolution != event.GateError {
			t.Errorf("%s: %v", name, got.Resolution)
		}
	}
	deep := bash(strings.Repeat("$(", 60<<10))
	d.want(deep, "allow auto_approved") // a floor, which the operator consents to
	d.want(bash("ls"), "allow policy_allow")
	quiet := newDesk(t, Config{Policy: compiled(t, allowAll)}, prompt.Options{})
	quiet.want(bash("echo "+strings.Repeat("x", 128<<10)), "deny confirmation_unavailable") // the floor of 128 KiB
	quiet.want(bash(strings.Repeat("x", 600<<10)), "deny gate_error")                       // more than a prompt shows
}

// A name that may not be what it looks like is not answered for by a rule that allows.
func TestDoubtfulNames(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, allowAll)}, prompt.Options{PerSecond: 1000})
	host := bash("ls")
	host.Hosts = []string{"xn--pi-6kc.example.com"}
	for name, c := range map[string]Call{
		"tool": {Tool: "re\u0430d"}, "program": bash("g\u0456t status; ls"), "host": host,
	} {
		if got := d.decide(c); got.Allowed || reasons(got) != doubtful {
			t.Errorf("%s: %v, asked %q", name, got.Resolution, reasons(got))
		}
	}
	d.want(bash("echo \u0430"), "allow policy_allow") // an argument is no name
}

// Large tables and wrong policies.
func TestPolicies(t *testing.T) {
	if _, _, err := Compile(Policy{Confirm: confirm.Config{Confirm: []confirm.Source{{Pattern: "("}}}}); err == nil {
		t.Error("a list without any valid pattern is a policy")
	}
	if _, _, err := Compile(Policy{Rules: rule.Config{Scopes: []rule.Scope{{Kind: rule.Global, Rules: []rule.Rule{{Surface: "path_wrote", Pattern: "*"}}}}}}); err == nil {
		t.Error("a misspelled direction is a policy")
	}
	if _, notices, err := Compile(Policy{Confirm: confirm.Config{More: []confirm.Source{{Pattern: "("}, {Pattern: "x"}}}}); err != nil || len(notices) != 1 {
		t.Errorf("%v, %v", notices, err)
	}
	for _, c := range []Config{{}, {Policy: &Compiled{}, Hub: event.New(event.Options{})}, {Policy: compiled(t, "{}")}} {
		if _, err := New(c); err == nil {
			t.Errorf("a gate of %+v", c)
		}
	}
	var rows []protect.Entry
	for i := range 1024 {
		rows = append(rows, protect.Entry{Name: fmt.Sprintf("row%d", i)})
	}
	judge, _, err := protect.Compile(protect.Seat{Set: true, Entries: rows}, protect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, Config{Policy: compiled(t, allowAll), Judge: judge}, prompt.Options{PerSecond: 1000})
	d.want(file("write_file", "row1023/x"), "deny confirmation_unavailable")
	d.want(file("write_file", "row1024/x"), "allow policy_allow")
}

// What the policy says about paths, as data.
func TestScope(t *testing.T) {
	p := compiled(t, `{"path":{"*.env":"deny"},"path_write":{"/w/p/.git/hooks/*":"ask"},"external_directory":{"*":"ask","/h/cache/*":"allow"},"external_directory_read":{"/etc/x*":"allow","/opt/y":"allow"}}`)
	d := newDesk(t, Config{Policy: p}, prompt.Options{})
	got := fmt.Sprint(d.g.Scope())
	const want = "{[{/w/p 0} {/h/cache 0} {/opt/y 1}] [{*.env 0} {/w/p/.git/hooks/* 2}]}"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A wall clock that jumps changes nothing: no deadline and no grant is taken from it.
func TestClockJumps(t *testing.T) {
	var jump atomic.Int64
	hub := event.New(event.Options{Now: func() time.Time {
		return time.Unix(0, 0).Add(time.Duration(jump.Add(1)) * (-1000) * time.Hour)
	}})
	broker, err := prompt.New(prompt.Options{Hub: hub, Grace: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	g, err := New(Config{Policy: compiled(t, vectorPolicy), Hub: hub, Broker: broker, Unjudged: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.book.Add(grant.Grant{Surface: "bash", Pattern: "make *", Whole: true}, grant.For(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]event.Resolution{
		"make x": event.SessionApproved, "tar x": event.ConfirmationUnavailable, "npm i": event.PolicyDeny, "git status": event.PolicyAllow,
	} {
		if d := g.Decide(t.Context(), bash(command)); d.Resolution != want {
			t.Errorf("%s: %v, want %v", command, d.Resolution, want)
		}
	}
}

// FuzzDenied: what the rules deny stays denied, with everything that allows on its side:
// approvals for all, an authorizer, a standing consent and a person.
func FuzzDenied(f *testing.F) {
	for _, s := range []string{"npm i", "ls; npm i", "FOO=1 npm i", "bash -c 'npm i'", "cat .env", "ls > x.env", "git push", "ls $(git push)", "{ npm i", "\u0430 && npm i"} {
		f.Add(s, "x")
		f.Add("ls", s)
	}
	p := compiled(f, vectorPolicy, func(p *Policy) { p.Confirm = confirm.Config{} })
	hub := event.New(event.Options{})
	broker, err := prompt.New(prompt.Options{Hub: hub, Grace: time.Millisecond})
	if err != nil {
		f.Fatal(err)
	}
	easy := authorizer{"easy", func(context.Context) rule.Verdict { return rule.Verdict{Action: action.Allow} }}
	g, err := New(Config{Policy: p, Hub: hub, Broker: broker, Unjudged: true, OnAskAllow: true, Authorizers: []Authorizer{easy}})
	if err != nil {
		f.Fatal(err)
	}
	for _, surface := range []string{"bash", "read", "path_read", "path_write", "external_directory_read"} {
		if _, err := g.book.Add(grant.Grant{Surface: surface, Pattern: "*", Whole: true}, grant.Run()); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, command, path string) {
		for _, c := range []Call{bash(command), file("read_file", path)} {
			c.Args = nil
			denied := false
			for _, a := range p.set.Evaluate(c.query(nil)) {
				denied = denied || a.Action == action.Deny
			}
			d := g.Decide(context.Background(), c)
			if denied && d.Allowed {
				t.Errorf("%q passed as %v", c.Value, d.Resolution)
			}
			if d.Allowed != d.Resolution.Allowed() {
				t.Errorf("%q: allowed %v as %v", c.Value, d.Allowed, d.Resolution)
			}
			d.Close()
		}
	})
}
