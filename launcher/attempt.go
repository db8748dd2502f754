package launcher

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
	"brainbox/policy"
)

// Attempt is a start in namespaces, or a trial, that failed: the step and the errno, and
// who refused, as far as that can be seen.
type Attempt struct {
	Step  spawn.Step
	Errno syscall.Errno

	Layer string // who refused; empty: nobody was asked
	Route string // what would offer namespaces
}

// NotOffered is the answer of package spawn, which knows what its steps mean.
func (a Attempt) NotOffered() bool {
	return (&spawn.Error{Step: a.Step, Errno: a.Errno}).NotOffered()
}

// String names the step and the errno.
func (a Attempt) String() string { return a.Step.String() + ": " + errnoName(a.Errno) }

// who is String with the one who refused.
func (a Attempt) who() string {
	if a.Layer == "" {
		return a.String()
	}
	return a.String() + ", by " + a.Layer
}

func errnoName(e syscall.Errno) string {
	if name := unix.ErrnoName(e); name != "" {
		return name
	}
	return e.Error()
}

// hintLandlock is what helps an operator, and nobody who insists.
const hintLandlock = "--isolation landlock needs none"

// hintWithout is hintLandlock where isolation landlock can hold the plan, else what remains.
func (p *Plan) hintWithout() string {
	if p.Network != nil || p.Refusal != nil && p.Refusal.Clause == "hosts" {
		return "--net ports, or no network by name and no published port, needs none"
	}
	return hintLandlock
}

// FallBack decides what follows a failed start in namespaces: plan is the one for isolation
// landlock, with the same policy and the same facts. Only where namespaces were not insisted
// on and are not offered, and where everything that is required can be held without, it
// is returned, marked with the attempt; else the refusal says what is missing.
func FallBack(plan *Plan, a Attempt) (*Plan, *Refusal) {
	insisted := plan.Asked == "namespaces"
	route := firstOf(a.Route, "brainbox probe says who refuses namespaces, and what allows them")
	switch {
	case !a.NotOffered():
		return nil, &Refusal{
			Status: StatusRefused, Message: "start in namespaces: " + a.String(),
			Hint: plan.hintWithout(),
		}
	case insisted && plan.Refusal == nil:
		return nil, &Refusal{
			Status: StatusRefused, Message: "isolation namespaces is not offered here (" + a.who() + ")",
			Hint: route + "; " + plan.hintWithout(),
		}
	case plan.Refusal != nil:
		r := *plan.Refusal
		r.Message += "; and isolation namespaces is not offered here (" + a.who() + ")"
		r.Hint = strings.TrimPrefix(strings.TrimPrefix(r.Hint, "--isolation namespaces")+"; "+route, "; ")
		r.Hint = strings.TrimPrefix(r.Hint, ", or ")
		return nil, &r
	}
	fallen := *plan
	fallen.Fallback = &a
	return &fallen, nil
}

// notOffered is the plan where namespaces were tried and not offered, or failed otherwise.
func notOffered(p *policy.Policy, f *Facts) *Plan {
	a := *f.Refused
	plan := newPlan(p, f, p.Sandbox.Isolation.V == "namespaces" || !a.NotOffered())
	next, refusal := FallBack(plan, a)
	if refusal != nil {
		plan.Refusal, plan.Fallback = refusal, &a
		return plan
	}
	return next
}

// attempt is a failed start as a plan needs to know it: an error of a step, else nil.
func attempt(err error) *Attempt {
	var e *spawn.Error
	if !errors.As(err, &e) {
		return nil
	}
	a := &Attempt{Step: e.Step, Errno: e.Errno}
	if a.NotOffered() {
		a.Layer, a.Route = refuser(*a, lookAround())
	}
	return a
}

// Try finds out whether namespaces are offered here, as a start with the policy would: it
// makes them, and ends them again. The answer is in Refused; a plan of the same facts is the
// one that holds here. Where the policy asks for none, nothing is tried.
func (f *Facts) Try(p *policy.Policy) {
	if !wantsInside(p) || f.Inside == nil {
		return
	}
	f.Untried, f.Refused = false, nil
	n := spawn.Namespaces{
		Net: ownNetwork(p), UIDMap: spawnMap(f.Inside.UIDs), GIDMap: spawnMap(f.Inside.GIDs),
	}
	if err := spawn.Try(&n); err != nil {
		if f.Refused = attempt(err); f.Refused == nil {
			f.Refused = &Attempt{Step: spawn.StepPrepare, Errno: errnoIn(err)}
		}
	}
}

func errnoIn(err error) syscall.Errno {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return unix.EIO
}

// ownNetwork reports whether a policy's network is a namespace of its own, where there is
// one.
func ownNetwork(p *policy.Policy) bool {
	return p.Network.Mode.V == policy.NetNone || p.Network.Mode.V == policy.NetProxy
}
