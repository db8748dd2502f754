package launcher

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestCoreClause(t *testing.T) {
	const none = "RLIMIT_CORE 0"
	for _, tt := range []struct {
		name   string
		fact   CoreFact
		policy string
		inside bool
		state  State
		how    string
		limit  uint64
	}{
		{name: "the limit may be set", state: StateEnforced, how: "RLIMIT_CORE 1", limit: 1},
		{name: "a handler, and the limit may be set", fact: CoreFact{Handler: CoreProgram}, state: StateEnforced, how: "RLIMIT_CORE 1", limit: 1},
		{name: "none, files", fact: CoreFact{None: true}, state: StateEnforced, how: none},
		{name: "none, a handler", fact: CoreFact{None: true, Handler: CoreProgram}, state: StateRefused},
		{name: "none, a handler, raised", fact: CoreFact{None: true, Handler: CoreProgram, Raise: true}, state: StateEnforced, how: "RLIMIT_CORE 1", limit: 1},
		{name: "none, a handler, not to be raised inside", fact: CoreFact{None: true, Handler: CoreProgram, Raise: true}, inside: true, state: StateRefused},
		{
			name: "none, a handler, accepted", fact: CoreFact{None: true, Handler: CoreProgram},
			policy: "[sandbox]\ndegraded = [\"core\"]\n", state: StateOpen,
		},
		{name: "a socket", fact: CoreFact{Handler: CoreSocket}, state: StateRefused, limit: 1},
		{name: "a socket, none", fact: CoreFact{None: true, Handler: CoreSocket}, inside: true, state: StateRefused},
		{
			name: "a socket, accepted", fact: CoreFact{Handler: CoreSocket},
			policy: "[sandbox]\ndegraded = [\"core\"]\n", state: StateOpen, limit: 1,
		},
		{name: "unknown", fact: CoreFact{Handler: CoreUnknown}, state: StateRefused, limit: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := resolve(t, tt.policy)
			f := host{abi: 7, uid: 1000}.facts(p)
			f.Core = tt.fact
			plan := &Plan{}
			d := &planner{pol: p, facts: f, plan: plan, inside: tt.inside}
			d.rlimits()
			c := plan.Clauses[len(plan.Clauses)-1]
			if c.Name != "core" || c.State != tt.state || c.Mechanism != tt.how || (c.Route == "") != (c.Mechanism != "") {
				t.Errorf("got %+v, want %v by %q", c, tt.state, tt.how)
			}
			if l := plan.Limits[0]; l.Resource != unix.RLIMIT_CORE || l.Cur != tt.limit || l.Max != tt.limit {
				t.Errorf("limit %+v, want %d", l, tt.limit)
			}
		})
	}
}

func TestCoreHandler(t *testing.T) {
	for pattern, want := range map[string]CoreHandler{
		"core\n": CoreFile, "\n": CoreFile, "/var/%p@x\n": CoreFile, "|/usr/lib/handler %P\n": CoreProgram,
		"@/run/cores.sock\n": CoreSocket, "@@/run/cores.sock\n": CoreSocket, "": CoreUnknown,
	} {
		if got := coreHandler(pattern); got != want {
			t.Errorf("%q: %d, want %d", pattern, got, want)
		}
	}
}
