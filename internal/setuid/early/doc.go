// Package early shuts the environment of a set-uid start out before anything of the program
// runs.
//
// The Go runtime honours GODEBUG, GOGC, GOMEMLIMIT, GOMAXPROCS and more in a set-uid program
// too, and packages read such variables when they start. Where the kernel set AT_SECURE
// (getauxval(3)) and a variable beginning with GO is there, [Restart] executes the program
// once more without any. A command calls it by importing one of two packages, which do so
// before every other package but the runtime's own starts:
//
//	import _ "brainbox/internal/setuid/early/emptied" // the environment is not needed
//	import _ "brainbox/internal/setuid/early/quoted"  // [Environ] gives it back
//
// Quoted, a string that begins with GO, or with the mark, gets the mark in front, and so no
// string begins with GO: a second restart is impossible. Who sends quoted strings himself
// says what he could have said without. The strings go to the filter of the policy as what
// the caller said, and never to the runtime.
//
// The environment is read where the kernel put it, above the arguments on the stack: the
// runtime's own copy has GOTRACEBACK=none added in such a start, and would be restarted for
// ever.
//
// # Limits
//
// The runtime itself has read the variables of the first start by then: whoever sets them can
// make that start slow or end it, before it did anything. The package imports nothing, and
// relies on packages without uninitialised imports starting in the order of their import paths
// (Go 1.21), and on the runtime's auxiliary vector being the one on the stack; tests hold both.
// Only amd64 and arm64, and only a static program without cgo: what else runs before the
// runtime changes the environment, and ends the start here. It needs /proc, and ends the process where it is not there.
package early
