package seccomp

import "fmt"

// Validate reports, by an error wrapping [ErrInvalid], whether the kernel would
// refuse to load p: length, operation codes, load offsets, jumps, divisors,
// shifts, scratch words read before they are written, and a last instruction
// that does not return. It follows bpf_check_classic and seccomp_check_filter
// (net/core/filter.c, kernel/seccomp.c, Linux 6.18).
func (p Program) Validate() error {
	if len(p) == 0 || len(p) > MaxInsns {
		return fmt.Errorf("seccomp: %w: %d instructions, want 1 to %d", ErrInvalid, len(p), MaxInsns)
	}
	for pc, in := range p {
		if why := checkInsn(in, len(p)-pc-1); why != "" {
			return fmt.Errorf("seccomp: %w: instruction %d (code %#04x): %s", ErrInvalid, pc, in.Code, why)
		}
	}
	if c := p[len(p)-1].Code; c != opRetK && c != opRetA {
		return fmt.Errorf("seccomp: %w: the last instruction does not return", ErrInvalid)
	}
	return p.checkMemory()
}

// checkInsn says what is wrong with one instruction that has after instructions
// behind it; "" means nothing.
func checkInsn(in Insn, after int) string {
	switch in.Code {
	case opLdAbs:
		if in.K >= dataSize || in.K%4 != 0 {
			return "loads outside struct seccomp_data or across its words"
		}
		return ""
	case opLdMem, opLdxMem, opSt, opStx:
		if in.K >= memWords {
			return "no such scratch word"
		}
		return ""
	case opLdLen, opLdxLen, opLdImm, opLdxImm, opRetK, opRetA, opTax, opTxa, opNeg:
		return ""
	case opJa:
		// The kernel compares without adding, so that a huge K can not wrap.
		if uint64(in.K) >= uint64(after) {
			return "jumps out of the program"
		}
		return ""
	}
	switch in.Code & classMask {
	case classAlu:
		return checkALU(in)
	case classJmp:
		return checkJump(in, after)
	}
	return "not an operation a seccomp filter may use"
}

func checkALU(in Insn) string {
	if in.Code&^(classMask|srcX|opMask) != 0 {
		return "not an operation a seccomp filter may use"
	}
	fromX := in.Code&srcX != 0
	switch in.Code & opMask {
	case aluAdd, aluSub, aluMul, aluOr, aluAnd, aluXor:
		return ""
	case aluDiv:
		if !fromX && in.K == 0 {
			return "divides by zero"
		}
		return ""
	case aluLsh, aluRsh:
		if !fromX && in.K >= 32 {
			return "shifts by 32 bits or more"
		}
		return ""
	}
	return "not an operation a seccomp filter may use"
}

func checkJump(in Insn, after int) string {
	if in.Code&^(classMask|srcX|opMask) != 0 {
		return "not an operation a seccomp filter may use"
	}
	switch in.Code & opMask {
	case jmpEq, jmpGt, jmpGe, jmpSet:
	default:
		return "not an operation a seccomp filter may use"
	}
	if int(in.Jt) >= after || int(in.Jf) >= after {
		return "jumps out of the program"
	}
	return ""
}

// checkMemory refuses a read of a scratch word that not every path to it has
// written. All jumps lead forward, so one pass in program order is enough.
func (p Program) checkMemory() error {
	const all = 1<<memWords - 1
	written := make([]uint16, len(p)) // words written on every path to each instruction
	for i := range written {
		written[i] = all
	}
	written[0] = 0
	meet := func(pc int, words uint16) {
		if pc < len(written) {
			written[pc] &= words
		}
	}
	for pc, in := range p {
		words := written[pc]
		switch {
		case in.Code == opSt || in.Code == opStx:
			words |= 1 << in.K
			meet(pc+1, words)
		case in.Code == opLdMem || in.Code == opLdxMem:
			if words&(1<<in.K) == 0 {
				return fmt.Errorf("seccomp: %w: instruction %d reads scratch word %d before it is written",
					ErrInvalid, pc, in.K)
			}
			meet(pc+1, words)
		case in.Code == opJa:
			meet(pc+1+int(in.K), words)
		case in.Code&classMask == classJmp:
			meet(pc+1+int(in.Jt), words)
			meet(pc+1+int(in.Jf), words)
		case in.Code == opRetK || in.Code == opRetA:
		default:
			meet(pc+1, words)
		}
	}
	return nil
}
