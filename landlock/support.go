package landlock

import (
	"errors"
	"fmt"
	"syscall"
)

// Support is what the kernel offers. The zero value offers nothing.
type Support struct {
	ABI    int    // as the kernel reports it; 0 is no Landlock
	Errata uint32 // bit N-1 set: erratum N is fixed; 0 where the kernel cannot say
}

// Used is the ABI that rulesets are built for: the kernel's, at most [Known].
func (s Support) Used() int {
	return max(0, min(s.ABI, Known))
}

// Mechanism is the name of what enforces a rule, as in "landlock abi 7". For a
// kernel that is newer than this package it names both: "landlock abi 11 (the
// kernel has 13)". It is empty where there is no Landlock.
func (s Support) Mechanism() string {
	switch {
	case s.ABI < 1:
		return ""
	case s.ABI > Known:
		return fmt.Sprintf("landlock abi %d (the kernel has %d)", Known, s.ABI)
	}
	return fmt.Sprintf("landlock abi %d", s.ABI)
}

// ErrNotAvailable answers for every reason that Landlock cannot be used here.
// It answers to errors.ErrUnsupported.
var ErrNotAvailable error = notAvailable{}

type notAvailable struct{}

func (notAvailable) Error() string        { return "landlock: not available" }
func (notAvailable) Is(target error) bool { return target == errors.ErrUnsupported }

// Reason is why Landlock is not available.
type Reason uint8

const (
	// NotBuilt is a kernel before Linux 5.13, or without
	// CONFIG_SECURITY_LANDLOCK: ENOSYS.
	NotBuilt Reason = iota
	// Disabled is a kernel that has Landlock and was started without it, by
	// "lsm=" or CONFIG_LSM: EOPNOTSUPP.
	Disabled
	// Blocked is any other answer, as from a container's seccomp filter.
	Blocked
)

// NotAvailableError says why Landlock is not available. It answers to
// [ErrNotAvailable], to errors.ErrUnsupported and to the system call's errno.
type NotAvailableError struct {
	Reason Reason
	Err    error // the failing system call
}

func (e *NotAvailableError) Error() string {
	text := "blocked here"
	switch e.Reason {
	case NotBuilt:
		text = "not built into this kernel, or the kernel is older than Linux 5.13"
	case Disabled:
		text = `disabled when the kernel started ("landlock" is not in its lsm list)`
	case Blocked:
	}
	return fmt.Sprintf("landlock: %s: %v", text, e.Err)
}

// Unwrap gives the failing system call.
func (e *NotAvailableError) Unwrap() error { return e.Err }

// Is answers to [ErrNotAvailable] and errors.ErrUnsupported.
func (*NotAvailableError) Is(target error) bool {
	return target == ErrNotAvailable || target == errors.ErrUnsupported
}

// reasonFor tells the two errnos that landlock_create_ruleset(2) has for it
// apart.
func reasonFor(err error) Reason {
	switch {
	case errors.Is(err, syscall.ENOSYS):
		return NotBuilt
	case errors.Is(err, syscall.EOPNOTSUPP):
		return Disabled
	}
	return Blocked
}
