package shell

// MaxText is how many bytes of text are read. A longer one is one unit with the
// floor Unparsed.
const MaxText = 128 << 10

// hole is wild.Hole as a text.
const hole = "\xff"

// Access is what is done to a path. The zero Access is both: what is not known
// to be narrower.
type Access uint8

// The kinds of access.
const (
	Both Access = iota
	ReadOnly
	WriteOnly
)

// Reads and Writes tell the directions apart.
func (a Access) Reads() bool { return a != WriteOnly }

// Writes reports whether the path may be changed.
func (a Access) Writes() bool { return a != ReadOnly }

// Floor is a reason to ask that no rule that allows can remove. It is shown as
// if it were the pattern of a rule. The zero Floor is none.
type Floor string

// The floors.
const (
	None        Floor = ""
	Opaque      Floor = "<opaque-bash-wrapper>"         // runs a text: sh -c, eval, python -c
	Indirection Floor = "<indirection-bash-wrapper>"    // runs the program that its arguments name: sudo, xargs
	Unparsed    Floor = "<unparseable-bash-command>"    // the whole text could not be read
	Subtree     Floor = "<unparsed-bash-subtree>"       // a part could not be read, or shells differ about it
	Assignment  Floor = "<environment-bash-assignment>" // changes how programs are found or act
	Unresolved  Floor = "<unresolved-bash-word>"        // a computed word could be what a rule denies
)

// Env is where the command would run. Both are absolute and clean; the zero Env
// resolves nothing.
type Env struct {
	Dir  string
	Home string
}

// Command is a text that was read.
type Command struct {
	Text  string
	Units []Unit // empty: nothing is run
	Paths []Path
}

// Unit is one command to be judged.
type Unit struct {
	Text   string // as written, with leading assignments
	Source string // as written, without them; redirects at either end are not in it
	Form   string // the words without their quotes, one blank between; wild.Hole for what is computed
	Base   string // Form with the last part of a command's path only, of git without options before its verb; empty if that is Form
	Path   string // the command's path, if it is one and is known
	Floor  Floor

	// DenyOnly marks what a wrapper runs, and with a floor what may be a command in
	// a text that could not be read: that it is denied counts, nothing else does.
	// Of what a wrapper runs that counts only by a rule about less than everything,
	// since the wrapper itself is judged too.
	DenyOnly bool
}

// Path is a word that names a file, or may.
type Path struct {
	Text   string // without quotes, ~ and $HOME expanded; wild.Hole for what is computed
	Access Access
	Bases  []string // absolute folders it may be relative to; an empty one: also another
	Bare   bool     // looks like any other word: a path only if there is such a file
	Hole   bool     // Text has a hole

	// DenyOnly marks a word of a text that could not be read.
	DenyOnly bool
}
