package tool

import (
	"context"

	"brainbox/gate"
	"brainbox/internal/strictjson"
)

// Tool is one of them.
type Tool interface {
	// Name is what a caller calls it, unique in a [Set].
	Name() string

	// Plan checks the input and says what the call would read and write. It is pure but for
	// reading what the reading is about, shows nothing to anybody, and is called again for an
	// input that a person edited. A refusal is a *Refusal.
	Plan(input *strictjson.Value) (Planned, error)
}

// Planned is one call whose input was valid. It holds nothing that must be closed.
type Planned interface {
	// Reading is for the gate.
	Reading() gate.Reading

	// Locks are the keys under which Do must run, without duplicates; nil: none.
	Locks() []string

	// Do has the effect that was allowed. It is called at most once, under the locks, with
	// the decision for this very plan spent and its places still held. A refusal is a
	// *Refusal; any other error is told as internal_error without its text.
	Do(ctx context.Context, d *gate.Decision) (*strictjson.Value, error)
}

// Surfaced is a Tool whose calls are judged as those of another surface than its name: all
// that change files as "write" or "edit", for rules know these.
type Surfaced interface {
	Surface() string
}

// SurfaceOf is the surface for the gate's call; empty: that of the name.
func SurfaceOf(t Tool) string {
	if s, ok := t.(Surfaced); ok {
		return s.Surface()
	}
	return ""
}

// Partial is a Planned that may be but a piece of a call. Of a piece there is nothing to
// decide yet, since it has no effect but on what the tool keeps in memory, within bounds:
// whoever serves it asks Partial before the gate, and with ok the answer is the whole
// answer. The decision is about the call with the last piece, and about all of it.
type Partial interface {
	Partial() (answer *strictjson.Value, ok bool, err error)
}

// Refusal is why a call was not done. Its code goes on the wire; its message is for the
// caller, and says nothing that the caller does not know.
type Refusal struct {
	Status  string // a status of package envelope but succeeded; empty: failed
	Code    string
	Message string
}

// Error returns the code and the message.
func (r *Refusal) Error() string { return r.Code + ": " + r.Message }
