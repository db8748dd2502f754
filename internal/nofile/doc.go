// Package nofile remembers the RLIMIT_NOFILE that the process was started with.
//
// Package syscall raises the soft limit to the hard one in its initialiser
// (go.dev/issue/46279) and keeps the old value to itself, so a launcher that runs
// execve with a raw call would hand its program a limit that nobody asked for.
//
//	soft, hard, ok := nofile.Original()
//
// # Limits
//
// It relies on two facts, and a test holds them: this package imports nothing, and
// packages without uninitialised imports start in the order of their import
// paths (Go 1.21), "brainbox/…" before "syscall". Only amd64 and arm64.
package nofile
