//go:build cgo

package compile

import (
	"fmt"
	"runtime"
	"strings"

	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
	libseccomp "github.com/seccomp/libseccomp-golang"
)

// Runtime returns the program that a container runtime makes of profile: all
// architectures that it lists, any action, names that libseccomp does not know passed
// over, and rules that overlap in the order that the library gives them. It is for
// judging a profile that [Compile] refuses, never for loading: the program is valid, but
// has not passed [seccomp.Check].
func Runtime(profile *specs.LinuxSeccomp) (seccomp.Program, error) {
	filter, err := runtimeFilter(profile)
	if err != nil {
		return nil, fmt.Errorf("compile: as a runtime: %w", err)
	}
	defer filter.Release()
	raw, err := exportBPF(filter)
	if err != nil {
		return nil, fmt.Errorf("compile: as a runtime: %w", err)
	}
	return seccomp.Decode(raw)
}

func runtimeFilter(profile *specs.LinuxSeccomp) (*libseccomp.ScmpFilter, error) {
	fallback, err := runtimeAction(profile.DefaultAction, profile.DefaultErrnoRet)
	if err != nil {
		return nil, err
	}
	filter, err := libseccomp.NewFilter(fallback)
	if err != nil {
		return nil, err
	}
	for _, arch := range profile.Architectures {
		a, err := libseccomp.GetArchFromString(strings.ToLower(strings.TrimPrefix(string(arch), "SCMP_ARCH_")))
		if err == nil {
			err = filter.AddArch(a)
		}
		if err != nil {
			filter.Release()
			return nil, fmt.Errorf("%s: %w", arch, err)
		}
	}
	for i, call := range profile.Syscalls {
		if err := addAsRuntime(filter, call, fallback, len(profile.Architectures) > 1); err != nil {
			filter.Release()
			return nil, fmt.Errorf("syscalls[%d]: %w", i, err)
		}
	}
	return filter, nil
}

// addAsRuntime adds one rule for each of its names. Conditions that stand more than once
// on one argument mean any of them, as runtimes have it for docker's first profiles.
func addAsRuntime(filter *libseccomp.ScmpFilter, call specs.LinuxSyscall, fallback libseccomp.ScmpAction, foreign bool) error {
	act, err := runtimeAction(call.Action, call.ErrnoRet)
	if err != nil || act == fallback {
		return err // the library has no rules for the default action
	}
	sets, err := conditions(call.Args)
	if err != nil {
		return err
	}
	for _, name := range call.Names {
		nr, err := libseccomp.GetSyscallFromName(name)
		if err != nil {
			n, ok := seccomp.Number(runtime.GOARCH, name)
			if !ok || foreign {
				continue // newer than the library, which can not name it for the others
			}
			nr = libseccomp.ScmpSyscall(n)
		}
		for _, set := range sets {
			if err := filter.AddRuleConditional(nr, act, set); err != nil {
				return fmt.Errorf("%q: %w", name, err)
			}
		}
	}
	return nil
}

func conditions(args []specs.LinuxSeccompArg) ([][]libseccomp.ScmpCondition, error) {
	var all []libseccomp.ScmpCondition
	count := map[uint]int{}
	twice := false
	for _, a := range args {
		c, err := libseccomp.MakeCondition(a.Index, operator(a.Op), a.Value, a.ValueTwo)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
		count[a.Index]++
		twice = twice || count[a.Index] > 1
	}
	if !twice {
		return [][]libseccomp.ScmpCondition{all}, nil
	}
	var sets [][]libseccomp.ScmpCondition
	for _, c := range all {
		sets = append(sets, []libseccomp.ScmpCondition{c})
	}
	return sets, nil
}

// runtimeAction is action without what only brainbox refuses.
func runtimeAction(a specs.LinuxSeccompAction, errno *uint) (libseccomp.ScmpAction, error) {
	value := int16(1)
	if errno != nil && *errno <= maxErrno {
		value = int16(*errno)
	}
	switch a {
	case specs.ActErrno:
		return libseccomp.ActErrno.SetReturnCode(value), nil
	case specs.ActTrace:
		return libseccomp.ActTrace.SetReturnCode(value), nil
	case specs.ActNotify:
		return libseccomp.ActNotify, nil
	default:
		plain, err := action("action", a, "errnoRet", nil)
		return native(plain), err
	}
}

// Resolves reports whether libseccomp knows a name, on any architecture.
func Resolves(name string) bool { return resolves(name) }
