// Package notify answers the system calls that a seccomp filter hands to its listener
// (seccomp_unotify(2)).
//
//	s, err := notify.New(notify.Config{Handlers: map[int]notify.Handler{unix.SYS_CONNECT: h}})
//	child, err := spawn.Start(request) // with Listener
//	s.Serve(child.Listener)
//	…
//	s.Close()
//
// The kernel takes one listener in a chain of filters, so whatever wants notifications is
// one more handler here, by the number of the call.
//
// Each call is answered by the thread that received it. No thread is waited for: a handler
// that may block says so with [Call.Block], and before it does, another thread receives. A
// blocked handler is interrupted every now and then to look whether the program is still
// there, and whether a signal waits for it. Where handlers cannot say so, as those of an observer,
// Config.Late has another thread receive when one takes long.
//
// A handler that decides never lets the kernel make the call itself (Answer.Continue): the
// arguments lie in the program's memory and its table of descriptors, and another of its
// threads can change them after they were judged. It is there for who only watches calls
// that something else decides about.
//
// # Limits
//
// At most Config.Threads handlers run at a time, on threads that New makes. Further calls
// wait in the kernel, where a signal interrupts them as it would interrupt the call.
//
// Once a call was received its thread can only be killed
// (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19), so that no signal loses the answer
// of an effect that happened. A blocked call sees a signal up to [longest] later.
//
// Before Linux 6.11 the threads that wait are not told of the end of the last program, and wait
// for Close.
//
// When the listener is closed, or the process that has it ends, the calls fail with
// ENOSYS.
package notify
