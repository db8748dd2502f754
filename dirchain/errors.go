package dirchain

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Sentinels. Each answers to the standard error that is named with it. A missing
// file is fs.ErrNotExist, an existing one that must not be there fs.ErrExist, a
// closed root fs.ErrClosed, a refusal by the kernel fs.ErrPermission.
var (
	// ErrPath: the path itself cannot be used (fs.ErrInvalid).
	ErrPath error = &sentinel{"not a path for a mediated operation", fs.ErrInvalid}
	// ErrOutside: the path leads out of the root (EXDEV, which openat2(2) answers).
	ErrOutside error = &sentinel{"the path leads out of the root", syscall.EXDEV}
	// ErrLink: a component is a symbolic link (ELOOP).
	ErrLink error = &sentinel{"a symbolic link is in the way", syscall.ELOOP}
	// ErrNotDirectory: a component that must be a directory of its own is not (ENOTDIR).
	ErrNotDirectory error = &sentinel{"not a directory of its own", syscall.ENOTDIR}
	// ErrNotRegular: the target is a directory, FIFO, socket or device (fs.ErrInvalid).
	ErrNotRegular error = &sentinel{"not a regular file", fs.ErrInvalid}
	// ErrLinked: the file has more than one name (fs.ErrPermission).
	ErrLinked error = &sentinel{"the file has more than one name", fs.ErrPermission}
	// ErrMount: something is mounted on a component (EXDEV).
	ErrMount error = &sentinel{"a mount point is in the way", syscall.EXDEV}
	// ErrChanged: what is visible is no longer what is held. Nothing was done, or it
	// was taken back.
	ErrChanged error = &sentinel{"the directory or file was exchanged meanwhile", nil}
	// ErrStale: the content is not the expected one (or the digest is not the approved one).
	ErrStale error = &sentinel{"the content is not the expected one", nil}
	// ErrTooLarge: more than the limit of the root or of the request (EFBIG).
	ErrTooLarge error = &sentinel{"too large", syscall.EFBIG}
	// ErrProtected: the place, or something in it, is protected (fs.ErrPermission).
	ErrProtected error = &sentinel{"the place is protected", fs.ErrPermission}
	// ErrMode: a set-user-ID, set-group-ID or sticky bit is asked for or would be
	// taken over (fs.ErrPermission).
	ErrMode error = &sentinel{"set-id and sticky bits are not handled", fs.ErrPermission}
	// ErrBusy: the file cannot be opened without waiting (a lease, fcntl(2)).
	ErrBusy error = &sentinel{"the file is busy", syscall.EAGAIN}
	// ErrFilesystem: the file system cannot tell files apart by name or by inode
	// number (errors.ErrUnsupported).
	ErrFilesystem error = &sentinel{"not on this file system", errors.ErrUnsupported}
	// ErrLimit: a walk met a limit of depth, number or time.
	ErrLimit error = &sentinel{"a limit of the walk was met", nil}
	// ErrBatch: the entries of a batch are none, too many, or in each other's way
	// (fs.ErrInvalid).
	ErrBatch error = &sentinel{"the entries cannot be one batch", fs.ErrInvalid}
	// ErrMatch: the old text of an edit is empty, absent, or there more than once.
	ErrMatch error = &sentinel{"the old text must be there exactly once", fs.ErrInvalid}
)

type sentinel struct {
	text string
	std  error
}

func (s *sentinel) Error() string { return s.text }

func (s *sentinel) Is(target error) bool { return s.std != nil && target == s.std }

// Error is the failure of one operation on one path. Path is as it was given,
// unchecked: print it with %q.
type Error struct {
	Op   string // read, write, edit, mkdir, rename, remove, walk, open, …
	Path string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("dirchain: %s %q: %v", e.Op, e.Path, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// named puts operation and path in front, once.
func named(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if _, done := err.(*Error); done { //nolint:errorlint // only the outermost one counts
		return err
	}
	return &Error{op, path, err}
}

// because adds what was seen to a sentinel.
func because(what error, detail string) error { return fmt.Errorf("%w (%s)", what, detail) }
