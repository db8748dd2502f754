package envfilter

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Var is one variable that an operator wrote.
type Var struct {
	Name  string
	Value string // meaningless with FromCaller

	// FromCaller: only the name was written, the value is the caller's if he has
	// one.
	FromCaller bool

	Line int // in the file, from 1; 0 for a flag
}

// File is one --env-file.
type File struct {
	Name string // for messages
	Vars []Var
}

// FileError says which line of an environment file is malformed. It holds no
// value.
type FileError struct {
	Line int // from 1
	Msg  string
}

// Error returns the line and the reason.
func (e *FileError) Error() string {
	return "envfilter: line " + strconv.Itoa(e.Line) + ": " + e.Msg
}

// ParseFile reads an environment file as docker run --env-file does: a line is
// NAME=VALUE, or NAME to take the caller's value. Blank lines and lines that
// start with # are skipped. Blanks before the name are ignored; everything behind
// the first = is the value, with blanks and quotes as they stand; nothing is
// expanded. A line ends in LF or CR LF. A byte order mark at the start is skipped.
//
// The error is a [*FileError]: text that is not UTF-8, U+0000, an empty name, or
// one with a blank or another character that no name may have.
func ParseFile(data []byte) ([]Var, error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	var vars []Var
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		v, skip, msg := parseLine(line)
		if msg != "" {
			return nil, &FileError{Line: n, Msg: msg}
		}
		if !skip {
			v.Line = n
			vars = append(vars, v)
		}
	}
	return vars, nil
}

func parseLine(line string) (v Var, skip bool, msg string) {
	if !utf8.ValidString(line) {
		return v, false, "not UTF-8"
	}
	if strings.IndexByte(line, 0) >= 0 {
		return v, false, "U+0000 in the text"
	}
	line = strings.TrimLeft(line, " \t\v\f\r")
	if line == "" || line[0] == '#' {
		return v, true, ""
	}
	name, value, ok := strings.Cut(line, "=")
	switch {
	case name == "":
		return v, false, "no name before ="
	case !nameable(name):
		return v, false, "malformed name" // unquoted: it may be a line of a key that lost its name
	}
	return Var{Name: name, Value: value, FromCaller: !ok}, false, ""
}
