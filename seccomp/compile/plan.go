package compile

import (
	"errors"
	"fmt"
	"slices"

	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// ErrProfile is wrapped by every error that says that a profile can not be
// honoured as it is written. The text names the field.
var ErrProfile = errors.New("this profile can not be honoured")

func refuse(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrProfile, field, fmt.Sprintf(format, args...))
}

// rule is one rule for one call.
type rule struct {
	field  string // where it stands in the profile
	name   string
	nr     uint32
	action seccomp.Action
	conds  []specs.LinuxSeccompArg
}

// planned is a profile in which everything is decided but the instructions.
type planned struct {
	fallback seccomp.Action
	rules    []rule // none of them asks for fallback
	dropped  []string
}

// plan decides what of a profile goes to libseccomp. resolves reports whether
// the library knows a name on any architecture.
func plan(profile *specs.LinuxSeccomp, goarch string, resolves func(string) bool) (planned, error) {
	if err := checkFields(profile, goarch); err != nil {
		return planned{}, err
	}
	fallback, err := action("defaultAction", profile.DefaultAction, "defaultErrnoRet", profile.DefaultErrnoRet)
	if err != nil {
		return planned{}, err
	}
	p := planned{fallback: fallback}
	var all []rule
	for i, call := range profile.Syscalls {
		field := fmt.Sprintf("syscalls[%d]", i)
		act, err := action(field+".action", call.Action, field+".errnoRet", call.ErrnoRet)
		if err != nil {
			return planned{}, err
		}
		if err := checkArgs(field, call.Args); err != nil {
			return planned{}, err
		}
		if len(call.Names) == 0 {
			return planned{}, refuse(field+".names", "no names")
		}
		for _, name := range call.Names {
			nr, ok := seccomp.Number(goarch, name)
			if ok {
				all = append(all, rule{field, name, nr, act, call.Args})
				continue
			}
			if runs(fallback) && !runs(act) && !resolves(name) {
				return planned{}, refuse(field+".names", "unknown system call %q would stay allowed", name)
			}
			if !slices.Contains(p.dropped, name) {
				p.dropped = append(p.dropped, name)
			}
		}
	}
	p.rules, err = unambiguous(all, fallback)
	return p, err
}

// checkFields refuses what only a loader or a listener could honour.
func checkFields(profile *specs.LinuxSeccomp, goarch string) error {
	if _, err := seccomp.AuditArch(goarch); err != nil {
		return err
	}
	if profile.ListenerPath != "" {
		return refuse("listenerPath", "no listener is started")
	}
	if profile.ListenerMetadata != "" {
		return refuse("listenerMetadata", "no listener is started")
	}
	for i, flag := range profile.Flags {
		return refuse(fmt.Sprintf("flags[%d]", i), "%q is not set when the filter is loaded", flag)
	}
	for i, arch := range profile.Architectures {
		if arch != archName(goarch) {
			return refuse(fmt.Sprintf("architectures[%d]", i), "%q is not %q, the native one", arch, archName(goarch))
		}
	}
	return nil
}

func archName(goarch string) specs.Arch {
	if goarch == "arm64" {
		return specs.ArchAARCH64
	}
	return specs.ArchX86_64
}

// maxErrno is the largest error number a filter can return (linux/err.h).
const maxErrno = 4095

// action returns the action of a rule or the default one. Without errnoRet an
// errno action gives EPERM (runtime-spec, config-linux.md, seccomp).
func action(field string, a specs.LinuxSeccompAction, errnoField string, errno *uint) (seccomp.Action, error) {
	if a == specs.ActErrno {
		if errno == nil {
			return seccomp.Errno(1), nil
		}
		if *errno == 0 || *errno > maxErrno {
			return 0, refuse(errnoField, "%d is not an error number from 1 to %d", *errno, maxErrno)
		}
		return seccomp.Errno(uint16(*errno)), nil
	}
	if errno != nil {
		return 0, refuse(errnoField, "action %q returns no errno", string(a))
	}
	switch a {
	case specs.ActAllow:
		return seccomp.Allow, nil
	case specs.ActLog:
		return seccomp.Log, nil
	case specs.ActTrap:
		return seccomp.Trap, nil
	case specs.ActKill, specs.ActKillThread:
		return seccomp.KillThread, nil
	case specs.ActKillProcess:
		return seccomp.KillProcess, nil
	case specs.ActNotify:
		return 0, refuse(field, "%s needs a listener", a)
	case specs.ActTrace:
		return 0, refuse(field, "%s would let a tracer inside decide", a)
	default:
		return 0, refuse(field, "unknown action %q", string(a))
	}
}

// checkArgs refuses conditions that libseccomp would take for others.
func checkArgs(field string, args []specs.LinuxSeccompArg) error {
	seen := map[uint]bool{}
	for i, a := range args {
		at := fmt.Sprintf("%s.args[%d]", field, i)
		if a.Index > 5 {
			return refuse(at+".index", "%d: a call has six arguments, from 0", a.Index)
		}
		if seen[a.Index] {
			return refuse(at+".index", "a second condition on argument %d: libseccomp can not ask for both", a.Index)
		}
		seen[a.Index] = true
		switch a.Op {
		case specs.OpMaskedEqual:
			if a.Value == 0 || a.ValueTwo&^a.Value != 0 {
				return refuse(at, "mask %#x never leaves value %#x", a.Value, a.ValueTwo)
			}
		case specs.OpEqualTo, specs.OpNotEqual, specs.OpLessThan, specs.OpLessEqual,
			specs.OpGreaterEqual, specs.OpGreaterThan:
			if a.ValueTwo != 0 {
				return refuse(at+".valueTwo", "%s compares with one value", a.Op)
			}
		default:
			return refuse(at+".op", "unknown operator %q", string(a.Op))
		}
	}
	return nil
}

// runs reports whether an action lets the call happen.
func runs(a seccomp.Action) bool { return a == seccomp.Allow || a == seccomp.Log }
