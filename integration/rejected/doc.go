// Command rejected starts a program in the way that brainbox must not: it restricts
// a locked thread of its own and then starts the program from that thread.
//
//	rejected /path/of/victim attack 1s
//
// The thread sits in the program's own Landlock domain while it shares memory and
// descriptors with the rest of this process, so the program may attach to it, read
// its memory, take its descriptors and signal it. The test that brainbox has to pass
// has to fail here: that is what this command is kept for.
//
// # Limits
//
// It confines nothing that is of use and is never installed.
package main
