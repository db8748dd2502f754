// Package mutation lets a build for tests leave one layer out, to show that a test of that
// layer can fail. In every other build [On] is a constant false, and what it guards is not
// in the program at all.
//
//	if !mutation.On("fifo-check") { … }
//
// # Limits
//
// A build with the tag brainbox_mutation is no boundary. It is made by tests, in a folder of
// theirs, and nothing installs it.
package mutation
