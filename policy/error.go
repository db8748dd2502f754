package policy

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"brainbox/internal/spell"
)

// Error is one thing that is wrong with a policy, and where.
type Error struct {
	Source Source // where; Line and Column start at 1, 0 means unknown
	Key    string // the dotted key, such as "process.timeout"; may be empty
	Msg    string // what is wrong
	Hint   string // what would be right; may be empty
	Err    error  // the cause, if there is one
}

// Error returns "name:line:col: msg", or "name: msg" where there is no line. No
// control byte of a name or a value reaches the text.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(printable(e.Source.Name))
	if e.Source.Line > 0 {
		b.WriteString(":" + strconv.Itoa(e.Source.Line) + ":" + strconv.Itoa(e.Source.Column))
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errors is every error found in one text, in the order of the text. It is never
// empty when it is returned.
type Errors []*Error

// Error returns one line an error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first *Error.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// err returns nil, the only error as *Error, or all of them.
func (e Errors) err() error {
	switch len(e) {
	case 0:
		return nil
	case 1:
		return e[0]
	}
	return e
}

// printable returns s, quoted if a byte of it could act on a terminal.
func printable(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// flaw is what a parser of one value reports, before it is known where it stands.
type flaw struct{ msg, hint string }

func (f *flaw) Error() string { return f.msg }

func flawf(hint string, msg ...string) *flaw {
	return &flaw{msg: strings.Join(msg, ""), hint: hint}
}

// nearest returns the word of words that is closest to got, or "" if none is
// close enough to be meant.
func nearest(got string, words []string) string {
	best, bestDist := "", 1+len(got)/2
	if bestDist > 4 {
		bestDist = 4
	}
	for _, w := range words {
		if d := spell.Distance(got, w); d < bestDist {
			best, bestDist = w, d
		}
	}
	return best
}

// oneOf returns `one of "a", "b"`.
func oneOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return "one of " + strings.Join(quoted, ", ")
}

// Hint returns what would be right instead, for the first *Error in err or for
// what CheckPath, Expand or one of the Parse functions of single values
// returned; else "".
func Hint(err error) string {
	var e *Error
	var f *flaw
	var nv *novalue
	switch {
	case errors.As(err, &e):
		return e.Hint
	case errors.As(err, &nv):
		return nv.hint
	case errors.As(err, &f):
		return f.hint
	}
	return ""
}
