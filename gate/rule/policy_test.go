package rule_test

import (
	"fmt"
	"testing"

	"brainbox/gate/action"
	"brainbox/gate/rule"
	"brainbox/policy"
)

// TestRulesOfAPolicy joins what a policy file says with this package, as the gate
// does: the package itself knows no policy.
func TestRulesOfAPolicy(t *testing.T) {
	const text = `version = 1
[[gate.rule]]
surface = "bash"
pattern = "git *"
action = "allow"
[[gate.rule]]
surface = "path"
pattern = "*.env"
action = "deny"
[[gate.rule]]
surface = "bash"
pattern = "git push *"
action = "ask"
tighten = true
`
	layer, err := policy.Parse(policy.KindFile, "p.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var raw []rule.Raw
	for _, r := range layer.Policy.Gate.Rules {
		src := layer.Policy.Sources[r.Source]
		raw = append(raw, rule.Raw{
			Surface: r.Surface, Pattern: r.Pattern, Action: r.Action, Tighten: r.Tighten,
			Where: fmt.Sprintf("%s:%d", src.Name, src.Line),
		})
	}
	scopes, err := rule.FromRaw(raw)
	if err != nil {
		t.Fatal(err)
	}
	set, _, err := rule.Compile(rule.Config{Scopes: scopes, Roots: []string{"/w"}})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]action.Action{
		"git status": action.Allow, "git push": action.Ask, "git add .env": action.Deny, "make": action.Ask,
	} {
		if a, err := set.Check(rule.Query{Surface: "bash", Value: value, Dir: "/w"}); err != nil || a.Action != want {
			t.Errorf("%q: %v, %v, want %v", value, a.Action, err, want)
		}
	}
}
