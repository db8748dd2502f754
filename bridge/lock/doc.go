// Package lock serialises what must not happen at the same time: one queue for each key,
// and keys know nothing of each other.
//
//	err := set.WithLocks(ctx, []string{lock.BrainDocs, key}, func() error { … })
//
// A [Set] grants a key in the order of the asking, people before autonomous work, and never
// takes it away from whoever holds it. A wait can be bounded, and ends with its context. An
// autonomous holder may be told that a person waits ([Options.Yield]); it is a request.
//
// The rules are those of contract brainkit §7. Permission is asked before a lock is taken,
// never under one. What a shell command needs is [BashKey]; a file, [PathKey].
//
// # Limits
//
// A Set is a thing of one process; other programs are not kept out, but for [FileLock], which
// keeps out those that take the same lock file.
//
// There is no re-entrancy: whoever holds a key and asks for it again waits for himself, until
// his limit or for ever. Two functions that each hold a key and then ask for the other's do
// the same; ask for all keys in one call, which takes them in one order.
//
// People go first without a bound: enough of them keep autonomous work waiting.
package lock
