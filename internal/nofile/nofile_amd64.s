#include "textflag.h"

// func getNofile(lim *[2]uint64) (errno uintptr)
TEXT ·getNofile(SB), NOSPLIT, $0-16
	MOVQ	lim+0(FP), R10
	MOVQ	$302, AX // prlimit64
	MOVQ	$0, DI   // this process
	MOVQ	$7, SI   // RLIMIT_NOFILE
	MOVQ	$0, DX
	SYSCALL
	NEGQ	AX
	MOVQ	AX, errno+8(FP)
	RET
