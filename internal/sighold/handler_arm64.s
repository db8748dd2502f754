#include "textflag.h"

// The handler, called by the kernel with the signal's number in R0. The link register
// leads to back (sigaction(2), SA_RESTORER).
TEXT note<>(SB), NOSPLIT|NOFRAME, $0
	MOVD	$1, R1
	LSL	R0, R1, R1
	MOVD	$·noted(SB), R2
again:
	LDAXR	(R2), R3
	ORR	R1, R3
	STLXR	R3, (R2), R4
	CBNZ	R4, again
	MOVW	·wake(SB), R0
	MOVD	$one<>(SB), R1
	MOVD	$8, R2
	MOVD	$64, R8 // write
	SVC
	RET

// What is written to the eventfd.
DATA one<>+0(SB)/8, $1
GLOBL one<>(SB), RODATA|NOPTR, $8

TEXT back<>(SB), NOSPLIT|NOFRAME, $0
	MOVD	$139, R8 // rt_sigreturn
	SVC
	BRK	$1

// func notePC() uintptr
TEXT ·notePC(SB), NOSPLIT, $0-8
	MOVD	$note<>(SB), R0
	MOVD	R0, ret+0(FP)
	RET

// func backPC() uintptr
TEXT ·backPC(SB), NOSPLIT, $0-8
	MOVD	$back<>(SB), R0
	MOVD	R0, ret+0(FP)
	RET
