// Package explain watches the system calls of a confined program, and says of each what the
// plan makes of it before the kernel does.
//
//	e, err := explain.New(explain.Config{Judge: launcher.NewJudge(plan, facts), Sink: report})
//	… // the run, with e as its launcher.Observer
//	e.Close()
//
// A call is read from the memory of the program, its names are resolved as the kernel will
// resolve them, and what it asks for becomes one [launcher.Operation] or several. The
// [Judge] says what the plan makes of each, and the [Sink] gets what it refuses, with what
// the rest of the kernel would have said: a name that is not there, or a file whose mode
// refuses, is no denial.
//
// The program waits meanwhile, and the file system that it asks for may be its own. A name
// is therefore looked up in the kernel's cache (RESOLVE_CACHED, openat2(2), Linux 5.12).
// What is not there is looked up by another thread, for which a call waits a quarter of a
// second at most, and all of them together a few seconds.
//
// # Limits
//
// What is read may be changed before the kernel reads it, and a name may be another file's
// by then. Nothing is decided here, so that a race makes the report wrong and nothing else.
//
// Programs whose memory may not be read (PR_SET_DUMPABLE, proc(5)), that have changed their
// root folder, and opens with RESOLVE_IN_ROOT or RESOLVE_BENEATH through links are told as
// [Unknown]. Links in /proc to what another process holds are, too.
//
// Of the descriptors that a program holds only the names are known: files that it got from
// elsewhere are no concern of a plan, nor of this package. Quotas, full disks, leases,
// immutable files and file systems that refuse for reasons of their own are not foreseen: a
// denial that is called [Proven] may have failed for them without the plan.
package explain
