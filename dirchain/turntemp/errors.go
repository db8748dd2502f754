package turntemp

import (
	"errors"
	"fmt"
	"io/fs"

	"brainbox/dirchain"

	"golang.org/x/sys/unix"
)

// Sentinels. Each refusal of a call wraps one of them, or an *strictjson.Error.
var (
	// ErrEnded: the worker is gone, and with it the right to touch its directory.
	// It answers to fs.ErrClosed.
	ErrEnded error = fmt.Errorf("the turn ended: %w", fs.ErrClosed)
	// ErrTurn: the call names another turn than the access is bound to. It answers
	// to fs.ErrPermission.
	ErrTurn error = fmt.Errorf("another turn's directory: %w", fs.ErrPermission)
	// ErrRequest: the purge does not say exactly one of "older than" and "all".
	ErrRequest error = fmt.Errorf("either an age above zero or all: %w", fs.ErrInvalid)
	// ErrSink: the receipt cannot be written, so nothing is removed.
	ErrSink = errors.New("no receipt can be written")
)

// named puts the package's name and the operation in front, once.
func named(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("turntemp: %s: %w", op, err)
}

// Reasons why an entry was left where it is.
const (
	Linked  = "linked"  // a regular file with more than one name
	Changed = "changed" // something else has its name by now
	Mount   = "mount"   // something is mounted there
)

// judgeFailure says what an error on one entry means: a reason to skip it, the name
// of an errno, or that it is gone and there is nothing to tell. Pure.
func judgeFailure(err error) (skipped, failed string, gone bool) {
	var errno unix.Errno
	switch {
	case errors.Is(err, dirchain.ErrChanged), errors.Is(err, dirchain.ErrLink), errors.Is(err, dirchain.ErrNotDirectory):
		return Changed, "", false
	case errors.Is(err, dirchain.ErrMount):
		return Mount, "", false
	case errors.Is(err, fs.ErrNotExist):
		return "", "", true
	case errors.As(err, &errno) && unix.ErrnoName(errno) != "":
		return "", unix.ErrnoName(errno), false
	}
	return "", "unknown", false
}
