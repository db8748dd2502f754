package tree

import "brainbox/seccomp"

// The operations the compiler emits (linux/bpf_common.h).
const (
	ldAbs = 0x20
	retK  = 0x06
	ja    = 0x05
	jeq   = 0x15
	jge   = 0x35
	jset  = 0x45
	andK  = 0x54
)

// Offsets in struct seccomp_data (linux/seccomp.h).
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// label is a place in a program, counted from its end: the instruction with
// label n has n-1 instructions behind it.
type label int

// assembler builds a program from its end to its start, because filters only
// jump forward: the target of a jump is always there before the jump.
type assembler struct {
	rev []seccomp.Insn // last instruction first
}

// emit puts an instruction in front of what is there.
func (a *assembler) emit(code uint16, k uint32) label {
	a.rev = append(a.rev, seccomp.Insn{Code: code, K: k})
	return label(len(a.rev))
}

// branch puts a conditional jump in front. A target more than 255 instructions
// away is reached over a step of its own, put directly behind the jump.
func (a *assembler) branch(code uint16, k uint32, yes, no label) label {
	yes = a.near(yes)
	no = a.near(no)
	at := len(a.rev)
	a.rev = append(a.rev, seccomp.Insn{
		Code: code, K: k, Jt: uint8(at - int(yes)), Jf: uint8(at - int(no)),
	})
	return label(len(a.rev))
}

// near returns a label that a jump can reach even if one more step is put
// between.
func (a *assembler) near(to label) label {
	const reach = 254
	distance := len(a.rev) - int(to)
	if distance <= reach {
		return to
	}
	if target := a.rev[to-1]; target.Code == retK {
		return a.emit(retK, target.K)
	}
	return a.emit(ja, uint32(distance))
}

// here reports whether to is the instruction that would follow the next one.
func (a *assembler) here(to label) bool { return int(to) == len(a.rev) }

// follow puts a jump in front unless to already follows.
func (a *assembler) follow(to label) {
	if !a.here(to) {
		a.emit(ja, uint32(len(a.rev)-int(to)))
	}
}

func (a *assembler) program() seccomp.Program {
	p := make(seccomp.Program, len(a.rev))
	for i, in := range a.rev {
		p[len(p)-1-i] = in
	}
	return p
}
