package prompt

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"brainbox/internal/strictjson"
)

// ErrStale says that the prompt is closed, was never there, or that another snapshot of it
// was shown. The answer had no effect.
var ErrStale = errors.New("prompt: stale_prompt")

// ErrInvalid says that an answer is none. It had no effect, and the prompt is still open.
var ErrInvalid = errors.New("prompt: invalid answer")

// Decision is what a person says. The zero value denies.
type Decision uint8

// The decisions.
const (
	Deny Decision = iota
	Approve
)

// Lasts says for how long an approval counts.
type Lasts uint8

// The lengths. The zero value is one use.
const (
	Once    Lasts = iota
	ForRun        // until this run, and with it the session, ends
	ForTime       // for Scope.For
)

// MostFor is the longest time that an approval may be given for.
const MostFor = 24 * time.Hour

// Scope is how far an approval reaches. The zero value is one use.
type Scope struct {
	Lasts        Lasts
	For          time.Duration // with ForTime: from the answer on, up to MostFor
	WholeSession bool          // every agent of the session; false: the agent that asked
}

// Answer is what a user interface sends.
type Answer struct {
	ID       string
	Digest   Digest // of the view that was shown
	Decision Decision
	Scope    Scope  // with Approve
	Reason   string // with Deny; may be empty
	Edited   []byte // with Approve once, and an Editable request: a JSON object; nil: as it was
}

const (
	mostReason = 4096
	mostEdit   = 1 << 20
)

// read checks an answer against what was shown, and returns a copy that its sender cannot
// change any more.
func (a Answer) read(f *Facts, d Digest) (Answer, error) {
	bad := func(what string) (Answer, error) { return Answer{}, fmt.Errorf("%w: %s", ErrInvalid, what) }
	a.Edited = slices.Clone(a.Edited)
	switch {
	case a.Digest != d:
		return Answer{}, fmt.Errorf("%w: the answer is to another snapshot", ErrStale)
	case a.Decision == Deny:
		if a.Scope != (Scope{}) || a.Edited != nil {
			return bad("a denial has neither scope nor edit")
		}
		if len(a.Reason) > mostReason {
			return bad("a reason of more than 4096 bytes")
		}
		return a, nil
	case a.Decision != Approve:
		return bad("neither approve nor deny")
	case a.Reason != "":
		return bad("only a denial has a reason")
	}
	if err := a.Scope.check(); err != "" {
		return bad(err)
	}
	if a.Scope.Lasts != Once && f.Grant == "" {
		return bad("only one use is offered")
	}
	if a.Edited == nil {
		return a, nil
	}
	if !f.Editable || a.Scope.Lasts != Once {
		return bad("an edit is accepted for one use of what is editable")
	}
	v, err := strictjson.Decode(a.Edited, strictjson.Limits{Bytes: mostEdit})
	if err != nil {
		return bad("edit: " + err.Error())
	}
	if v.Kind != strictjson.KindObject {
		return bad("an edit is a JSON object, not " + v.Kind.String())
	}
	return a, nil
}

func (s Scope) check() string {
	switch {
	case s.Lasts > ForTime:
		return "unknown scope"
	case s.Lasts == ForTime && (s.For <= 0 || s.For > MostFor):
		return "a time of more than 0 and at most 24 hours"
	case s.Lasts != ForTime && s.For != 0:
		return "a time without its scope"
	case s.Lasts == Once && s.WholeSession:
		return "one use is for the one who asked"
	}
	return ""
}
