package confirm_test

import (
	"testing"

	"brainbox/gate/confirm"
	"brainbox/policy"
)

// configOf is what a host does with the gate part of a policy: the fields have the same
// meaning.
func configOf(g policy.Gate) confirm.Config {
	sources := func(items []policy.Item[policy.Confirm]) (out []confirm.Source) {
		for _, i := range items {
			out = append(out, confirm.Source{Pattern: i.V.Pattern, Effect: i.V.Effect})
		}
		return out
	}
	return confirm.Config{Confirm: sources(g.Confirm), More: sources(g.ConfirmMore), None: g.NoConfirm.V}
}

func TestPolicyGate(t *testing.T) {
	item := func(p string) []policy.Item[policy.Confirm] {
		return []policy.Item[policy.Confirm]{{V: policy.Confirm{Pattern: p, Effect: "do " + p}}}
	}
	none := policy.Value[bool]{V: true, Set: true}
	table := len(confirm.Defaults())
	for _, c := range []struct {
		name string
		gate policy.Gate
		len  int
		hit  string // by this command, with this effect
		want string
	}{
		{"nothing set selects the table", policy.Gate{}, table, "git push -f", "overwrite the history of a remote repository"},
		{"confirm replaces the table", policy.Gate{Confirm: item("aa")}, 1, "aa", "do aa"},
		{"confirm_more comes on top of the table", policy.Gate{ConfirmMore: item("bb")}, table + 1, "bb", "do bb"},
		{"confirm_more comes on top of confirm", policy.Gate{Confirm: item("aa"), ConfirmMore: item("bb")}, 2, "bb aa", "do aa"},
		{"confirm = [] switches off", policy.Gate{NoConfirm: none}, 0, "", ""},
		{"and confirm_more still holds", policy.Gate{NoConfirm: none, ConfirmMore: item("bb")}, 1, "bb", "do bb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := confirm.Compile(configOf(c.gate), func(i confirm.Issue) { t.Error(i) })
			if err != nil || p.Len() != c.len {
				t.Fatalf("%d patterns, %v, want %d", p.Len(), err, c.len)
			}
			if got, ok := p.First(c.hit); ok != (c.want != "") || got.Effect() != c.want {
				t.Errorf("First(%q) = %q, want %q", c.hit, got.Effect(), c.want)
			}
		})
	}
	for name, g := range map[string]policy.Gate{
		"none and some":         {Confirm: item("a"), NoConfirm: none},
		"no valid confirm_more": {ConfirmMore: item("(")},
		"no valid confirm":      {Confirm: item("("), ConfirmMore: item("b")},
	} {
		if p, err := confirm.Compile(configOf(g), nil); err == nil {
			t.Errorf("%s: %v", name, p)
		}
	}
}
