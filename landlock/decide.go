package landlock

import (
	"fmt"
	"strings"
)

// State is what becomes of something that was asked for. The zero value is
// Refused.
type State uint8

const (
	// Refused is a start that must not happen: the kernel cannot hold it.
	Refused State = iota
	// Open is not held, as the Spec's Degraded accepts.
	Open
	// Enforced is held by the kernel.
	Enforced
)

// String is the word of check --json.
func (s State) String() string {
	switch s {
	case Refused:
		return "refused"
	case Open:
		return "open"
	case Enforced:
		return "enforced"
	}
	return "invalid"
}

// Entry reports on one feature.
type Entry struct {
	Feature     Feature
	State       State
	Mechanism   string // what holds it, as in "landlock abi 7"; empty when nothing does
	Requirement string // what is missing, as in "ABI 3 (Linux 6.2)"; empty when enforced
	Note        string // what a reader should know besides; may be empty
}

// Decide reports what becomes of every feature that the Spec asks for, in the
// order of the features. It looks at no descriptor and makes no system call. A
// Spec with a Refused entry is one that [Build] refuses.
func Decide(spec Spec, sup Support) []Entry {
	abi := sup.Used()
	var entries []Entry
	for f := range Feature(features) {
		if !spec.asks(f) {
			continue
		}
		e := Entry{Feature: f, State: spec.state(f, abi)}
		if e.State == Enforced {
			e.Mechanism = sup.Mechanism()
			e.Note = note(f, sup)
		} else {
			e.Requirement = requirement(f.ABI())
		}
		entries = append(entries, e)
	}
	return entries
}

// note is what a reader should know of an enforced feature.
func note(f Feature, sup Support) string {
	var notes []string
	switch f {
	case Files:
		if sup.ABI < 2 {
			notes = append(notes, "rename and link between folders are refused everywhere below "+requirement(2))
		}
		notes = append(notes, sup.openNote(1))
	case TCP:
		notes = append(notes, sup.openNote(4))
	case ScopeSignal:
		notes = append(notes, sup.openNote(6))
	case Truncate, IoctlDev, ScopeAbstractUnix, ResolveUnix:
	}
	var b strings.Builder
	for _, n := range notes {
		if n == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(n)
	}
	return b.String()
}

// UnenforceableError says that the kernel is too old for a feature the Spec
// asks for. It answers to [ErrNotAvailable] and errors.ErrUnsupported.
type UnenforceableError struct {
	Feature   Feature
	Mechanism string // what the kernel does have; empty for nothing
}

func (e *UnenforceableError) Error() string {
	have := e.Mechanism
	if have == "" {
		have = "nothing"
	}
	return fmt.Sprintf("landlock: %s needs %s, and here is %s", e.Feature, requirement(e.Feature.ABI()), have)
}

// Is answers to [ErrNotAvailable] and errors.ErrUnsupported.
func (*UnenforceableError) Is(target error) bool {
	return (&NotAvailableError{}).Is(target)
}
