// Command fuzz runs every fuzz target of the module for a given time, one after the other,
// and goes on where it was stopped.
//
//	go run ./internal/cmd/fuzz -time 1h
//	go run ./internal/cmd/fuzz -time 1h -match 'bridge/|FuzzParse' -parallel 2
//	go run ./internal/cmd/fuzz -corpus
//
// Target → seconds done is kept in a state file ($XDG_CACHE_HOME/brainbox/fuzz.json, or -state),
// written at every line of progress: what is interrupted, by whatever, loses three seconds.
// The target with the least time goes first. The state also holds what the report says of each
// target (-report): seconds, executions, inputs found, result. A target that failed keeps its
// input as the fuzzer left it, below testdata/fuzz of its package; the others go on, and the
// command fails in the end.
//
// -corpus looks through what the fuzzer found (the fuzz folder of the build cache) and keeps, as
// testdata/fuzz/<target>/<hash> of the package, the inputs that reach code which the seeds and
// the smaller inputs do not reach: at most 20 inputs and 20 KiB for each target. They are
// run by go test from then on.
//
// # Limits
//
// What an input reaches is counted in blocks of the target's own package, with the number of
// times in powers of ten; the fuzzer's own measure is finer. Inputs that name this machine's folders or its host name are left out. Seconds are those that the fuzzer says
// of itself, without building. The state belongs to the targets' names: one whose meaning
// changes keeps its seconds (-reset NAME forgets them).
package main
