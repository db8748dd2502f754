package seccomp

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// ErrForeign is wrapped when a program lets calls of another ABI happen: they
// have other numbers, and a filter written for one ABI says nothing about them
// (moby/profiles issue 21).
var ErrForeign = errors.New("the filter lets calls of another ABI run")

// Check reports whether p may be trusted to be loaded by a process of this
// architecture: the kernel would load it, and no number and no arguments make it
// allow, log, trace or notify a call that enters by another architecture or, on
// amd64, by the x32 ABI. It proves that for all inputs, and refuses a program for
// which the proof fails. The errors wrap [ErrInvalid] or [ErrForeign], or
// errors.ErrUnsupported on an architecture that this package does not know.
func Check(p Program) error { return check(p, runtime.GOARCH) }

func check(p Program, goarch string) error {
	arch, err := AuditArch(goarch)
	if err != nil {
		return err
	}
	if err := p.Validate(); err != nil {
		return err
	}
	for _, other := range [...]interval{{0, arch - 1}, {arch + 1, 1<<32 - 1}} {
		if a, ok := runs(p.reach(anything, other, nil)); ok {
			return fmt.Errorf("seccomp: %w: %v for another architecture than %s", ErrForeign, a, goarch)
		}
	}
	if goarch != "amd64" {
		return nil
	}
	// The number -1 has the x32 bit too, but a tracer writes it to skip a call.
	if a, ok := runs(p.reach(interval{x32Bit, 1<<32 - 2}, only(arch), nil)); ok {
		return fmt.Errorf("seccomp: %w: %v for x32", ErrForeign, a)
	}
	return nil
}

// runs returns the first action that lets the call happen.
func runs(actions []Action) (a Action, ok bool) {
	i := slices.IndexFunc(actions, Action.Runs)
	if i < 0 {
		return 0, false
	}
	return actions[i], true
}
