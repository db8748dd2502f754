// Package setuid is what a command does that may be installed set-uid root: it judges how it
// was started, decides whether the caller may call, and becomes the identity of the policy
// for good.
//
//	s := setuid.Look()
//	raised, err := s.Judge() // false: an ordinary start, to be treated as before
//	limits := setuid.Begin()
//	to, err := setuid.Decide(s.RUID, cfg, db)
//	err = setuid.Drop(to)
//
// Everything that looks at a name of the caller's comes after [Drop]: as root it would learn,
// and tell, what neither the caller nor the identity may see (contract brainkit §1.6).
//
// # Limits
//
// The caller may stop and end the process while his is its real user id, that is until Drop:
// nothing that is done before may depend on what follows. Capabilities, the bounding set and
// no_new_privs belong to a thread: Drop locks the goroutine to its own, which must be the one
// that executes the program. With little RLIMIT_AS or RLIMIT_DATA the Go runtime ends before main,
// and so before [Begin]: with a status of its own, or by a signal. What the caller could set without privileges and execve(2) keeps
// stays his: nice value, scheduling, processors, cgroup, out-of-memory score.
package setuid
