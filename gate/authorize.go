package gate

import (
	"context"
	"slices"

	"brainbox/gate/action"
	"brainbox/gate/rule"
)

// Authorizer decides in place of a person, where a question is left. It may allow nothing
// about paths. One that panics, or does not answer in time, denies.
type Authorizer interface {
	Name() string
	// Authorize must not keep the call.
	Authorize(ctx context.Context, c Call, asks []rule.Answer) rule.Verdict
}

// fold decides from answers as far as no authorizer is needed.
func (g *Gate) fold(j *judged, c *Call, verdicts []rule.Verdict) rule.Decision {
	if j.settled() {
		return rule.Fold(j.answers, rule.Inputs{})
	}
	return rule.Fold(j.answers, rule.Inputs{
		Approvals: approvals{g.book.For(who(c)), j.enforced}, Authorizers: verdicts, OnAskAllow: g.c.OnAskAllow && !j.person,
	})
}

// settled reports whether nothing is asked: most calls need no approvals.
func (j *judged) settled() bool {
	for i := range j.answers {
		if a := &j.answers[i]; a.Action != action.Allow || a.Floor != "" || a.Layer == rule.Judge {
			return false
		}
	}
	return true
}

// approvals are those of the session without what no grant may answer: a single use, and
// a tool outside a list that is enforced.
type approvals struct {
	rule.Approvals
	enforced bool
}

// Approves is that of rule.Approvals.
func (a approvals) Approves(x *rule.Answer, exact bool) (uint64, bool) {
	if !grantable(x, a.enforced) {
		return 0, false
	}
	return a.Approvals.Approves(x, exact)
}

// who is the agent that approvals are for: one without a name is one agent too.
func who(c *Call) string {
	if c.Agent == "" {
		return "(no name)"
	}
	return c.Agent
}

// authorize asks the authorizers in their order. Their allowances do not count where a
// person must answer.
func (g *Gate) authorize(ctx context.Context, j *judged, c *Call, asks []rule.Answer) []rule.Verdict {
	all := make([]rule.Verdict, 0, len(g.c.Authorizers))
	for _, a := range g.c.Authorizers {
		v := g.verdict(ctx, a, c.snapshot(), slices.Clone(asks))
		if v.Action == action.Allow && j.person {
			v.Defer = true
		}
		all = append(all, v)
		if !v.Defer && v.Action == action.Deny {
			break
		}
	}
	return all
}

// verdict is one authorizer's; the zero verdict, which denies, of one that fails.
func (g *Gate) verdict(ctx context.Context, a Authorizer, c Call, asks []rule.Answer) (v rule.Verdict) {
	defer func() {
		if recover() != nil {
			v = rule.Verdict{Name: "an authorizer that failed"}
		}
	}()
	v, ok := within(ctx, g.c.Wait, func(ctx context.Context) rule.Verdict {
		v := a.Authorize(ctx, c, asks)
		v.Name = a.Name()
		return v
	}, nil)
	if !ok {
		return rule.Verdict{Name: "an authorizer that did not answer"}
	}
	return v
}
