package setuid

import (
	"golang.org/x/sys/unix"

	"brainbox/internal/nofile"
)

// Limit is one resource limit of the caller's (setrlimit(2)).
type Limit struct {
	Resource int
	Cur, Max uint64
}

// ours are the limits that could keep the program from doing its work, or from saying why
// not. wanted is the soft limit that is enough. RLIMIT_CPU stays: it bounds what a caller can
// make a process of root's do.
var ours = [...]struct {
	resource int
	wanted   uint64
}{
	{unix.RLIMIT_NOFILE, 1024},
	{unix.RLIMIT_FSIZE, unix.RLIM_INFINITY},
	{unix.RLIMIT_AS, unix.RLIM_INFINITY},
	{unix.RLIMIT_DATA, unix.RLIM_INFINITY},
	{unix.RLIMIT_NPROC, unix.RLIM_INFINITY},
	{unix.RLIMIT_SIGPENDING, unix.RLIM_INFINITY},
	{unix.RLIMIT_STACK, 8 << 20},
}

// Begin makes the process fit for being root's, whatever the caller started it with, and
// returns his limits, which the program gets back: in their order, before its own. It acts on
// the process. Nothing here can fail dangerously: what could not be raised makes a later step
// fail, and that is a refusal; see [Room].
//
// The umask becomes 022, the interval timers, which execve(2) keeps, are stopped, no core is
// written and nobody may trace the process.
func Begin() []Limit {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	unix.Umask(0o022)
	for _, which := range [...]unix.ItimerWhich{unix.ITIMER_REAL, unix.ITIMER_VIRTUAL, unix.ITIMER_PROF} {
		_, _ = unix.Setitimer(which, unix.Itimerval{})
	}
	var list []Limit
	keep := func(resource int, now unix.Rlimit) {
		list = append(list, Limit{Resource: resource, Cur: now.Cur, Max: now.Max})
	}
	var now unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &now) == nil {
		// The plan sets it to 1 byte, with which the kernel asks no handler either (core(5)).
		// That is no more than a caller without any had.
		if next := max(now.Max, 1); unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 0, Max: next}) == nil {
			now.Max = next
		} else {
			_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 0, Max: now.Max})
		}
		keep(unix.RLIMIT_CORE, now)
	}
	for _, r := range ours {
		if unix.Getrlimit(r.resource, &now) != nil {
			continue
		}
		was := now
		if r.resource == unix.RLIMIT_NOFILE {
			if soft, hard, ok := nofile.Original(); ok { // package syscall has changed it
				was = unix.Rlimit{Cur: soft, Max: hard}
			}
		}
		keep(r.resource, was)
		next := unix.Rlimit{Cur: max(now.Cur, r.wanted), Max: max(now.Max, r.wanted)}
		if unix.Setrlimit(r.resource, &next) != nil { // no CAP_SYS_RESOURCE: a container
			_ = unix.Setrlimit(r.resource, &unix.Rlimit{Cur: now.Max, Max: now.Max})
		}
	}
	return list
}

// minFiles is more than the runtime needs besides what the first steps hold, in descriptors.
const minFiles = 32

// Room refuses where [Begin] could not raise the number of descriptors: without one for its
// poller the runtime ends the process, with a status of its own and more than a line.
func Room() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil || now.Cur < minFiles {
		return refuse("RLIMIT_NOFILE is too small for a set-uid start", "it must be 32 or more, and for most policies a multiple")
	}
	return nil
}
