package userdb

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// ErrUnknown is the sentinel of a name that no line has. It answers to
// fs.ErrNotExist.
var ErrUnknown error = unknownError{}

type unknownError struct{}

func (unknownError) Error() string { return "no such name" }

func (unknownError) Unwrap() error { return fs.ErrNotExist }

// NoID is returned beside an error. As an argument of setresuid(2) it means
// "leave unchanged", so it is never a valid answer.
const NoID = ^uint32(0)

// DB holds the text of both files.
type DB struct {
	Passwd string // passwd(5)
	Group  string // group(5)
}

// User returns the user and primary group id of a name. A decimal number is its
// own user id; its group is that of the first line with the number, and NoID
// without an error when there is none.
func (db DB) User(name string) (uid, gid uint32, err error) {
	if isNumber(name) {
		uid, err = number(name)
		if err != nil {
			return NoID, NoID, err
		}
		return uid, db.primary(uid), nil
	}
	fields, err := line(db.Passwd, name, 7)
	if err != nil {
		return NoID, NoID, err
	}
	uid, err = number(fields[2])
	if err != nil {
		return NoID, NoID, err
	}
	gid, err = number(fields[3])
	if err != nil {
		return NoID, NoID, err
	}
	return uid, gid, nil
}

// GID returns the group id of a name or a decimal number.
func (db DB) GID(name string) (uint32, error) {
	if isNumber(name) {
		return number(name)
	}
	fields, err := line(db.Group, name, 4)
	if err != nil {
		return NoID, err
	}
	return number(fields[2])
}

func (db DB) primary(uid uint32) uint32 {
	for text := range strings.SplitSeq(db.Passwd, "\n") {
		fields := strings.Split(text, ":")
		if len(fields) != 7 || fields[0] == "" {
			continue
		}
		if n, err := number(fields[2]); err != nil || n != uid {
			continue
		}
		if gid, err := number(fields[3]); err == nil {
			return gid
		}
	}
	return NoID
}

// line returns the fields of the first line of that name, as the C library
// does; a malformed first line is an error and not skipped for a later one.
func line(text, name string, width int) ([]string, error) {
	if name == "" || strings.ContainsAny(name, ":\n\x00") {
		return nil, wrap(name, ErrUnknown)
	}
	for text := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(text, name) || !strings.HasPrefix(text[len(name):], ":") {
			continue
		}
		fields := strings.Split(text, ":")
		if len(fields) != width {
			return nil, wrap(name, errors.New("malformed line"))
		}
		return fields, nil
	}
	return nil, wrap(name, ErrUnknown)
}

func wrap(name string, err error) error { return &nameError{name, err} }

type nameError struct {
	name string
	err  error
}

func (e *nameError) Error() string { return strconv.Quote(e.name) + ": " + e.err.Error() }

func (e *nameError) Unwrap() error { return e.err }

func isNumber(name string) bool {
	return name != "" && strings.Trim(name, "0123456789") == ""
}

// number refuses NoID and every second spelling of a number.
func number(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || uint32(n) == NoID || strconv.FormatUint(n, 10) != text {
		return NoID, wrap(text, errors.New("not an id"))
	}
	return uint32(n), nil
}
