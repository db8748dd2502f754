#include "textflag.h"

// func getNofile(lim *[2]uint64) (errno uintptr)
TEXT ·getNofile(SB), NOSPLIT, $0-16
	MOVD	lim+0(FP), R3
	MOVD	$261, R8 // prlimit64
	MOVD	$0, R0   // this process
	MOVD	$7, R1   // RLIMIT_NOFILE
	MOVD	$0, R2
	SVC
	NEG	R0, R0
	MOVD	R0, errno+8(FP)
	RET
