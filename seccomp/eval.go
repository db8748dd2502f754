package seccomp

// dataSize is the size of struct seccomp_data in bytes.
const dataSize = 64

// The offsets in struct seccomp_data that filters load.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// Data is what a filter judges: struct seccomp_data (seccomp(2)).
type Data struct {
	Nr   uint32    // system call number
	Arch uint32    // AUDIT_ARCH_ value of the entry used: see [AuditArch]
	IP   uint64    // instruction pointer
	Args [6]uint64 // the registers, whatever type the call gives its arguments
}

// word returns the 32-bit word at offset off of the little-endian structure:
// the low half of an argument comes before the high half.
func (d *Data) word(off uint32) uint32 {
	switch {
	case off == offNr:
		return d.Nr
	case off == offArch:
		return d.Arch
	case off < offArgs:
		return half(d.IP, off-8)
	}
	return half(d.Args[(off-offArgs)/8], (off-offArgs)%8)
}

func half(v uint64, off uint32) uint32 {
	if off == 0 {
		return uint32(v)
	}
	return uint32(v >> 32)
}

// Eval runs p over d as the kernel would and returns the action it asks for. A
// division by zero ends a filter with [KillThread], as in the kernel. Eval does
// not check p: in a program that [Program.Validate] refuses, what the kernel
// does not have gives [KillProcess].
func (p Program) Eval(d Data) Action {
	var a, x uint32
	var m [memWords]uint32
	for pc := 0; pc < len(p); pc++ {
		in := p[pc]
		if checkInsn(in, MaxInsns) != "" {
			return KillProcess
		}
		switch in.Code {
		case opLdAbs:
			a = d.word(in.K)
		case opLdLen:
			a = dataSize
		case opLdxLen:
			x = dataSize
		case opLdImm:
			a = in.K
		case opLdxImm:
			x = in.K
		case opLdMem:
			a = m[in.K]
		case opLdxMem:
			x = m[in.K]
		case opSt:
			m[in.K] = a
		case opStx:
			m[in.K] = x
		case opTax:
			x = a
		case opTxa:
			a = x
		case opNeg:
			a = -a
		case opRetK:
			return Action(in.K)
		case opRetA:
			return Action(a)
		case opJa:
			pc += int(in.K)
		default:
			operand := in.K
			if in.Code&srcX != 0 {
				operand = x
			}
			if in.Code&classMask == classJmp {
				pc += in.skip(a, operand)
				continue
			}
			var ok bool
			if a, ok = alu(in.Code, a, operand); !ok {
				return KillThread
			}
		}
	}
	return KillProcess
}

// skip returns how many instructions a conditional jump passes over.
func (in Insn) skip(a, operand uint32) int {
	var taken bool
	switch in.Code & opMask {
	case jmpEq:
		taken = a == operand
	case jmpGt:
		taken = a > operand
	case jmpGe:
		taken = a >= operand
	case jmpSet:
		taken = a&operand != 0
	}
	if taken {
		return int(in.Jt)
	}
	return int(in.Jf)
}

// alu computes one arithmetic operation; ok is false for a division by zero.
func alu(code uint16, a, operand uint32) (result uint32, ok bool) {
	switch code & opMask {
	case aluAdd:
		a += operand
	case aluSub:
		a -= operand
	case aluMul:
		a *= operand
	case aluDiv:
		if operand == 0 {
			return 0, false
		}
		a /= operand
	case aluOr:
		a |= operand
	case aluAnd:
		a &= operand
	case aluXor:
		a ^= operand
	case aluLsh:
		// The kernel runs a shift by X as a 32-bit eBPF shift, which takes the
		// low five bits (Documentation/bpf/standardization/instruction-set.rst).
		a <<= operand & 31
	case aluRsh:
		a >>= operand & 31
	}
	return a, true
}

// setWord sets the word that [Data.word] returns.
func (d *Data) setWord(off, v uint32) {
	set := func(to *uint64, off uint32) {
		if off == 0 {
			*to = *to&^(1<<32-1) | uint64(v)
		} else {
			*to = *to&(1<<32-1) | uint64(v)<<32
		}
	}
	switch {
	case off == offNr:
		d.Nr = v
	case off == offArch:
		d.Arch = v
	case off < offArgs:
		set(&d.IP, off-8)
	default:
		set(&d.Args[(off-offArgs)/8], (off-offArgs)%8)
	}
}
