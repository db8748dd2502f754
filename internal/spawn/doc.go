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
// The fork hooks are the runtime's own, reached by go:linkname as gVisor does
// (go.dev/issue/67401).
//
// # Limits
//
// A step that the kernel carries out on the whole process (rlimits, the signal
// dispositions, umask) also hits the caller of Become when a later step fails.
// Start must be called from a thread that outlives the child if Request.DieWithParent
// is set: the kernel ties the death signal to the forking thread (prctl(2),
// PR_SET_PDEATHSIG). Linux only; amd64 and arm64.
package spawn
