// Package watch answers the calls of a program that is only looked at: an observer sees each
// of them, and the program gets what it would get without.
//
//	w := watch.New(filter, observer)
//	server, err := notify.New(notify.Config{Handlers: w.Handlers(nil), Arch: arch})
//
// The program runs under what seccomp.Observe makes of its filter. For each call that is
// notified the filter itself is run again, on the number and the registers that the kernel
// has copied: nothing that the program changes meanwhile, and nothing that the observer does,
// has a part in the answer. What the filter refuses fails with the filter's error, and the kernel
// never sees it; what the filter hands to a listener goes to the handler that would have it
// anyway; and what the filter allows the kernel goes on with, under the Landlock domain and in the mounts
// of the program.
//
// # Limits
//
// The calling thread waits while the observer looks. An observer that hangs holds the calls of
// one thread of the program, and as many more as the server has threads; none of them passes.
// One that panics is not told of anything any more ([Stats]).
// Beside a broker a connect that waits takes a thread, too.
//
// If the process that watches ends, the calls fail with ENOSYS.
//
// A call that has not been received yet is interrupted by a signal whose handler has no
// SA_RESTART: it fails with EINTR, also one that else never does (seccomp_unotify(2)).
//
// A filter of the program's own that hands an observed call to a tracer, or has it logged, is
// not asked (SECCOMP_RET_TRACE, SECCOMP_RET_LOG): the kernel takes a notification before both.
// Its refusals hold. A listener of its own it cannot have.
package watch
