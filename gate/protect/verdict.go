package protect

// Outcome is what a judgment came to. The zero value is one that never happened.
type Outcome uint8

const (
	// Unresolvable means that no part of the judgment answered in time. Nobody automatic
	// may let the write pass.
	Unresolvable Outcome = iota
	// Hit means that a row matched. Whoever decides may let it pass, having seen it.
	Hit
	// Clear means that no row matched on any view that could answer.
	Clear
)

// View is where a row matched.
type View uint8

const (
	// Spelling is the path as text, without a look at the file system.
	Spelling View = iota
	// Chain is a place that a link in the last name's stead leads to, as text.
	Chain
	// Target is where the path really leads.
	Target
)

// String is the word of the contract.
func (v View) String() string {
	switch v {
	case Chain:
		return "chain"
	case Target:
		return "target"
	case Spelling:
	}
	return "spelling"
}

// Absence is why the file system could say nothing.
type Absence struct {
	Cause string // what it said
	// UnresolvedSymlink: a link whose target cannot be known, not a path that is refused
	// or a look that failed.
	UnresolvedSymlink bool
}

// Verdict is the judgment of one write. The zero value denies. Close it.
type Verdict struct {
	Outcome Outcome
	Row     Row  // of a Hit
	Via     View // of a Hit
	// Cause of an Unresolvable, and whether a link is to blame: a wait that gave
	// nothing knows nothing of that.
	Cause             string
	UnresolvedSymlink bool
	// Absent is set when the environment was asked and had no answer; the spelling's
	// judgment stands. It is a disclosure, not a verdict.
	Absent *Absence
	// Held is the place that was judged, where the environment was asked and could
	// hold it. A Hit by spelling asks nothing; see [Judge.Hold].
	Held *Held
}

// Mandated says that a row matched, which no standing rule may retire.
func (v Verdict) Mandated() bool { return v.Outcome == Hit }

// Unresolved says that nobody knows what would be written, and that no automatic decision
// may stand for it.
func (v Verdict) Unresolved() bool { return v.Outcome != Hit && v.Outcome != Clear }

// Close lets go of the place that is held.
func (v Verdict) Close() { v.Held.Close() }

// worse says that v must be reported in place of o.
func (v Verdict) worse(o Verdict) bool { return v.rank() < o.rank() }

func (v Verdict) rank() int {
	switch {
	case v.Unresolved():
		return 0
	case v.Outcome == Hit:
		return 1
	}
	return 2
}
