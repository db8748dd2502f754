package lint

import (
	"fmt"

	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// x32Bit marks the numbers of the x32 ABI, under the architecture of amd64.
const x32Bit = 0x40000000

// The entries of other architectures that an amd64 or an arm64 machine has (linux/audit.h).
const (
	audit386   = 0x40000003
	auditARM   = 0x40000028
	auditAMD64 = 0xc000003e
	auditARM64 = 0xc00000b7
)

// numbers is how many numbers are looked at: all tables end below.
const numbers = 600

// architectures judges what the program does with calls that are not native.
func (j *judge) architectures() {
	told := false
	for i, a := range j.spec.Architectures {
		told = told || a != native(j.Arch)
		if a != native(j.Arch) && a != specs.ArchX32 {
			j.add("arch-foreign", j.archPlace(i), "%s is not %s: %s", a, native(j.Arch), j.entered(audits(a), 0))
		}
		if a == specs.ArchX32 {
			j.add("arch-x32", j.archPlace(i), "%s is asked for: %s", a, j.entered([]uint32{auditAMD64}, x32Bit))
		}
	}
	if !told && seccomp.Check(j.program) != nil {
		j.add("arch-foreign", "", "calls that are not native run")
	}
}

// archPlace is the place of an architecture, which in docker's form stands in a map.
func (j *judge) archPlace(i int) string {
	if i < j.listed {
		return fmt.Sprintf("architectures[%d]", i)
	}
	return "archMap"
}

func audits(a specs.Arch) []uint32 {
	switch a {
	case specs.ArchX86:
		return []uint32{audit386}
	case specs.ArchARM:
		return []uint32{auditARM}
	case specs.ArchX86_64:
		return []uint32{auditAMD64}
	case specs.ArchAARCH64:
		return []uint32{auditARM64}
	default: // no such machine runs it beside its own
		return nil
	}
}

// entered says how many numbers the program lets in by other entries.
func (j *judge) entered(audits []uint32, bit uint32) string {
	count := 0
	for _, audit := range audits {
		for nr := range uint32(numbers) {
			if j.program.Eval(seccomp.Data{Nr: nr | bit, Arch: audit}).Runs() {
				count++
			}
		}
	}
	if count == 0 {
		return "none of its calls would run here"
	}
	return fmt.Sprintf("%d of its calls would run, by other numbers than the native ones", count)
}
