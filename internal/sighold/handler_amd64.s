#include "textflag.h"

// The handler, called by the kernel with the signal's number in DI. The return address on
// the stack is back (sigaction(2), SA_RESTORER).
TEXT note<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ	DI, CX
	MOVQ	$1, AX
	SHLQ	CX, AX
	LOCK
	ORQ	AX, ·noted(SB)
	MOVQ	$1, AX // write
	MOVLQSX	·wake(SB), DI
	LEAQ	one<>(SB), SI
	MOVQ	$8, DX
	SYSCALL
	RET

// What is written to the eventfd.
DATA one<>+0(SB)/8, $1
GLOBL one<>(SB), RODATA|NOPTR, $8

TEXT back<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ	$15, AX // rt_sigreturn
	SYSCALL
	INT	$3

// func notePC() uintptr
TEXT ·notePC(SB), NOSPLIT, $0-8
	LEAQ	note<>(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func backPC() uintptr
TEXT ·backPC(SB), NOSPLIT, $0-8
	LEAQ	back<>(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
