package envfilter

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// MaxEntry is how many bytes execve(2) takes for one NAME=VALUE, the final NUL
// included: MAX_ARG_STRLEN, 32 pages of 4 KiB.
const MaxEntry = 128 << 10

// Input is what the environment of a run is made of.
type Input struct {
	Caller []string // the environ(7) block of the caller
	Allow  []string // names taken from the caller; the only pattern is LC_*
	Files  []File   // environment files, in order
	Set    []Var    // what flags and policies set, in order; goes before Files

	User  string // USER and LOGNAME; empty: neither is set
	Shell string // SHELL; empty: /bin/sh
	Home  string // absolute path of the private home
	Tmp   string // absolute path of the private temporary folder

	PathOK    func(dir string) bool // see [Path]; nil: PATH finds nothing
	GitConfig string                // GIT_CONFIG_GLOBAL; empty: not set
	CABundle  string                // file of certificates; empty: its variables are not set

	Toolchain []Var // RUSTUP_HOME, GOMODCACHE and the like; an operator may override them
	Sockets   []Var // SSH_AUTH_SOCK and the like, where they name a socket that is granted; as Toolchain
	Proxies   []Var // HTTPS_PROXY and the like, where the run has a proxy of its own; as Toolchain

	// Fixed is what nobody may override, such as BRAINBOX_SOCKET.
	Fixed []Var
}

// Note tells the operator about one name that he wrote.
type Note struct {
	Name string
	Text string // a sentence without the name and without any value
}

// NameError says why a name that an operator wrote is refused. It holds no value.
type NameError struct {
	Name   string
	Source string // "allow", "set", or the name of the file and the line
	Reason string
	Hint   string // what to do instead; may be empty
	Err    error  // fs.ErrPermission, or fs.ErrInvalid for a name or value that cannot be
}

// Error returns the source, the name and the reason.
func (e *NameError) Error() string {
	s := "envfilter: "
	if e.Source != "" {
		s += strconv.QuoteToASCII(e.Source) + ": "
	}
	return s + strconv.QuoteToASCII(e.Name) + ": " + e.Reason
}

// Unwrap returns e.Err.
func (e *NameError) Unwrap() error { return e.Err }

// DefaultAllow returns the names of the caller that the default profile hands
// on: language, time zone, terminal. None of them names a file that is run.
func DefaultAllow() []string {
	return []string{"CI", "COLORTERM", "COLUMNS", "LANG", "LC_*", "LINES", "NO_COLOR", "TERM", "TZ"}
}

// Build returns the environment of a run as NAME=VALUE, sorted by name: what the
// allow list takes from the caller, overridden by the private home and folders,
// overridden by what the operator set, overridden by in.Fixed. Names that lead
// to other code, to a proxy or to the caller's sockets are not taken from the
// caller even if they are allowed; an operator may set them to a value, which is
// noted. Names that control brainbox can be given in no way.
//
// The error is a [*NameError] for the first entry that is refused, malformed or
// longer than [MaxEntry]; then there is no environment. Build changes nothing of
// in.
func Build(in Input) (env []string, notes []Note, err error) {
	d := decide(in)
	if len(d.refused) > 0 {
		return nil, nil, d.refused[0]
	}
	for _, c := range d.final {
		env = append(env, c.name+"="+c.value)
	}
	return env, d.notes, nil
}

// decision is everything [Build] and [Explain] know about one Input.
type decision struct {
	caller  []entry
	choices []choice // in the order in which a later one overrides
	final   []choice // the last choice of each name, sorted by name
	notes   []Note   // sorted by name
	refused []*NameError
}

// choice is one value that a variable was given, and why.
type choice struct {
	name, value string
	why         string
	from        string // the source of what an operator set, else empty
	layer       layer
}

type layer uint8

const (
	fromCaller layer = iota
	own
	operator
	fixed
)

// decide is pure. It goes through all of in even when something is refused, so
// that Explain can answer for any name.
func decide(in Input) *decision {
	d := &decision{caller: parse(in.Caller)}
	for _, private := range [...]entry{{"HOME", in.Home}, {"TMPDIR", in.Tmp}} {
		if !strings.HasPrefix(private.value, "/") {
			d.refuse(private.name, "", "no absolute path of a private folder was given", "", fs.ErrInvalid)
		}
	}
	ours := ownVars(in, d.pathSource(in))
	d.allow(in.Allow, ours)
	d.choices = append(d.choices, ours...)
	for _, f := range in.Files {
		for _, v := range f.Vars {
			d.operatorVar(v, f.Name+":"+strconv.Itoa(v.Line), ours)
		}
	}
	for _, v := range in.Set {
		d.operatorVar(v, "set", ours)
	}
	for _, v := range in.Fixed {
		d.choices = append(d.choices, choice{v.Name, v.Value, "set by brainbox for this run", "", fixed})
	}
	d.settle()
	slices.SortStableFunc(d.notes, func(a, b Note) int { return strings.Compare(a.Name, b.Name) })
	d.notes = slices.Compact(d.notes)
	return d
}

// settle keeps the last choice of each name and checks it.
func (d *decision) settle() {
	list := slices.Clone(d.choices)
	slices.SortStableFunc(list, func(a, b choice) int { return strings.Compare(a.name, b.name) })
	for i, c := range list {
		if i+1 < len(list) && list[i+1].name == c.name {
			if c.layer == operator && list[i+1].layer == fixed {
				d.note(c.name, "not as you set it: brainbox needs its own value")
			}
			continue
		}
		d.check(c)
		d.final = append(d.final, c)
	}
}

func (d *decision) check(c choice) {
	switch {
	case !nameable(c.name):
		d.refuse(c.name, c.from, "not a variable name", "", fs.ErrInvalid)
	case strings.IndexByte(c.value, 0) >= 0:
		d.refuse(c.name, c.from, "its value holds U+0000", "", fs.ErrInvalid)
	case len(c.name)+len(c.value)+2 > MaxEntry:
		d.refuse(c.name, c.from, "longer than execve takes (131072 bytes with the name)", "", fs.ErrInvalid)
	}
}

func (d *decision) note(name, text string) {
	d.notes = append(d.notes, Note{name, text})
}

func (d *decision) refuse(name, source, reason, hint string, err error) {
	d.refused = append(d.refused, &NameError{Name: name, Source: source, Reason: reason, Hint: hint, Err: err})
}
