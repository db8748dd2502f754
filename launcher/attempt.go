package launcher

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

// Attempt is a start in namespaces that failed: the step and the errno.
type Attempt struct {
	Step  spawn.Step
	Errno syscall.Errno
}

// NotOffered is the answer of package spawn, which knows what its steps mean.
func (a Attempt) NotOffered() bool {
	return (&spawn.Error{Step: a.Step, Errno: a.Errno}).NotOffered()
}

// String names the step and the errno.
func (a Attempt) String() string { return a.Step.String() + ": " + errnoName(a.Errno) }

func errnoName(e syscall.Errno) string {
	if name := unix.ErrnoName(e); name != "" {
		return name
	}
	return e.Error()
}

// FallBack decides what follows a failed start in namespaces: plan is the one for isolation
// landlock, with the same policy and the same facts. Only where namespaces were not insisted
// on and are not offered, and where everything that is required can be held without, it
// is returned, marked with the attempt; else the refusal says what is missing.
func FallBack(plan *Plan, a Attempt) (*Plan, *Refusal) {
	insisted := plan.Asked == "namespaces"
	switch {
	case !a.NotOffered():
		return nil, &Refusal{Status: StatusRefused, Message: "start in namespaces: " + a.String()}
	case insisted:
		return nil, &Refusal{
			Status: StatusRefused, Message: "isolation namespaces is not offered here (" + a.String() + ")",
			Hint: routeToNamespaces(a) + "; --isolation landlock needs none",
		}
	case plan.Refusal != nil:
		r := *plan.Refusal
		r.Message += "; and isolation namespaces is not offered here (" + a.String() + ")"
		r.Hint = strings.TrimPrefix(r.Hint+"; "+routeToNamespaces(a), "; ")
		return nil, &r
	}
	fallen := *plan
	fallen.Fallback = &a
	return &fallen, nil
}

// routeToNamespaces says what would offer them.
func routeToNamespaces(a Attempt) string {
	switch {
	case a.Errno == unix.ENOSPC || a.Errno == unix.EUSERS:
		return "raise user.max_user_namespaces and the other user.max_*_namespaces (namespaces(7))"
	case a.Errno == unix.ENOSYS:
		return "a kernel with user, mount, pid, ipc, uts and network namespaces"
	case a.Step == spawn.StepPrivate:
		return "install the AppArmor profile contrib/apparmor/brainbox, " +
			"or set kernel.apparmor_restrict_unprivileged_userns=0"
	}
	return "brainbox probe says who refuses user namespaces, and what allows them"
}
