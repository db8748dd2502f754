package rule

import (
	"slices"
	"testing"

	"brainbox/gate/action"
	"brainbox/gate/shell"
)

// yes approves the surfaces it lists, and exactly the values it lists.
type yes struct{ surfaces, values []string }

func (y yes) Approves(a *Answer, exact bool) (uint64, bool) {
	if slices.Contains(y.values, a.Value) {
		return 2, true
	}
	return 1, !exact && slices.Contains(y.surfaces, a.Surface)
}

func TestFold(t *testing.T) {
	tool := func(a action.Action) Answer { return Answer{Layer: Tool, Surface: "bash", Value: "v", Action: a} }
	floor := Answer{Surface: "bash", Value: "sudo v", Action: allow, Floor: shell.Indirection}
	external := Answer{Layer: External, Surface: ExternalRead, Value: "/x", Action: asks}
	hit := Answer{Layer: Judge, Surface: "write", Value: "/w/.git/config", Action: asks, Row: ".git"}
	bad := Answer{Layer: Judge, Surface: "write", Action: deny}
	every := yes{surfaces: []string{"bash", ExternalRead, "write"}}
	authorize := []Verdict{{Name: "one", Defer: true}, {Name: "two", Action: allow}}
	for _, c := range []struct {
		name    string
		answers []Answer
		in      Inputs
		want    action.Action
		how     Resolution
		asks    int
	}{
		{"no answers", nil, Inputs{OnAskAllow: true, Approvals: every}, deny, PolicyDeny, 0},
		{"an answer that is none", []Answer{tool(7)}, Inputs{}, deny, PolicyDeny, 0},
		{"a later denial goes before an ask", []Answer{tool(asks), external, tool(deny)}, Inputs{OnAskAllow: true, Approvals: every, Authorizers: authorize}, deny, PolicyDeny, 0},
		{"a denial of the judge", []Answer{tool(allow), bad}, Inputs{OnAskAllow: true, Approvals: every}, deny, WriteProtected, 0},
		{"allowed by rules", []Answer{tool(allow), tool(allow)}, Inputs{}, allow, PolicyAllow, 0},
		{"every reason is asked at once", []Answer{tool(asks), external, floor}, Inputs{}, asks, Unsettled, 3},
		{"an approval answers its own surface only", []Answer{tool(asks), external}, Inputs{Approvals: yes{surfaces: []string{"bash"}}}, asks, Unsettled, 1},
		{"approvals for all of it", []Answer{tool(asks), external, tool(allow)}, Inputs{Approvals: every}, allow, SessionApproved, 0},
		{"a floor takes no approval by pattern", []Answer{floor}, Inputs{Approvals: every}, asks, Unsettled, 1},
		{"a floor takes one of its text", []Answer{floor}, Inputs{Approvals: yes{values: []string{"sudo v"}}}, allow, SessionApproved, 0},
		{"a protected name takes no approval by pattern", []Answer{hit}, Inputs{Approvals: every}, asks, Unsettled, 1},
		{"authorizers in order", []Answer{tool(asks)}, Inputs{Authorizers: authorize}, allow, AuthorizerAllows, 0},
		{"an authorizer denies", []Answer{tool(asks)}, Inputs{Authorizers: []Verdict{{Action: deny}, {Action: allow}}, OnAskAllow: true}, deny, AuthorizerDenies, 0},
		{"an authorizer does not allow a boundary", []Answer{tool(asks), external}, Inputs{Authorizers: authorize}, asks, Unsettled, 2},
		{"an authorizer denies a boundary", []Answer{external}, Inputs{Authorizers: []Verdict{{}}}, deny, AuthorizerDenies, 0},
		{"an authorizer is not asked without a question", []Answer{tool(allow)}, Inputs{Authorizers: []Verdict{{Action: deny}}}, allow, PolicyAllow, 0},
		{"standing consent", []Answer{tool(asks), external, floor, hit}, Inputs{OnAskAllow: true}, allow, AutoApproved, 0},
	} {
		d := Fold(c.answers, c.in)
		if d.Action != c.want || d.Resolution != c.how || len(d.Asks) != c.asks {
			t.Errorf("%s: %v, %q, %d asked; want %v, %q, %d", c.name, d.Action, d.Resolution, len(d.Asks), c.want, c.how, c.asks)
		}
	}
}
