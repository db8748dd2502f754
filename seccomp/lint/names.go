package lint

import (
	"strings"

	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"

	"brainbox/internal/spell"
)

// names judges the names that this architecture does not have.
func (j *judge) names() {
	var elsewhere, library []string
	var otherAt, libraryAt string
	for i, call := range j.spec.Syscalls {
		for n, name := range call.Names {
			at := j.namePlace(i, n)
			_, here := seccomp.Number(j.Arch, name)
			switch {
			case here && j.Known(name):
			case here:
				library, libraryAt = append(library, name), first(libraryAt, at)
			case onAnother(name) || j.Known(name):
				elsewhere, otherAt = append(elsewhere, name), first(otherAt, at)
			default:
				j.unknown(at, name, call.Action)
			}
		}
	}
	if len(elsewhere) > 0 {
		j.add("name-other-arch", otherAt, "not on %s: %s", j.Arch, short(elsewhere))
	}
	if len(library) > 0 {
		j.add("name-library", libraryAt, "not in this libseccomp: %s", short(library))
	}
	if i := j.sub32(); i != "" {
		j.add("arch-subarch", i, "32-bit names, but no 32-bit architecture is listed")
	}
}

// unknown tells of a name that no kernel has.
func (j *judge) unknown(at, name string, action specs.LinuxSeccompAction) {
	like := ""
	if j.told[kind{"name-unknown", Error}]+j.told[kind{"name-unknown", Warning}] < maxAlike {
		like = nearest(name, seccomp.Names(j.Arch))
	}
	if like != "" {
		like = ": " + like + "?"
	}
	if lets(j.spec.DefaultAction) && !lets(action) {
		j.addAs(Error, "name-unknown", at, "%q is not in the filter, and what is meant stays open%s", name, like)
		return
	}
	j.add("name-unknown", at, "%q is not in the filter%s", name, like)
}

// onAnother reports whether a name is one of the other architecture that brainbox has a
// table of, or of one whose names are newer than the libraries in use.
func onAnother(name string) bool {
	if name == "riscv_hwprobe" {
		return true
	}
	_, amd64 := seccomp.Number("amd64", name)
	_, arm64 := seccomp.Number("arm64", name)
	return amd64 || arm64
}

// sub32 is the place of the first name that only the 32-bit companion of this architecture
// has, if that is not listed.
func (j *judge) sub32() string {
	for _, a := range j.spec.Architectures {
		if a == specs.ArchX86 || a == specs.ArchARM {
			return ""
		}
	}
	for i, call := range j.spec.Syscalls {
		for n, name := range call.Names {
			switch name {
			case "chown32", "fcntl64", "socketcall", "mmap2", "stat64", "_llseek", "clock_gettime64", "getuid32", "ugetrlimit":
				return j.namePlace(i, n)
			}
		}
	}
	return ""
}

func first(old, at string) string {
	if old == "" {
		return at
	}
	return old
}

// short lists at most eight names.
func short(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, " ")
	}
	return strings.Join(names[:most], " ") + " …"
}

// nearest returns the name that one or two slips of the pen make of another, or "".
func nearest(name string, names []string) string {
	best, at := "", min(2, len(name)/3)+1
	for _, other := range names {
		if d := spell.Distance(name, other); d < at {
			best, at = other, d
		}
	}
	return best
}
