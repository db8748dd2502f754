// Package audit writes down what was decided and what was done, one JSON line each, in a
// file that outlives the run.
//
//	log, err := audit.Open(audit.Options{Dir: dir, Session: "s1", Redact: secrets.Mask})
//	defer log.Close()
//	err = log.Put(audit.Effect, data) // nil: the line is in the file
//
//	report, err := audit.Verify(file, head)
//
// The file is $XDG_STATE_HOME/brainbox/audit.jsonl, 0600. A line is
//
//	{"seq":7,"prev":"<64 hex>","time":"…","session":"…","type":"effect","data":{…}}
//
// seq counts the lines of the file from 1, and prev is the SHA-256 of the line before,
// without its line feed (64 zeros in the first one). Every session goes on with the chain of
// the file; several at once take turns (flock(2)), a batch of lines at a time. All texts are
// redacted, bounded, and escaped, so that the file may be shown on a terminal.
//
// # Failures
//
// A line that cannot be written (no space, no lock within [Options.LockWait], a file that is
// no chain) is an error of [Log.Put], and the caller fails closed. With [Options.Continue]
// it is none: [Options.Diagnose] is told, and the next line that can be written is preceded
// by one of type lost that says how many are missing. What a failed write left is taken away
// again under the same lock.
//
// A machine or a writer that dies can leave half a line. The next writer keeps it, ends it
// with a line feed, and continues the chain from the line before with one of type healed,
// which names the length and the SHA-256 of what is torn. [Verify] reports it as torn, which
// is no fault of the chain.
//
// # Durability
//
// With the zero [Options.SyncEvery] a line is on the disk (fdatasync(2)) when Put returns;
// callers at the same time share one such call. Otherwise it is in the kernel when Put
// returns, where the end of the process cannot take it away, and on the disk within that time.
//
// # Rotation
//
// Is the operator's: move the file to another name in the same folder, then compress or ship
// it. A running session sees with its next line that the name is free, and begins a new
// file with a line of type rotated, which names the last line of the old one that it knew: its number
// and its hash. What others wrote between can be told by their lines of the same type.
//
// # Limits
//
// The chain has no secret: who can write the file can make all of it anew, and who has the
// operator's uid can write it. Nothing vouches for the last line: a tail that was cut, and a
// last line that was changed, are seen only by who has kept its hash ([Log.Head]) elsewhere and
// gives it to Verify. A torn line that is healed is named by what healed it, so whoever could forge that
// line could hide any text as torn; but nothing behind it. Lines are in the order of
// their writing; their times need not be. Redaction is the caller's function; a text that is
// redacted only in part by it stays so.
package audit
