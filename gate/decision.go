package gate

import (
	"encoding/json"
	"errors"
	"sync"

	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
)

// Decision is what became of a call. The zero Decision denies. Close it when the call is
// done, or not done.
type Decision struct {
	RequestID  string
	Allowed    bool
	Resolution event.Resolution
	DecidedBy  string
	Origin     string // of the rule that decided; empty: none did
	Pattern    string // of that rule
	Reason     string // of a denial, for the caller
	Code       prompt.Code

	Surface string // what the call was judged as

	// Args and Reading are what may be done: those of the call, or of a person's edit.
	Args json.RawMessage
	Reading
	Edited bool

	// Digest binds all of it; see [Decision.Spend].
	Digest Digest

	// Held has a place for each of the targets, nil where nothing could be held. It is for
	// the operation, which refuses any other place; a read follows no link when it is given
	// the place's path. No places at all: there was nothing to hold, or no judge to do it.
	Held []*protect.Held

	// Asks are the reasons why people were asked, or would have been.
	Asks []rule.Answer

	// Err is a checkpoint's that could not record an escalation. The call must not run.
	Err error

	once *spending
}

// spending is shared by all copies of a decision.
type spending struct {
	mu    sync.Mutex
	spent bool
	out   prompt.Outcome
	asked bool
}

// What Spend refuses.
var (
	ErrNotAllowed = errors.New("gate: not allowed")
	ErrChanged    = errors.New("gate: digest mismatch: this is not what was decided")
	ErrSpent      = errors.New("gate: the decision was used before")
)

// Spend uses the decision for a call that is about to be done: it succeeds once, for the
// very call that was decided, with the edit if there was one. A different call uses it up
// as well. All copies share it.
func (d *Decision) Spend(c Call) error {
	if !d.Allowed || d.once == nil {
		return ErrNotAllowed
	}
	d.once.mu.Lock()
	defer d.once.mu.Unlock()
	if d.once.spent {
		return ErrSpent
	}
	d.once.spent = true
	if c.Surface == "" {
		c.Surface = d.Surface
	}
	if c.digest() != d.Digest {
		return ErrChanged
	}
	if d.once.asked {
		return d.once.out.Spend(d.once.out.Digest)
	}
	return nil
}

// Close lets go of the places that are held. A second call has no effect.
func (d *Decision) Close() {
	for _, h := range d.Held {
		h.Close()
	}
}

// verdict is the decision as it is recorded.
func (d *Decision) verdict() event.Verdict {
	v := event.Verdict{Resolution: d.Resolution, Origin: d.Origin, MatchedPattern: d.Pattern}
	if d.once != nil && d.once.asked {
		v.AnsweredBy = d.once.out.By
	}
	if d.Edited {
		v.Value = d.Value
	}
	return v
}
