#include "textflag.h"

// func rawCall(nr, a1, a2, a3, a4, a5 uintptr) (r uintptr)
TEXT ·rawCall(SB), NOSPLIT, $0-56
	MOVD	nr+0(FP), R8
	MOVD	a1+8(FP), R0
	MOVD	a2+16(FP), R1
	MOVD	a3+24(FP), R2
	MOVD	a4+32(FP), R3
	MOVD	a5+40(FP), R4
	SVC
	MOVD	R0, r+48(FP)
	RET
