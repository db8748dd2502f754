package seccomp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// MaxInsns is the longest program the kernel loads: BPF_MAXINSNS in
// linux/bpf_common.h.
const MaxInsns = 4096

// insnSize is the size of a struct sock_filter in bytes.
const insnSize = 8

// ErrInvalid is wrapped by every error that says that a program is not one the
// kernel would load.
var ErrInvalid = errors.New("invalid filter program")

// Insn is one classic BPF instruction. Its memory is that of a struct
// sock_filter (linux/filter.h): a raw seccomp(2) call may be given the address
// of the first element of a [Program].
type Insn struct {
	Code   uint16 // operation: class, size and mode, as in linux/bpf_common.h
	Jt, Jf uint8  // instructions to skip when a conditional jump is taken or not
	K      uint32 // constant: value, offset or distance
}

// Program is a seccomp filter: what a struct sock_fprog points at. The zero
// value is no program; the kernel and [Program.Validate] refuse it.
type Program []Insn

// The operation codes a seccomp filter may use (linux/bpf_common.h).
const (
	opLdAbs  = 0x20 // A = word at offset K of struct seccomp_data
	opLdLen  = 0x80 // A = size of struct seccomp_data
	opLdxLen = 0x81
	opLdImm  = 0x00
	opLdxImm = 0x01
	opLdMem  = 0x60
	opLdxMem = 0x61
	opSt     = 0x02
	opStx    = 0x03
	opRetK   = 0x06
	opRetA   = 0x16
	opTax    = 0x07
	opTxa    = 0x87
	opNeg    = 0x84
	opJa     = 0x05

	classMask = 0x07
	classAlu  = 0x04
	classJmp  = 0x05
	srcX      = 0x08 // the operand is X, not K
	opMask    = 0xf0

	aluAdd = 0x00
	aluSub = 0x10
	aluMul = 0x20
	aluDiv = 0x30
	aluOr  = 0x40
	aluAnd = 0x50
	aluLsh = 0x60
	aluRsh = 0x70
	aluXor = 0xa0

	jmpEq  = 0x10
	jmpGt  = 0x20
	jmpGe  = 0x30
	jmpSet = 0x40
)

// memWords is the number of scratch words M[] (BPF_MEMWORDS).
const memWords = 16

// Decode reads a program in the little-endian form that the kernel of a
// little-endian machine loads and that seccomp_export_bpf(3) writes. It is
// strict: a length that is not a multiple of eight bytes, and a program that the
// kernel would refuse, are errors wrapping [ErrInvalid].
func Decode(b []byte) (Program, error) {
	if len(b) > MaxInsns*insnSize {
		return nil, fmt.Errorf("seccomp: %w: more than %d instructions", ErrInvalid, MaxInsns)
	}
	if len(b)%insnSize != 0 {
		return nil, fmt.Errorf("seccomp: %w: %d bytes are not whole instructions", ErrInvalid, len(b))
	}
	p := make(Program, len(b)/insnSize)
	for i := range p {
		p[i] = decodeInsn(b[i*insnSize:])
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, nil
}

// decodeInsn reads the instruction in the first eight bytes of b.
func decodeInsn[T []byte | string](b T) Insn {
	return Insn{
		Code: uint16(b[0]) | uint16(b[1])<<8,
		Jt:   b[2],
		Jf:   b[3],
		K:    uint32(b[4]) | uint32(b[5])<<8 | uint32(b[6])<<16 | uint32(b[7])<<24,
	}
}

// Bytes returns the program in the form [Decode] reads.
func (p Program) Bytes() []byte {
	b := make([]byte, 0, len(p)*insnSize)
	for _, in := range p {
		b = binary.LittleEndian.AppendUint16(b, in.Code)
		b = append(b, in.Jt, in.Jf)
		b = binary.LittleEndian.AppendUint32(b, in.K)
	}
	return b
}
