package export

import (
	"slices"
	"strings"
	"testing"

	"brainbox/launcher"
	"brainbox/policy"
)

// TestEveryClauseIsAccountedFor: each clause that a plan can have is held by something or
// looked at, and one that nobody has thought of is a gap that no flag accepts.
func TestEveryClauseIsAccountedFor(t *testing.T) {
	gaps := func(name string) []Gap {
		in := ordinary().input(t, `extends = ["default"]`)
		in.Plan.Clauses = []launcher.Clause{{Name: name, State: launcher.StateEnforced, Entries: []launcher.Entry{{Value: "1", State: launcher.StateEnforced}}}}
		b := &bundle{Input: in}
		b.gapsOfClauses()
		return slices.DeleteFunc(b.gaps, func(g Gap) bool { return !strings.HasPrefix(g.Why, "nobody has said") })
	}
	for _, name := range policy.Clauses() {
		if got := gaps(name); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, c := range ordinary().input(t, `extends = ["default"]`).Plan.Clauses {
		if !slices.Contains(policy.Clauses(), c.Name) {
			t.Errorf("the plan has a clause %q that policy.Clauses does not name", c.Name)
		}
	}
	if got := gaps("new"); len(got) != 1 || len(Open(got, Clauses())) != 1 {
		t.Errorf("a clause that is new: %v", got)
	}
}

// TestMemoryIsNotSwapped: the limit is one of memory and swap together, as in a run.
func TestMemoryIsNotSwapped(t *testing.T) {
	spec, _, err := OCI(ordinary().input(t, "extends = [\"default\"]\n[process]\nmemory = \"1MiB\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := spec.Linux.Resources.Memory
	if m == nil || m.Limit == nil || m.Swap == nil || *m.Limit != 1<<20 || *m.Swap != *m.Limit {
		t.Errorf("%+v", m)
	}
}
