package rule

import (
	"testing"

	"brainbox/gate/action"
)

// The targets of a call count also where its surface is of a family.
func TestFamilyTargets(t *testing.T) {
	q := ask(PathRead, "src")
	set := mustCompile(t, global(t, `{"*":"allow","path":{"*":"allow","*.env":"deny"}}`))
	if got := Fold(set.Evaluate(q), Inputs{}); got.Action != allow {
		t.Fatal(got.Action)
	}
	q.Targets = []Target{{Path: "x.env"}}
	if got := Fold(set.Evaluate(q), Inputs{}); got.Action != deny {
		t.Error(got.Action)
	}
}

// A computed word may be what a rule of the fallback denies or asks about, where no rule
// of the surface answers.
func TestFallbackUnresolved(t *testing.T) {
	for policy, want := range map[string]action.Action{
		`{"*":{"*":"allow","cat rm*":"deny"}}`:                           asks,
		`{"*":{"*":"allow","cat rm*":"ask"}}`:                            asks,
		`{"bash":{"make a":"allow"},"*":{"*":"allow","cat rm*":"deny"}}`: asks,
		`{"*":{"cat rm*":"deny","*":"allow"}}`:                           allow,
		`{"bash":{"cat *":"allow"},"*":{"*":"allow","cat rm*":"deny"}}`:  allow,
		`{"bash":{"cat *":"deny"},"*":{"*":"allow","cat rm*":"ask"}}`:    deny,
		`{"*":{"*":"allow","dog rm*":"deny"}}`:                           allow,
	} {
		if got := Fold(mustCompile(t, global(t, policy)).Evaluate(ask(Bash, "cat $X")), Inputs{}); got.Action != want {
			t.Errorf("%s: %s, want %s", policy, got.Action, want)
		}
	}
}
