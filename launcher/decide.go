package launcher

import (
	"brainbox/policy"
)

// Allows answers for one resolved path from the plan's own entries: whether what right
// needs is granted there, and by which entry. Landlock adds up the rules of all folders
// on the way, so every grant above the path counts.
func (p *Plan) Allows(right policy.Right, target string) (bool, *Entry) {
	if p.Isolation == "namespaces" {
		return p.allowsInside(right, target)
	}
	for i := range p.Clauses {
		c := &p.Clauses[i]
		if c.Name != "files" && c.Name != "shared_memory" {
			continue
		}
		for j := range c.Entries {
			e := &c.Entries[j]
			if e.State == StateRefused || e.State == StateUnused || e.Target == "" || !policy.Below(target, e.Target) {
				continue
			}
			if covers(e.Right, right) {
				return true, e
			}
		}
	}
	return false, nil
}

// allowsInside answers for isolation namespaces, where the innermost mount counts.
func (p *Plan) allowsInside(right policy.Right, target string) (bool, *Entry) {
	r := p.region(target)
	own := r.own && r.path == "/"
	switch {
	case own || r.denied, right.Writes() && !r.write, right.Execs() && !r.exec:
		return false, nil
	}
	var best *Entry
	for i := range p.Clauses {
		if p.Clauses[i].Name != "files" {
			continue
		}
		for j := range p.Clauses[i].Entries {
			e := &p.Clauses[i].Entries[j]
			if e.State == StateRefused || e.State == StateUnused || e.Target == "" || !policy.Below(target, e.Target) {
				continue
			}
			if covers(e.Right, right) && (best == nil || len(e.Target) > len(best.Target)) {
				best = e
			}
		}
	}
	if best == nil && r.own && r.write { // made for the run, and no entry's
		best = &Entry{Value: r.path, Path: r.path, Target: r.path, Right: right.String(), State: StateEnforced, Source: -1}
	}
	return best != nil, best
}

// HeldAs says what isolation namespaces has at a path.
type HeldAs uint8

// The answers of [Plan.Held].
const (
	HeldAsGranted HeldAs = iota // what the host has, as far as it is granted
	HeldOwn                     // something that is made for the run
	HeldProtected               // what the host has, and nothing can change it
	HeldDenied                  // something empty
)

// Held says what the program has at a path, and in which tree it lies: in isolation
// namespaces that may not be what the host has. The root is no such place: what is not
// granted is not there.
func (p *Plan) Held(path string) (what HeldAs, place string) {
	if p.Isolation != "namespaces" {
		return HeldAsGranted, ""
	}
	r := p.region(path)
	switch {
	case r.denied:
		return HeldDenied, r.path
	case r.own && r.path != "/" && r.path != "/dev":
		return HeldOwn, r.path
	case r.guarded:
		return HeldProtected, r.path
	}
	return HeldAsGranted, r.path
}

// covers reports whether an entry's word gives what right needs.
func covers(word string, right policy.Right) bool {
	switch right {
	case policy.RightRead:
		return word == "read" || word == "exec" || word == "write" || word == "write_exec"
	case policy.RightExec:
		return word == "exec" || word == "write_exec"
	case policy.RightWrite:
		return word == "write" || word == "write_exec"
	case policy.RightWriteExec:
		return word == "write_exec"
	case policy.RightNone, policy.RightProtect, policy.RightDeny:
	}
	return false
}
