package permit

import "errors"

// Posture is what one turn asks of its backend. The zero value is an ordinary turn, in
// which shortcuts and remembered grants count.
type Posture struct {
	// EnforceAllowedTools: the list of allowed tools is a boundary. A tool that is not
	// on it is not forbidden; the decision about it cannot be avoided.
	EnforceAllowedTools bool
	// NoGrantSurface: nobody can answer (voice, unattended). Both kinds of approval are
	// denied. Only together with EnforceAllowedTools.
	NoGrantSurface bool
}

// Support is what a backend can honour. The zero value is one that honours neither flag.
type Support struct{ EnforceAllowedTools, NoGrantSurface bool }

// RequestError is a turn that the backend must reject before it acquires a runtime,
// emits a frame, asks, or runs a tool.
type RequestError struct{ Field, Reason string }

// Error names the field.
func (e *RequestError) Error() string { return "permit: turn: " + e.Field + " " + e.Reason }

// Is answers to errors.ErrUnsupported.
func (e *RequestError) Is(target error) bool { return target == errors.ErrUnsupported }

// Check says whether a backend may run the turn: nil, or a *[RequestError].
func (p Posture) Check(s Support) error {
	switch {
	case p.NoGrantSurface && !p.EnforceAllowedTools:
		return &RequestError{"noGrantSurface", "is possible only together with enforceAllowedTools"}
	case p.EnforceAllowedTools && !s.EnforceAllowedTools:
		return &RequestError{"enforceAllowedTools", "is not honoured by this backend"}
	case p.NoGrantSurface && !s.NoGrantSurface:
		return &RequestError{"noGrantSurface", "is not honoured by this backend"}
	}
	return nil
}
