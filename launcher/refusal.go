package launcher

// The exit statuses that are brainbox's own (docs/interfaces.md).
const (
	StatusTimedOut = 124 // a limit of the run ended it
	StatusRefused  = 125 // brainbox refused or failed; nothing ran
	StatusNotRun   = 126 // the command was found but could not be run
	StatusNotFound = 127 // the command was not found
)

// Refusal says why nothing was started.
type Refusal struct {
	Status  int    // 125, 126 or 127
	Clause  string // the clause that could not be held, "" if it was none
	Message string // one line, lower case, without "brainbox: "
	Hint    string // what the user can do; may be empty
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }
