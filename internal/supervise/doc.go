// Package supervise runs one confined program from its start to the proven end of
// its whole process tree.
//
//	result, err := supervise.Run(job, files, events)
//
// Run starts the program through package spawn, forwards signals, keeps the terminal
// and job control, enforces the time and output limits, and ends every descendant
// before it reports the result.
//
// # Limits
//
// A program in namespaces of its own (spawn.Namespaces) has an init, which is this process's
// child in its stead: it tells of stops and of the end, and its own end is that of the tree.
// What follows is about a program without.
//
// Without a cgroup the tree is ended by walking it: the supervisor is a subreaper, so
// that no descendant can leave, but a program that forks faster than it is killed
// takes several passes. If the supervisor itself is ended by SIGKILL, the program dies
// with it (PR_SET_PDEATHSIG) and its descendants go on, still confined.
// One Run at a time in a process.
//
// A hold (Job.Hold) is of every process of the tree, in whatever session or group, and of what
// the relays have read. It is not of what the terminal has been given already, and
// not of what runs elsewhere for the program. By signals (without a cgroup of its own) a stop can
// be undone: two looks in a row find nothing that runs before the hold counts, and a look five times a second
// tells when something does; a process that another one continues has so long. A process in an
// uninterruptible sleep counts as held when it cannot return from there without stopping. What
// the program had stopped itself stays so, unless it did at the very moment of the hold. A relay that
// waits for a terminal which takes nothing (^S) cannot be held. If the supervisor is ended by SIGKILL within a
// hold, the kernel continues those stopped processes whose group it leaves without a parent, and no others;
// a frozen cgroup is ended by the next start.
package supervise
