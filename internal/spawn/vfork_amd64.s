#include "textflag.h"

// func vforkCall(nr, a1, a2, a3 uintptr) (r1, errno uintptr)
//
// The child runs on this stack before the parent returns from here, and overwrites the
// return address. So it waits in a register, which each of the two has for itself.
TEXT ·vforkCall(SB), NOSPLIT|NOFRAME, $0-48
	MOVQ	nr+0(FP), AX
	MOVQ	a1+8(FP), DI
	MOVQ	a2+16(FP), SI
	MOVQ	a3+24(FP), DX
	XORQ	R10, R10
	XORQ	R8, R8
	XORQ	R9, R9
	POPQ	R12
	SYSCALL
	PUSHQ	R12
	CMPQ	AX, $0xfffffffffffff001
	JCC	failed
	MOVQ	AX, r1+32(FP)
	MOVQ	$0, errno+40(FP)
	RET
failed:
	NEGQ	AX
	MOVQ	$-1, r1+32(FP)
	MOVQ	AX, errno+40(FP)
	RET
