// Package examples is the folder of programs to learn from, each of which somebody else
// could have written: with public packages alone, which a test and the linters see to.
//
//	go build -o bin/ ./examples/...
//
// # Limits
//
// It has no code of its own. The examples are run by the tests, and are not installed.
package examples
