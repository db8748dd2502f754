package seccomp

import (
	"fmt"
	"strings"
)

// String returns p in the notation of seccomp-tools and tcpdump -d: one
// instruction a line, each with its number; jumps name the number they lead to.
func (p Program) String() string {
	var b strings.Builder
	for pc, in := range p {
		fmt.Fprintf(&b, "%03d  %s\n", pc, in.text(pc))
	}
	return b.String()
}

func (in Insn) text(pc int) string {
	switch in.Code {
	case opLdAbs:
		return "ld   " + fieldName(in.K)
	case opLdLen:
		return "ld   len"
	case opLdxLen:
		return "ldx  len"
	case opLdImm:
		return fmt.Sprintf("ld   #%#x", in.K)
	case opLdxImm:
		return fmt.Sprintf("ldx  #%#x", in.K)
	case opLdMem:
		return fmt.Sprintf("ld   M[%d]", in.K)
	case opLdxMem:
		return fmt.Sprintf("ldx  M[%d]", in.K)
	case opSt:
		return fmt.Sprintf("st   M[%d]", in.K)
	case opStx:
		return fmt.Sprintf("stx  M[%d]", in.K)
	case opTax:
		return "tax"
	case opTxa:
		return "txa"
	case opNeg:
		return "neg"
	case opRetA:
		return "ret  A"
	case opRetK:
		return "ret  " + Action(in.K).String()
	case opJa:
		return fmt.Sprintf("ja   %03d", uint64(pc)+1+uint64(in.K))
	}
	return in.operation(pc)
}

// operation is the text of arithmetic and of conditional jumps.
func (in Insn) operation(pc int) string {
	operand := fmt.Sprintf("#%#x", in.K)
	if in.Code&srcX != 0 {
		operand = "X"
	}
	name := opName(in.Code)
	if in.Code&classMask != classJmp || name == "?" {
		return fmt.Sprintf("%-4s %s", name, operand)
	}
	return fmt.Sprintf("%-4s %s, %03d, %03d", name, operand, pc+1+int(in.Jt), pc+1+int(in.Jf))
}

func opName(code uint16) string {
	if code&^(classMask|srcX|opMask) != 0 {
		return "?"
	}
	if code&classMask == classJmp {
		switch code & opMask {
		case jmpEq:
			return "jeq"
		case jmpGt:
			return "jgt"
		case jmpGe:
			return "jge"
		case jmpSet:
			return "jset"
		}
		return "?"
	}
	if code&classMask != classAlu {
		return "?"
	}
	switch code & opMask {
	case aluAdd:
		return "add"
	case aluSub:
		return "sub"
	case aluMul:
		return "mul"
	case aluDiv:
		return "div"
	case aluOr:
		return "or"
	case aluAnd:
		return "and"
	case aluLsh:
		return "lsh"
	case aluRsh:
		return "rsh"
	case aluXor:
		return "xor"
	}
	return "?"
}

// fieldName names a word of struct seccomp_data.
func fieldName(off uint32) string {
	switch {
	case off == offNr:
		return "nr"
	case off == offArch:
		return "arch"
	case off == 8:
		return "ip"
	case off == 12:
		return "ip.high"
	case off%8 == 0:
		return fmt.Sprintf("arg%d", (off-offArgs)/8)
	}
	return fmt.Sprintf("arg%d.high", (off-offArgs)/8)
}
