// Package shell has the tool bash: a command that is judged on the host, and run inside the
// sandbox (contract brainkit §8.3).
//
//	t, err := shell.New(shell.Config{Runner: inside})
//
// The gate sees the whole text on its surface bash, where its patterns ask for every use.
// A host that can start a program inside has a [Runner]. One that cannot answers with what
// was allowed,
//
//	{"place":"sandbox","command":"make","timeout_ms":120000}
//
// and the caller, who is inside, runs exactly that, with package run. On the host itself
// nothing is ever run.
//
// The result of a run has exit, signal, cause ("", "timeout", "output", "cancelled"),
// output (a list of {"stream","text"}, or "data" in base64 for bytes that are no UTF-8 text),
// dropped, truncated and held.
//
// # Limits
//
// What a command does then is bounded by the sandbox alone. Without a Runner the caller is
// trusted to run what was allowed: it could run anything in any case, since it is inside.
package shell
