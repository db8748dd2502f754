// Package spawn starts one confined program.
//
// The parent prepares everything that can be prepared without changing any of its
// own threads: the Landlock ruleset descriptor, the seccomp program, the argument
// and environment blocks, and from them one flat list of raw system calls. Then it
// makes a child that shares its memory and waits for it (CLONE_VM|CLONE_VFORK), and the
// child walks the list, which ends in execve(2). What the child could not do comes back
// over a close-on-exec pipe as a step and an errno.
//
//	child, err := spawn.Start(&spawn.Request{Path: "/bin/true", Argv: []string{"true"}, Ruleset: fd, …})
//
// [Become] walks the same list on the calling thread and never returns when it
// succeeds: the process becomes the program, with the same process number.
//
// Why not restrict a locked thread and fork from it: that thread would sit in the
// child's own Landlock domain while it shares memory and descriptors with the rest
// of the supervisor, so the child may ptrace(2) it, read its memory, take its
// descriptors and signal it. Why not start a second Go stage that restricts itself:
// it costs more than the whole start. The child here is never a Go program: it makes
// raw system calls from one function that may not be preempted, grow its stack,
// allocate or meet a write barrier.
//
// With [Request.Namespaces] the child is not the program but an init, made by one clone(2)
// into new namespaces: a plain copy of the caller that walks a list of its own (mounts, the
// new root, the end of the old one), then makes the program as above, then waits for every
// process in there for the rest of its life. It is no second program start either, only a
// continuation in raw system calls. What protects it from a program that has its uid:
//
//   - it is not dumpable, and its memory belongs to the caller's user namespace, so that
//     ptrace(2), process_vm_readv(2), pidfd_getfd(2), kcmp(2) and what /proc/1 shows of
//     memory, descriptors, root and executable need a capability that no process in there
//     can get;
//   - pid 1 without handlers gets no signal from inside (pid_namespaces(7));
//   - it is in no Landlock domain, so that the program's domain forbids the same again;
//   - it holds one descriptor, no capability, and has zeroed its copy of the arguments and
//     the environment that the caller was started with.
//
// With [Request.Listener] the child shares the caller's table of descriptors too, until the
// filter is loaded: the listener that the kernel puts there is the caller's then, without
// any privilege and without a second process that would have to fetch it. Only afterwards
// does the child get a table of its own, and puts its descriptors in order. In namespaces it is
// the init's table that the command shares, up to execve(2), and the init hands the listener
// over with the command's pidfd. Nobody serves the listener before the start is over, so
// nothing in the list after the filter may be notified: a filter that notifies what the start
// does itself has to let through what bears [Request.Mark].
//
// With [Namespaces.Network] the caller has its say in the program's network before there is a
// program, and by [Sockets] makes sockets in there at any time, from outside.
//
// The fork hooks are the runtime's own, reached by go:linkname as gVisor does
// (go.dev/issue/67401).
//
// # Limits
//
// A step that the kernel carries out on the whole process (rlimits, the signal
// dispositions, umask) also hits the caller of Become when a later step fails.
// Start must be called from a thread that outlives the child if Request.DieWithParent
// is set: the kernel ties the death signal to the forking thread (prctl(2),
// PR_SET_PDEATHSIG); with namespaces it always is. The process's first thread is one, which
// no goroutine can end (Request.Thread), and any that the caller locks. Linux only; amd64
// and arm64.
//
// The kernel lets any process of the same uid change the limits and the priority of
// another, dumpable or not (prlimit(2), setpriority(2), sched_setscheduler(2)): a program
// can make its init slow, or make it die, which ends the program. It gains nothing that
// exit(2) would not give it.
//
// A program that keeps uid 0 on uid 0 of the host owns what root owns, without capability:
// a writable proc lets it set the host's sysctls and use its sysrq-trigger, so that needs
// subset=pid, a read-only mount, or a ruleset. No rule of a ruleset reaches into a bind from above: it has to be
// for what is bound, or for something below it.
package spawn
