// Command mutate takes parts of gate and bridge out, one at a time, and wants the conformance
// suites to notice each by a receipt: by a file of a tool that ran and must not have, or
// the other way round. A suite that only reads what is said would pass.
//
//	go run ./internal/cmd/mutate
//
// It changes no file: the compiler is given the changed source by go test -overlay. It is
// run in the module's root, by hack/mutate-gate.
//
// # Limits
//
// A text that a mutation replaces must be in its file exactly once; when the source
// changes, so must the list.
package main
