package tree

import (
	"errors"
	"fmt"
	"math"

	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
)

var (
	errDefault   = errors.New("the default action must be an errno or kill the process")
	errAction    = errors.New("unknown action")
	errCondition = errors.New("only SCMP_CMP_MASKED_EQ below 32 bits is supported")
	errArch      = errors.New("only the native architecture is supported")
)

// Resolve turns an OCI profile into a policy for goarch. It takes only what the
// default profiles are written in: names that goarch has, the actions allow,
// notify, errno and kill process, and masked comparisons of 32 bits. An architecture
// without a table of names is an error wrapping errors.ErrUnsupported.
func Resolve(profile *specs.LinuxSeccomp, goarch string) (Policy, error) {
	p, err := resolve(profile, goarch)
	if err != nil {
		return Policy{}, fmt.Errorf("tree: %w", err)
	}
	return p, nil
}

func resolve(profile *specs.LinuxSeccomp, goarch string) (Policy, error) {
	arch, err := seccomp.AuditArch(goarch)
	if err != nil {
		return Policy{}, err
	}
	if len(profile.Architectures) != 0 || len(profile.Flags) != 0 || profile.ListenerPath != "" {
		return Policy{}, errArch
	}
	p := Policy{Arch: arch, X32: goarch == "amd64", Calls: map[uint32][]Rule{}}
	if p.Default, err = action(profile.DefaultAction, profile.DefaultErrnoRet); err != nil {
		return Policy{}, err
	}
	if p.Default == seccomp.Allow || p.Default == seccomp.Notify {
		return Policy{}, errDefault
	}
	for _, call := range profile.Syscalls {
		rule := Rule{}
		if rule.Action, err = action(call.Action, call.ErrnoRet); err != nil {
			return Policy{}, err
		}
		if rule.Conds, err = conditions(call.Args); err != nil {
			return Policy{}, err
		}
		for _, name := range call.Names {
			nr, ok := seccomp.Number(goarch, name)
			if !ok {
				return Policy{}, fmt.Errorf("%s has no system call %q", goarch, name)
			}
			p.Calls[nr] = append(p.Calls[nr], rule)
		}
	}
	return p, p.Check()
}

func action(a specs.LinuxSeccompAction, errno *uint) (seccomp.Action, error) {
	switch {
	case a == specs.ActAllow && errno == nil:
		return seccomp.Allow, nil
	case a == specs.ActNotify && errno == nil:
		return seccomp.Notify, nil
	case a == specs.ActKillProcess && errno == nil:
		return seccomp.KillProcess, nil
	case a == specs.ActErrno && errno != nil && *errno > 0 && *errno < 4096:
		return seccomp.Errno(uint16(*errno)), nil
	}
	return 0, fmt.Errorf("%w %q", errAction, a)
}

func conditions(args []specs.LinuxSeccompArg) ([]Cond, error) {
	conds := make([]Cond, 0, len(args))
	for _, a := range args {
		if a.Op != specs.OpMaskedEqual || a.Value > math.MaxUint32 || a.ValueTwo > math.MaxUint32 || a.Index > 5 {
			return nil, fmt.Errorf("%w: %+v", errCondition, a)
		}
		conds = append(conds, Cond{Arg: int(a.Index), Mask: uint32(a.Value), Value: uint32(a.ValueTwo)})
	}
	return conds, nil
}
