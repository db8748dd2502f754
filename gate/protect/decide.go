package protect

import (
	"brainbox/gate/action"
	"brainbox/internal/strictjson"
)

// Decision is what a verdict asks for.
type Decision struct {
	Action  action.Action // Ask or Deny
	Reason  string        // the class of the reason; [Safety], or [NotJudged]
	Message string        // names the tool and the row, never the path
}

// Classes of reasons.
const (
	Safety    = "safety"
	NotJudged = "not_judged"
)

// Decide gives the decision of a verdict for a tool; none when it is clear and what else
// decides stands.
func (v Verdict) Decide(tool string) (Decision, bool) {
	tool = strictjson.Escape(tool)
	switch v.Outcome {
	case Clear:
		return Decision{}, false
	case Hit:
		return Decision{action.Ask, Safety, v.sentence(tool)}, true
	case Unresolvable:
	}
	cause := v.Cause
	if cause == "" {
		cause = "there was no judgment"
	}
	return Decision{action.Deny, NotJudged, tool + " did not run: where it would write could not be judged: " + cause + "."}, true
}

func (v Verdict) sentence(tool string) string {
	row := strictjson.Escape(v.Row.Name)
	switch v.Via {
	case Chain:
		return tool + " would write through a link that leads to a protected place, which the row " + row + " names."
	case Target:
		return tool + " would write to a path that resolves to a protected place, which the row " + row + " names."
	case Spelling:
	}
	return tool + " would write to a protected place, which the row " + row + " names."
}

// Approval is one that a person gave for a session: it holds for one row and one
// canonical path, and nothing else.
type Approval struct {
	Row  Row
	Path string // [Held.Path]
}

// Covers says whether the approval is for this row and this canonical path, both exactly.
func (a Approval) Covers(row Row, canonical string) bool {
	return a.Path != "" && a.Row == row && a.Path == canonical
}

// Standing is what else is known about a call whose verdict is to be combined. The zero
// value denies.
type Standing struct {
	Policy    action.Action // what all other layers came to
	Session   bool          // an approval of the session covers row and canonical path
	AllowAsks bool          // the operator has every question answered with allow
}

// Resolution is why a question needs no person.
type Resolution string

// Resolutions.
const (
	Unsettled       Resolution = ""
	SessionApproved Resolution = "session_approved"
	AutoApproved    Resolution = "auto_approved"
)

// Combine folds the verdict into what else decides: deny before ask before allow. A
// standing allow retires no verdict; an approval for this row and path lets it pass for its
// scope, and so does AllowAsks, visibly. What was not judged passes by neither.
func (v Verdict) Combine(s Standing) (action.Action, Resolution) {
	if v.Unresolved() {
		return action.Deny, Unsettled
	}
	if v.Outcome == Clear {
		return action.Worse(s.Policy, action.Allow), Unsettled
	}
	switch a := action.Worse(s.Policy, action.Ask); {
	case a == action.Deny:
		return action.Deny, Unsettled
	case s.Session && s.Policy == action.Allow: // a question of the policy's own is another question
		return action.Allow, SessionApproved
	case s.AllowAsks:
		return action.Allow, AutoApproved
	}
	return action.Ask, Unsettled
}
