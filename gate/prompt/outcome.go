package prompt

import (
	"errors"
	"sync/atomic"
	"time"

	"brainbox/gate/event"
)

// Code says why nobody could answer; it is also the code of the error that a caller gets.
type Code string

// The codes. The empty one: a person, or a rule, has decided.
const (
	NoUI         Code = "no_ui"          // no user interface, for the whole grace
	Timeout      Code = "prompt_timeout" // nobody answered in time
	Overloaded   Code = "overloaded"     // too many prompts, or too fast
	Cooldown     Code = "cooldown"       // too many denials in a row
	CallerGone   Code = "caller_gone"    // the caller's context ended
	ShuttingDown Code = "shutting_down"
	Replayed     Code = "replayed" // the request was asked, or decided, before
	Faulty       Code = "internal_error"
)

// Outcome is what became of a request. The zero Outcome denies.
type Outcome struct {
	ID         string
	Approved   bool
	Resolution event.Resolution
	Code       Code
	By         string    // the name of the user interface that answered
	Reason     string    // a person's, of a denial; or ours, of a refused edit
	Scope      Scope     // of an approval
	Expires    time.Time // with ForTime, on the monotonic clock
	Edited     []byte    // the arguments to use instead, judged again; nil: as they were
	Digest     Digest    // of what was approved

	value string // what an edit made of the value
	unuse *atomic.Bool
}

// Verdict is the outcome as a decision is recorded.
func (o Outcome) Verdict() event.Verdict {
	return event.Verdict{Resolution: o.Resolution, AnsweredBy: o.By, Value: o.value}
}

// State is the outcome in the words of permission.prompt: approved, approved_for_session,
// denied or denied_with_reason. What nobody answered is denied; Code says so.
func (o Outcome) State() string {
	switch {
	case o.Approved && o.Scope.Lasts != Once:
		return "approved_for_session"
	case o.Approved:
		return "approved"
	case o.Resolution == event.UserDenied && o.Reason != "":
		return "denied_with_reason"
	}
	return "denied"
}

// What Spend refuses.
var (
	ErrNotApproved = errors.New("prompt: not approved")
	ErrChanged     = errors.New("prompt: digest mismatch: this is not what was approved")
	ErrSpent       = errors.New("prompt: the approval was used before")
)

// Spend uses the approval for the effect that d describes. It succeeds once, for the digest
// that was approved; a wrong one uses it up as well. All copies of an outcome share it.
func (o Outcome) Spend(d Digest) error {
	switch {
	case !o.Approved || o.unuse == nil:
		return ErrNotApproved
	case !o.unuse.CompareAndSwap(true, false):
		return ErrSpent
	case d != o.Digest:
		return ErrChanged
	}
	return nil
}

// unanswered is what became of a request that nobody answered.
func unanswered(id string, code Code) Outcome {
	o := Outcome{ID: id, Resolution: event.ConfirmationUnavailable, Code: code}
	if code == Faulty {
		o.Resolution = event.GateError
	}
	return o
}

// answered is what a person said.
func answered(id string, s settlement) Outcome {
	o := Outcome{ID: id, By: s.by, Digest: s.answer.Digest}
	if s.answer.Decision != Approve {
		o.Resolution, o.Reason = event.UserDenied, s.answer.Reason
		return o
	}
	o.Approved, o.Resolution, o.Scope, o.Edited = true, event.UserApproved, s.answer.Scope, s.answer.Edited
	o.unuse = &atomic.Bool{}
	o.unuse.Store(true)
	if o.Scope.Lasts != Once {
		o.Resolution = event.UserApprovedForSession
	}
	if o.Scope.Lasts == ForTime {
		o.Expires = s.at.Add(o.Scope.For)
	}
	return o
}
