// Command victim makes one named attempt with raw system calls and says how the
// kernel answered. It is what the escape matrix runs inside brainbox, and outside
// of it as the positive control.
//
//	victim 257 -100 s:/etc/shadow 0    (openat(2) by number)
//	errno EACCES
//
// Without arguments it reads one attempt a line and writes one answer a line, so
// that one confined start serves many attempts. An attempt is one call or several
// joined by the word ";", and the answer is that of the last one:
//
//	ok DETAIL      it worked
//	errno NAME     the kernel refused it
//	signal NAME    a child made it and was ended by a signal
//	exit N DETAIL  a child made it and ended with a status other than 0
//	bad TEXT       the attempt itself could not be made
//
// A call is a system call number with its arguments, or a named operation. See
// value.go for what an argument may be.
//
// # Limits
//
// It is a test helper for Linux on amd64 and arm64 and believes every word it is
// given. Numbers above the arguments' width are passed as they are: that is the
// point of it.
package main
