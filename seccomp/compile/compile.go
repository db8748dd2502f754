//go:build cgo

package compile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// Result is a compiled profile.
type Result struct {
	Program seccomp.Program
	// Dropped are the names in the profile that this architecture, or every
	// architecture known here, does not have, in the order of the profile. Their
	// calls get the profile's default action, which refuses them, or can not
	// happen.
	Dropped []string
	// Library is the version of libseccomp, as "2.5.4".
	Library string
}

// Compile returns the program for profile on the architecture this program was
// built for. A profile that can not be honoured as it is written is an error
// that names the field and wraps [ErrProfile]; the library's own failures wrap
// the errno it gave. The program has passed [seccomp.Check].
func Compile(profile *specs.LinuxSeccomp) (Result, error) {
	r, err := compile(profile)
	if err != nil {
		return Result{}, fmt.Errorf("compile: %w", err)
	}
	return r, nil
}

func compile(profile *specs.LinuxSeccomp) (Result, error) {
	p, err := plan(profile, runtime.GOARCH, resolves)
	if err != nil {
		return Result{}, err
	}
	r := Result{Dropped: p.dropped, Library: Version()}
	raw, err := export(p, optimizeTree)
	if err != nil {
		return Result{}, fmt.Errorf("libseccomp %s: %w", r.Library, err)
	}
	if r.Program, err = seccomp.Decode(raw); err != nil {
		return Result{}, err
	}
	return r, seccomp.Check(r.Program)
}

// Version returns the version of the library, as "2.5.4".
func Version() string {
	major, minor, micro := libseccomp.GetLibraryVersion()
	return fmt.Sprintf("%d.%d.%d", major, minor, micro)
}

// resolves reports whether libseccomp knows a name on any architecture; it has
// names that the native one lacks.
func resolves(name string) bool {
	_, err := libseccomp.GetSyscallFromName(name)
	return err == nil
}

// The forms of program that libseccomp makes (seccomp_attr_set(3)).
const (
	optimizeList = 1 // one comparison behind the other
	optimizeTree = 2 // a binary tree over the numbers
)

// export gives the rules to libseccomp and reads back the instructions.
func export(p planned, optimize int) ([]byte, error) {
	filter, err := libseccomp.NewFilter(native(p.fallback))
	if err != nil {
		return nil, err
	}
	defer filter.Release()
	// The library would kill one thread only and leave a process that hangs.
	if err := filter.SetBadArchAction(libseccomp.ActKillProcess); err != nil {
		return nil, fmt.Errorf("bad architecture action: %w", err)
	}
	if err := filter.SetOptimize(optimize); err != nil {
		return nil, fmt.Errorf("optimize: %w", err)
	}
	for _, r := range p.rules {
		conds := make([]libseccomp.ScmpCondition, len(r.conds))
		for i, c := range r.conds {
			if conds[i], err = libseccomp.MakeCondition(c.Index, operator(c.Op), c.Value, c.ValueTwo); err != nil {
				return nil, fmt.Errorf("%s: %w", r.field, err)
			}
		}
		call := libseccomp.ScmpSyscall(r.nr)
		if err := filter.AddRuleConditionalExact(call, native(r.action), conds); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", r.field, r.name, err)
		}
	}
	return exportBPF(filter)
}

// exportBPF reads the program back through a file in memory: a pipe would stand
// still on one that is longer than its buffer.
func exportBPF(filter *libseccomp.ScmpFilter) (raw []byte, err error) {
	fd, err := unix.MemfdCreate("bpf", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "bpf")
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := filter.ExportBPF(file); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, 8*seccomp.MaxInsns+1))
}

// native returns the library's form of an action that plan let through.
func native(a seccomp.Action) libseccomp.ScmpAction {
	if e, ok := a.Errno(); ok {
		return libseccomp.ActErrno.SetReturnCode(int16(e))
	}
	switch a {
	case seccomp.Allow:
		return libseccomp.ActAllow
	case seccomp.Log:
		return libseccomp.ActLog
	case seccomp.Trap:
		return libseccomp.ActTrap
	case seccomp.KillThread:
		return libseccomp.ActKillThread
	default:
		return libseccomp.ActKillProcess
	}
}

// operator returns the library's form of an operator that plan let through.
func operator(op specs.LinuxSeccompOperator) libseccomp.ScmpCompareOp {
	switch op {
	case specs.OpNotEqual:
		return libseccomp.CompareNotEqual
	case specs.OpLessThan:
		return libseccomp.CompareLess
	case specs.OpLessEqual:
		return libseccomp.CompareLessOrEqual
	case specs.OpEqualTo:
		return libseccomp.CompareEqual
	case specs.OpGreaterEqual:
		return libseccomp.CompareGreaterEqual
	case specs.OpGreaterThan:
		return libseccomp.CompareGreater
	case specs.OpMaskedEqual:
		return libseccomp.CompareMaskedEqual
	}
	return libseccomp.CompareInvalid
}
