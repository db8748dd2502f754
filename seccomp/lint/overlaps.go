package lint

import (
	"reflect"
	"slices"

	"brainbox/seccomp/compile"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// spot is one name of one rule.
type spot struct {
	place string
	call  specs.LinuxSyscall
}

// maxSpots bounds the rules of one call that are compared with each other.
const maxSpots = 256

// overlaps compares the rules of each call with each other.
func (j *judge) overlaps() {
	byName := map[string][]spot{}
	var order []string
	for i, call := range j.spec.Syscalls {
		for n, name := range call.Names {
			if byName[name] == nil {
				order = append(order, name)
			}
			byName[name] = append(byName[name], spot{j.namePlace(i, n), call})
		}
	}
	for _, name := range order {
		spots := byName[name]
		for k, s := range spots[:min(len(spots), maxSpots)] {
			j.compare(name, s, spots[:k])
		}
	}
	if !lets(j.spec.DefaultAction) {
		return // a refusal that is spelled out is no fault
	}
	for i, call := range j.spec.Syscalls {
		if call.Action == j.spec.DefaultAction {
			j.add("no-effect", j.source[i]+".action", "%s is the default action", call.Action)
		}
	}
}

// compare tells at most one thing of a rule and those before it.
func (j *judge) compare(name string, s spot, before []spot) {
	for _, b := range before {
		same := verdict(s.call) == verdict(b.call)
		equal := len(s.call.Args) == len(b.call.Args) && (len(s.call.Args) == 0 || reflect.DeepEqual(s.call.Args, b.call.Args))
		switch {
		case same && equal:
			j.add("duplicate", s.place, "%s: the same as %s", name, b.place)
		case same && len(b.call.Args) == 0:
			j.add("shadowed", s.place, "%s: covered by %s", name, b.place)
		case same && len(s.call.Args) == 0:
			j.add("shadowed", b.place, "%s: covered by %s", name, s.place)
		case !same && !compile.Disjoint(s.call.Args, b.call.Args):
			j.add("conflict", s.place, "%s: %s may match where %s says %s", name, s.call.Action, b.place, b.call.Action)
		default:
			continue
		}
		return
	}
}

// answer is what a rule asks for.
type answer struct {
	action specs.LinuxSeccompAction
	errno  uint
}

func verdict(call specs.LinuxSyscall) answer {
	switch {
	case call.Action != specs.ActErrno:
		return answer{action: call.Action}
	case call.ErrnoRet == nil:
		return answer{call.Action, 1}
	}
	return answer{call.Action, *call.ErrnoRet}
}

// ruleFor returns the first rule that names a call and that pick takes.
func (j *judge) ruleFor(name string, pick func(specs.LinuxSyscall) bool) (place string, ok bool) {
	for i, call := range j.spec.Syscalls {
		if n := slices.Index(call.Names, name); n >= 0 && pick(call) {
			return j.namePlace(i, n), true
		}
	}
	return "", false
}

// openedAt is the place of what lets a call run.
func (j *judge) openedAt(name string) string {
	if at, ok := j.ruleFor(name, func(c specs.LinuxSyscall) bool { return lets(c.Action) }); ok {
		return at
	}
	return "defaultAction"
}

// closedAt is the place of what refuses a call.
func (j *judge) closedAt(name string) string {
	if at, ok := j.ruleFor(name, func(c specs.LinuxSyscall) bool { return !lets(c.Action) }); ok {
		return at
	}
	return "defaultAction"
}
