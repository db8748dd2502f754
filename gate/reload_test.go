package gate

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"brainbox/gate/event"
	"brainbox/gate/grant"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
)

// A policy that cannot be read leaves the old one, with what it allows asked about.
func TestReload(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{PerSecond: 1000})
	d.want(bash("git status"), "allow policy_allow")
	sub, err := d.hub.Subscribe(event.Subscribe{Topics: []event.Topic{event.TopicPolicyError}})
	if err != nil {
		t.Fatal(err)
	}
	d.g.Keep("global", errors.New("no\x1bfile"))
	if e, err := sub.Next(t.Context()); err != nil || !strings.Contains(e.Data, `"global"`) {
		t.Errorf("%v, %v", e, err)
	}
	got := d.want(bash("git status"), "deny confirmation_unavailable")
	if got.Asks[0].Origin != rule.OriginFailClosed {
		t.Errorf("origin %q", got.Asks[0].Origin)
	}
	d.want(bash("npm i"), "deny policy_deny")
	if err := d.g.Swap(compiled(t, `{"bash":{"git *":"deny","npm *":"allow"}}`)); err != nil {
		t.Fatal(err)
	}
	d.want(bash("git status"), "deny policy_deny")
	d.want(bash("npm i"), "allow policy_allow")
	if d.g.Swap(nil) == nil {
		t.Error("no policy was taken for one")
	}
}

// An answer to what is pending counts only as far as the newest policy agrees.
func TestReloadWhileAsking(t *testing.T) {
	for _, c := range []struct {
		name, next, want string
	}{
		{"denies it", `{"bash":{"make *":"deny"}}`, "deny policy_deny"},
		{"asks for another reason", `{"bash":{"*":"allow","make *":"ask"}}`, "deny confirmation_unavailable"},
		{"cannot be read", "", "allow user_approved"},
		{"allows it", `{"bash":"allow"}`, "allow user_approved"},
		{"asks for the same", vectorPolicy, "allow user_approved"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{})
			d.person(func(context.Context, prompt.View) (prompt.Answer, error) {
				if c.next == "" {
					d.g.Keep("global", nil)
					return approve, nil
				}
				return approve, d.g.Swap(compiled(t, c.next))
			})
			d.want(bash("make all"), c.want)
		})
	}
}

// A grant that is gone by the time of the answer does not count.
func TestGrantWithdrawnWhileAsking(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{PerSecond: 1000})
	id, err := d.g.book.Add(grant.Grant{Surface: "bash", Pattern: "make *", Agent: "a"}, grant.Run())
	if err != nil {
		t.Fatal(err)
	}
	var once atomic.Bool
	d.person(func(context.Context, prompt.View) (prompt.Answer, error) {
		if once.CompareAndSwap(false, true) {
			d.g.Revoke(id)
		}
		return approve, nil
	})
	d.want(bash("make a; tar x"), "deny confirmation_unavailable")
	d.want(bash("make a; tar x"), "allow user_approved")
	if _, err := d.g.book.Add(grant.Grant{Surface: "bash", Pattern: "make b", Exact: true, Agent: "a"}, grant.Once()); err != nil {
		t.Fatal(err)
	}
	d.want(bash("make b"), "allow session_approved")
	d.want(bash("make b"), "allow user_approved") // the one use is used up
}

// What was never shown is not shown because a policy could not be read in between.
func TestReloadTwiceWhileAsking(t *testing.T) {
	d := newDesk(t, Config{Policy: compiled(t, vectorPolicy)}, prompt.Options{})
	asks := compiled(t, `{"bash":{"*":"ask"},"path":"ask"}`)
	slow := authorizer{"slow", func(context.Context) rule.Verdict {
		_ = d.g.Swap(asks) // while the answer is held against the clamped policy
		return rule.Verdict{Defer: true}
	}}
	d.person(func(context.Context, prompt.View) (prompt.Answer, error) {
		d.g.c.Authorizers = []Authorizer{slow}
		d.g.Keep("global", nil)
		return approve, nil
	})
	d.want(bash("make ./x"), "deny confirmation_unavailable")
}
