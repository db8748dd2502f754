package export

import (
	"github.com/opencontainers/runtime-spec/specs-go"

	"brainbox/seccomp/profile"
)

// Seccomp returns the plan's filter as the profile that docker takes
// (--security-opt seccomp=FILE) and that the object linux.seccomp of a bundle is: the rules
// that the plan's own program is compiled from, or a user's file as it is. The plan may be one
// of either isolation. nil: the policy asks for no filter.
//
// The one thing that a profile cannot hold is a listener: a gap of the clause unix then, and
// Unix sockets are refused in the profile.
func Seccomp(in Input) (*specs.LinuxSeccomp, []Gap, error) {
	if in.Plan.Refusal != nil {
		return nil, nil, in.Plan.Refusal
	}
	p, err := in.filter()
	if err != nil || p == nil {
		return nil, nil, err
	}
	var gaps []Gap
	if in.Plan.Seccomp.UnixBroker && in.Profile == nil {
		gaps = []Gap{{Clause: "unix", Why: "brainbox connects the listed sockets for the program, call by call: no profile says so, and all are refused"}}
	}
	return p, gaps, nil
}

// filter is the profile of the plan's filter, with the architecture named: other entries of
// the kernel are never let through.
func (in *Input) filter() (*specs.LinuxSeccomp, error) {
	switch {
	case in.Plan.NoFilter:
		return nil, nil
	case in.Profile != nil:
		return in.Profile, nil
	case len(in.Plan.Filter) > 0:
		return nil, ErrProfile
	}
	o := in.Plan.Seccomp
	o.UnixBroker = false
	p, err := profile.For(in.arch(), o)
	if err != nil {
		return nil, err
	}
	p.Architectures = []specs.Arch{specs.ArchX86_64}
	if in.arch() == "arm64" {
		p.Architectures = []specs.Arch{specs.ArchAARCH64}
	}
	return p, nil
}
