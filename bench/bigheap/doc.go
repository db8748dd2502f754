// Command bigheap starts confined programs through the library from a process
// with a heap of a given size, for bench.
//
//	bigheap DIR MIB FOLDER
//
// DIR has the brainbox command; FOLDER is the one writable folder of the runs.
// Each line on standard input is one run of /bin/true, from observing the policy
// to its end, answered by its nanoseconds on standard output.
//
// # Limits
//
// The first answer also starts the spawner, which later runs use again.
package main
