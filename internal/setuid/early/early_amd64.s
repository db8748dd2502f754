#include "textflag.h"

// func rawCall(nr, a1, a2, a3, a4, a5 uintptr) (r uintptr)
TEXT ·rawCall(SB), NOSPLIT, $0-56
	MOVQ	nr+0(FP), AX
	MOVQ	a1+8(FP), DI
	MOVQ	a2+16(FP), SI
	MOVQ	a3+24(FP), DX
	MOVQ	a4+32(FP), R10
	MOVQ	a5+40(FP), R8
	SYSCALL
	MOVQ	AX, r+48(FP)
	RET
