package seccomp

import "runtime"

// The other ways into seccomp(2) of a 64-bit machine.
const (
	auditI386    = 0x40000003
	auditARM     = 0x40000028
	seccompI386  = 354
	seccompARM   = 383
	newListener  = 1 << 3 // SECCOMP_FILTER_FLAG_NEW_LISTENER
	seccompFlags = offArgs + 8
	ebusy        = 16
)

// SoleListener returns p with one refusal more, for a program whose calls a notification
// listener answers: a filter with another listener is not loaded, and seccomp(2) fails with
// EBUSY.
//
// The kernel answers the same, but only as long as the first listener is open. If it ends
// before the program does, a call that p notifies must go on to fail with ENOSYS. Of two
// filters that notify, the younger one's listener is asked: the program would be its own
// judge.
//
// An error wraps [ErrInvalid]: p is not valid, or too long.
func SoleListener(p Program) (Program, error) { return soleListener(p, runtime.GOARCH) }

func soleListener(p Program, goarch string) (Program, error) {
	arch, err := AuditArch(goarch)
	if err != nil {
		return nil, err
	}
	nr, _ := Number(goarch, "seccomp")
	entries := [][2]uint32{{arch, nr}, {auditARM, seccompARM}}
	if goarch == "amd64" {
		entries = [][2]uint32{{arch, nr}, {arch, nr | x32Bit}, {auditI386, seccompI386}}
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	var head Program
	for i, e := range entries {
		toFlags := uint8(4*(len(entries)-1-i) + 1)
		head = append(head, Insn{Code: opLdAbs, K: offArch}, Insn{Code: opJeq, K: e[0], Jf: 2},
			Insn{Code: opLdAbs, K: offNr}, Insn{Code: opJeq, K: e[1], Jt: toFlags})
	}
	head = append(head, Insn{Code: opJa, K: 3},
		Insn{Code: opLdAbs, K: seccompFlags}, Insn{Code: classJmp | jmpSet, K: newListener, Jf: 1},
		Insn{Code: opRetK, K: uint32(Errno(ebusy))},
		Insn{Code: opAndK}) // p begins with an accumulator of 0
	whole := append(head, p...)
	return whole, whole.Validate()
}
