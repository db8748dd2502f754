// Package turntemp lets a host count and empty the temporary directory of one
// running turn's worker, on a directory it holds and on nothing else.
//
//	access, err := turntemp.Open(view, "run/scratch", turntemp.Config{
//		Turn: "t-17", Principal: "p-3", Backend: "pi", Sink: receipts,
//	})
//	...
//	defer access.Close() // when the worker has been reaped
//	answer, err := access.Handle(ctx, "t-17", []byte(`{"operation":"purge","all":true}`))
//
// An [Access] is bound to a directory when the worker starts; a call names the
// turn and nothing besides, never a path. The walk goes by held directories: no
// link is followed and no mount is entered, and what is not a directory is not
// opened. A file is looked at again right before its name is removed. Each purge,
// and each call that was refused, leaves one [PurgeRecord] with the host's [Sink]; a
// purge without a working sink is refused before it begins (contract brainkit §6).
//
// Whoever starts both holds the lock [LockKey] meanwhile.
//
// # Limits
//
// This is experimental: only the names and the guarantees are fixed, the rest is
// this project's proposal.
//
// A call gives up at 64 directories deep, 100 000 entries or 2 seconds, whichever
// comes first, and says so (Truncated); what it has done by then stays done. One
// system call on a file system that hangs is not cut short.
//
// A file that the worker has open may lose its name. Its blocks are free only when
// the worker closes it, and until then neither usage nor the receipt shows them.
//
// A regular file with more than one name is left alone, because another name may
// lie outside: a worker can keep its files from a purge by linking each of them
// twice. They end with the directory, when the turn does.
//
// Where the worker runs as another user and the host is not root, what the host
// may not read or remove is reported as failed (EACCES, EPERM).
package turntemp
