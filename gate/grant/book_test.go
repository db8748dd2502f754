package grant

import (
	"errors"
	"sync"
	"testing"
	"time"

	"brainbox/gate/action"
	"brainbox/gate/rule"

	"github.com/google/go-cmp/cmp"
)

type clock struct{ at time.Duration }

func (c *clock) now() time.Duration { return c.at }

const policy = `{"*":"ask","bash":{"*":"ask","git *":"allow","git push *":"deny"},"external_directory":"ask"}`

func set(t testing.TB) *rule.Set {
	t.Helper()
	rules, err := rule.ParseJSON([]byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := rule.Compile(rule.Config{Scopes: []rule.Scope{{Kind: rule.Global, Rules: rules}}, Homes: []string{"/h"}, Roots: []string{"/w"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func decide(t testing.TB, b *Book, agent, surface, value string) rule.Decision {
	t.Helper()
	answers := set(t).Evaluate(rule.Query{Surface: surface, Value: value, Dir: "/w", Agent: agent})
	return rule.Fold(answers, rule.Inputs{Approvals: b.For(agent)})
}

func add(t testing.TB, b *Book, g Grant, l Lifetime) uint64 {
	t.Helper()
	id, err := b.Add(g, l)
	if err != nil || id == 0 {
		t.Fatal(id, err)
	}
	return id
}

func TestVectors(t *testing.T) {
	b := NewBook((&clock{}).now)
	add(t, b, Grant{Surface: "bash", Pattern: "git push *", Agent: "a"}, Run())
	add(t, b, Grant{Surface: "bash", Pattern: "git push origin", Exact: true, Whole: true}, Run())
	add(t, b, Grant{Surface: "bash", Pattern: "make *", Agent: "a"}, Run())
	for _, c := range []struct {
		id, agent, value string
		want             action.Action
		how              rule.Resolution
	}{
		{"bg/D31", "a", "git push origin", action.Deny, rule.PolicyDeny},
		{"bg/D32", "a", "make all", action.Allow, rule.SessionApproved},
		{"bg/D33", "b", "make all", action.Ask, rule.Unsettled},
		{"a floor", "a", "sudo make all", action.Ask, rule.Unsettled},
		{"another command beside it", "a", "make all; ls", action.Ask, rule.Unsettled},
		{"leading assignments", "a", "CC=x make all", action.Ask, rule.Unsettled},
		{"a computed word", "a", "make $X", action.Allow, rule.SessionApproved},
		{"one that may be denied", "a", "git $X", action.Ask, rule.Unsettled},
	} {
		if d := decide(t, b, c.agent, "bash", c.value); d.Action != c.want || d.Resolution != c.how {
			t.Errorf("%s %q: %v %q, want %v %q", c.id, c.value, d.Action, d.Resolution, c.want, c.how)
		}
	}
	add(t, b, Grant{Surface: "bash", Pattern: "make *", Whole: true}, Run())
	if d := decide(t, b, "b", "bash", "make all"); d.Action != action.Allow {
		t.Errorf("the whole session: %v", d.Action)
	}
	add(t, b, Grant{Surface: "bash", Pattern: "sudo make all", Exact: true, Agent: "a"}, Run())
	if d := decide(t, b, "a", "bash", "sudo make all"); d.Action != action.Allow {
		t.Errorf("the text of a floor: %v, %+v", d.Action, d.Asks)
	}
	if d := decide(t, b, "a", "bash", "sudo make all ''"); d.Action != action.Ask {
		t.Errorf("another text: %v", d.Action)
	}
}

func TestAddRefuses(t *testing.T) {
	b := NewBook((&clock{}).now)
	for _, c := range []struct {
		name string
		g    Grant
		l    Lifetime
		want error
	}{
		{"nothing", Grant{}, Run(), ErrNotOne},
		{"no pattern", Grant{Surface: "bash", Agent: "a"}, Run(), ErrNotOne},
		{"nobody", Grant{Surface: "bash", Pattern: "x"}, Run(), ErrWho},
		{"both", Grant{Surface: "bash", Pattern: "x", Agent: "a", Whole: true}, Run(), ErrWho},
		{"a pattern for a protected name", Grant{Surface: "write", Pattern: "/w/*", Row: ".git", Agent: "a"}, Run(), ErrPattern},
		{"the past", Grant{Surface: "bash", Pattern: "x", Agent: "a"}, For(-time.Second), ErrExpired},
	} {
		if id, err := b.Add(c.g, c.l); !errors.Is(err, c.want) || id != 0 {
			t.Errorf("%s: %d, %v", c.name, id, err)
		}
	}
	if _, err := b.Add(Grant{Surface: "bash", Pattern: "\xff", Agent: "a"}, Run()); err == nil {
		t.Error("a pattern that is none")
	}
	for range MaxGrants {
		add(t, b, Grant{Surface: "bash", Pattern: "x", Agent: "a"}, Once())
	}
	if _, err := b.Add(Grant{Surface: "bash", Pattern: "x", Agent: "a"}, Once()); !errors.Is(err, ErrFull) {
		t.Errorf("one more: %v", err)
	}
}

func TestLifetimes(t *testing.T) {
	c := &clock{at: time.Hour}
	b := NewBook(c.now)
	once := add(t, b, Grant{Surface: "bash", Pattern: "once", Agent: "a"}, Once())
	timed := add(t, b, Grant{Surface: "bash", Pattern: "timed", Agent: "a"}, For(time.Minute))
	run := add(t, b, Grant{Surface: "bash", Pattern: "run", Agent: "a"}, Run())

	d := decide(t, b, "a", "bash", "once")
	if again := decide(t, b, "a", "bash", "once"); d.Action != action.Allow || again.Action != action.Allow {
		t.Fatalf("judging uses a grant up: %v, %v", d.Action, again.Action)
	}
	if !b.Use(d.Grants) || b.Use(d.Grants) {
		t.Error("a grant for one call is used never, or twice")
	}
	if d := decide(t, b, "a", "bash", "once"); d.Action != action.Ask {
		t.Errorf("after its call: %v", d.Action)
	}
	c.at += time.Minute - 1
	if d := decide(t, b, "a", "bash", "timed"); d.Action != action.Allow {
		t.Errorf("in its time: %v", d.Action)
	}
	if list := b.List(); len(list) != 2 || list[0].ID != timed || list[0].Left != 1 || list[1].Left != 0 {
		t.Errorf("%+v", list)
	}
	c.at++
	if d := decide(t, b, "a", "bash", "timed"); d.Action != action.Ask {
		t.Errorf("after its time: %v", d.Action)
	}
	if b.Revoke(once) || b.Revoke(timed) || !b.Revoke(run) || b.Revoke(run) {
		t.Error("what is over is revoked, or what holds is not")
	}
	add(t, b, Grant{Surface: "bash", Pattern: "run", Agent: "a"}, Run())
	b.RevokeAll()
	if len(b.List()) != 0 || decide(t, b, "a", "bash", "run").Action != action.Ask {
		t.Error("a grant outlives the session")
	}
}

// Of all that rely on one grant for one call, one gets it.
func TestOnceIsUsedOnce(t *testing.T) {
	b := NewBook((&clock{}).now)
	add(t, b, Grant{Surface: "bash", Pattern: "x", Agent: "a"}, Once())
	var wg sync.WaitGroup
	var mu sync.Mutex
	used := 0
	for range 20 {
		wg.Go(func() {
			d := decide(t, b, "a", "bash", "x")
			if d.Action == action.Allow && b.Use(d.Grants) {
				mu.Lock()
				used++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if used != 1 {
		t.Errorf("used %d times", used)
	}
}

// A grant for a folder does not follow a link out of it.
func TestPathsAreTheirTargets(t *testing.T) {
	b := NewBook((&clock{}).now)
	add(t, b, Grant{Surface: rule.ExternalRead, Pattern: "/x/*", Agent: "a"}, Run())
	add(t, b, Grant{Surface: "read", Pattern: "*", Agent: "a"}, Run())
	for value, want := range map[string]action.Action{"/x/a": action.Allow, "/x/link": action.Ask, "/y": action.Ask} {
		answers := set(t).Evaluate(rule.Query{Surface: "read", Value: value, Dir: "/w", Agent: "a", Resolver: link{}})
		if d := rule.Fold(answers, rule.Inputs{Approvals: b.For("a")}); d.Action != want {
			t.Errorf("%s: %v, want %v", value, d.Action, want)
		}
	}
}

type link struct{}

func (link) Resolve(p string) (string, bool, error) {
	if p == "/x/link" {
		return "/etc/shadow", true, nil
	}
	return p, true, nil
}

func TestProtectedRows(t *testing.T) {
	b := NewBook((&clock{}).now)
	add(t, b, Grant{Surface: "write", Pattern: "/w/.git/config", Row: ".git", Exact: true, Agent: "a"}, Run())
	hit := rule.Answer{Layer: rule.Judge, Surface: "write", Value: "/w/.git/config", Row: ".git", Action: action.Ask}
	other, row := hit, hit
	other.Value, row.Row = "/w/.git/hooks", ".husky"
	for _, c := range []struct {
		a    rule.Answer
		want bool
	}{{hit, true}, {other, false}, {row, false}} {
		if _, ok := b.For("a").Approves(&c.a, true); ok != c.want {
			t.Errorf("%s of %s: %v", c.a.Value, c.a.Row, ok)
		}
	}
}

func TestSuggest(t *testing.T) {
	bash := func(v string) rule.Answer { return rule.Answer{Surface: "bash", Value: v, Action: action.Ask} }
	for _, c := range []struct {
		a    rule.Answer
		want []string
	}{
		{bash("git checkout main"), []string{"git checkout main", "git checkout *"}},
		{bash("npm run dev --x"), []string{"npm run dev --x", "npm run dev*"}},
		{bash("frob -x y"), []string{"frob -x y", "frob *"}},
		{bash("git --no-pager log"), []string{"git --no-pager log"}},
		{bash("git $X"), []string{"git $X"}},
		{bash("git"), []string{"git"}},
		{bash("python -m pytest x"), []string{"python -m pytest x", "python -m pytest *"}},
		{bash(`"a b" c`), []string{`"a b" c`}},
		{rule.Answer{Surface: "bash", Value: "sudo x", Floor: "<x>"}, []string{"sudo x"}},
		{rule.Answer{Surface: "skill", Value: "s"}, []string{"s"}},
		{rule.Answer{Surface: "mcp", Value: "server:tool"}, []string{"server:tool", "server:*"}},
		{rule.Answer{Layer: rule.External, Surface: rule.ExternalRead, Value: "/x/y/z"}, []string{"/x/y/z", "/x/y/*"}},
		{rule.Answer{Layer: rule.External, Surface: rule.ExternalRead, Value: "/x"}, []string{"/x"}},
		{rule.Answer{Layer: rule.Judge, Surface: "write", Value: "/w/.git/config", Row: ".git"}, []string{"/w/.git/config"}},
	} {
		var got []string
		for i, g := range Suggest(&c.a) {
			got = append(got, g.Pattern)
			if g.Exact != (i == 0) || g.Surface != c.a.Surface || g.Row != "" && !g.Exact {
				t.Errorf("%q: %+v", c.a.Value, g)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.a.Value, diff)
		}
	}
}
