package explain

import "brainbox/launcher"

// Certainty says how well it is known what the kernel answers.
type Certainty uint8

// The certainties. The zero value is the one that claims nothing.
const (
	Unknown Certainty = iota // a name could not be resolved without waiting, or memory not be read
	Likely                   // the plan refuses it; something else may have refused it before
	Proven                   // the plan refuses it, and nothing else would have
)

// Seen is one operation of a program.
type Seen struct {
	launcher.Operation
	Judgement launcher.Judgement
	Certainty Certainty // of the judgement
	// Moot says that the operation fails in any case, as one on a name that is nowhere, or
	// that the mode of the file refuses: whatever the plan says of it is no denial.
	Moot bool
	Call string // the system call that asked for it: "openat"
	TID  int    // of the calling thread, in brainbox's pid namespace
}

// Sink takes what was seen. It is called by several threads at a time, and must be quick: the
// program waits.
type Sink interface{ Saw(s *Seen) }
