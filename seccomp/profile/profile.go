package profile

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"brainbox/seccomp"

	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

var errName = errors.New("no architecture has this system call")

// Profile returns the default profile for o on the architecture this program
// was built for; nil if that has none.
func Profile(o seccomp.Options) *specs.LinuxSeccomp {
	p, err := For(runtime.GOARCH, o)
	if err != nil {
		return nil
	}
	return p
}

// For returns the default profile for o on goarch. Every name in it exists on
// goarch, every rule that may match together with another asks for the same
// action, and all conditions are masked comparisons of 32 bits. For an
// architecture without a default filter the error wraps errors.ErrUnsupported.
func For(goarch string, o seccomp.Options) (*specs.LinuxSeccomp, error) {
	if _, err := seccomp.AuditArch(goarch); err != nil {
		return nil, err
	}
	p := &specs.LinuxSeccomp{DefaultAction: specs.ActErrno, DefaultErrnoRet: errno(enosys)}
	governed := map[string]bool{}
	var special []specs.LinuxSyscall
	for _, g := range Groups() {
		for _, name := range g.Calls {
			if !known(name) {
				return nil, fmt.Errorf("profile: %w: %q", errName, name)
			}
			governed[name] = true
		}
		special = append(special, g.rules(g.Calls, o)...)
	}
	base := specs.LinuxSyscall{Action: specs.ActAllow}
	for _, name := range baseNames(goarch) {
		if !governed[name] {
			base.Names = append(base.Names, name)
		}
	}
	for _, call := range append([]specs.LinuxSyscall{base}, special...) {
		call.Names = slices.DeleteFunc(slices.Clone(call.Names), func(name string) bool {
			_, ok := seccomp.Number(goarch, name)
			return !ok
		})
		if len(call.Names) > 0 {
			p.Syscalls = append(p.Syscalls, call)
		}
	}
	return p, nil
}

// known reports whether some architecture has the name: a name that none has is
// a slip of the pen, and must not vanish.
func known(name string) bool {
	_, amd64 := seccomp.Number("amd64", name)
	_, arm64 := seccomp.Number("arm64", name)
	return amd64 || arm64
}

// baseNames returns the names that the base list allows on goarch without
// conditions and without capabilities, sorted. Rules that depend on the kernel's
// version are left out; groups decide about those calls.
func baseNames(goarch string) []string {
	var names []string
	for _, call := range moby.DefaultProfile().Syscalls {
		if call.Action != specs.ActAllow || len(call.Args) != 0 || !applies(call, goarch) {
			continue
		}
		names = append(names, call.Names...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func applies(call *moby.Syscall, goarch string) bool {
	if e := call.Excludes; e != nil {
		return false
	}
	i := call.Includes
	if i == nil {
		return true
	}
	return len(i.Caps) == 0 && i.MinKernel == nil && slices.Contains(i.Arches, goarch)
}
