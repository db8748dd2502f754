package rule

import (
	"brainbox/gate/action"
	"brainbox/gate/shell"
	"brainbox/gate/wild"
)

// Resolution says how a decision came about; the names are those of contract
// bridge-and-gate, section D.3.
type Resolution string

// The resolutions that Fold gives.
const (
	Unsettled        Resolution = "" // a question is left
	PolicyAllow      Resolution = "policy_allow"
	PolicyDeny       Resolution = "policy_deny"
	WriteProtected   Resolution = "write_protected"
	SessionApproved  Resolution = "session_approved"
	AuthorizerAllows Resolution = "authorizer_allowed"
	AuthorizerDenies Resolution = "authorizer_denied"
	AutoApproved     Resolution = "auto_approved"
)

// Approvals are the grants of a session.
type Approvals interface {
	// Approves returns the grant that covers an answer. Where exact is set, only
	// one for this very text does.
	Approves(a *Answer, exact bool) (id uint64, ok bool)
}

// Verdict is what one authorizer said about the call. The zero Verdict denies.
type Verdict struct {
	Name   string
	Defer  bool // no opinion
	Action action.Action
}

// Inputs are what decides besides the rules. The zero Inputs approve nothing.
type Inputs struct {
	Approvals   Approvals
	Authorizers []Verdict // in configured order
	OnAskAllow  bool      // the operator's standing consent to whatever would be asked
}

// Decision is the outcome. The zero Decision denies.
type Decision struct {
	Action     action.Action // Ask: a question is left
	Resolution Resolution
	Answer     Answer   // the one that decided
	Asks       []Answer // with Ask: every reason, to be shown at once
	Grants     []uint64 // approvals that were relied on
	By         string   // the authorizer that decided
}

// Fold decides a call from its answers, in the order of contract bridge-and-gate,
// section D.5. It is pure. No answers are a denial.
func Fold(answers []Answer, in Inputs) Decision {
	if len(answers) == 0 {
		return Decision{Resolution: PolicyDeny}
	}
	for i := range answers {
		if a := &answers[i]; a.Action == action.Deny || a.Action > action.Allow {
			d := Decision{Resolution: PolicyDeny, Answer: *a}
			if a.Layer == Judge {
				d.Resolution = WriteProtected
			}
			return d
		}
	}
	var d Decision
	for i := range answers {
		d.settle(&answers[i], in.Approvals)
	}
	if len(d.Asks) == 0 {
		d.Action = action.Allow
		if d.Resolution == Unsettled {
			d.Resolution, d.Answer = PolicyAllow, answers[0]
		}
		return d
	}
	d.Action, d.Resolution, d.Answer = action.Ask, Unsettled, d.Asks[0]
	for _, v := range in.Authorizers {
		switch {
		case v.Defer || v.Action == action.Ask:
		case v.Action != action.Allow:
			return Decision{Resolution: AuthorizerDenies, Answer: d.Answer, By: v.Name}
		case !boundary(d.Asks):
			d.Action, d.Resolution, d.By, d.Asks = action.Allow, AuthorizerAllows, v.Name, nil
			return d
		}
	}
	if in.OnAskAllow {
		d.Action, d.Resolution, d.Asks = action.Allow, AutoApproved, nil
		d.Answer.Origin = OriginYolo
	}
	return d
}

// settle puts an answer to what is allowed, by a rule or an approval, or to what
// is left to ask. A floor, and a name that is protected, take an approval of
// exactly this.
func (d *Decision) settle(a *Answer, approvals Approvals) {
	exact := a.Floor != shell.None || a.Layer == Judge
	if a.Action == action.Allow && !exact {
		return
	}
	if approvals != nil {
		if id, ok := approvals.Approves(a, exact); ok {
			d.Grants = append(d.Grants, id)
			if d.Resolution == Unsettled {
				d.Resolution, d.Answer = SessionApproved, *a
				d.Answer.Origin = OriginSession
			}
			return
		}
	}
	d.Asks = append(d.Asks, *a)
}

// boundary reports whether something asked is about paths: no authorizer allows
// that.
func boundary(asks []Answer) bool {
	for i := range asks {
		if asks[i].Layer == Path || asks[i].Layer == External {
			return true
		}
	}
	return false
}

// Covered reports whether a pattern takes in what was judged, under all the names
// it has. An answer that was not made by a Set is covered by its value.
func (a *Answer) Covered(p *wild.Pattern) bool {
	if a.subject == nil {
		return p.Match(a.Value)
	}
	return a.subject.matches(p)
}
