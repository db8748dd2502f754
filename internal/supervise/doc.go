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
package supervise
