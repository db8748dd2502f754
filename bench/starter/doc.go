// Command starter starts one program after the other for bench, and says what
// each took. It is a process of its own because it has to be small: a child's
// ru_maxrss is at least the peak memory of the process that called execve.
//
//	printf '"/" "/bin/true" "true"\n' | starter
//
// A request is one line on standard input: the program's working directory, its
// path and its arguments, each quoted as Go does, with spaces between. The
// answer is one line on standard output: nanoseconds, ru_maxrss in KiB, and the
// wait status.
//
// # Limits
//
// The program's standard streams are /dev/null; its environment is the
// starter's.
package main
