package launcher

import (
	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// Allows answers for one resolved path whether what right needs is granted there, and by
// which entry. It is the judge's answer for a file that exists.
func (p *Plan) Allows(right policy.Right, target string) (bool, *Entry) {
	x := p.lookup()
	need := asksFor(right)
	s := x.at(target)
	if need == 0 || need&^s.bits != 0 {
		return false, nil
	}
	if x.inside {
		switch r := s.around(); {
		case s.masked != nil || r.denied || r.bare(), right.Writes() && !r.write, right.Execs() && !r.exec:
			return false, nil
		}
	}
	by := x.giver(target, need)
	if by.entry == nil { // made for the run, and no entry's
		return true, &Entry{Value: target, Path: target, Target: target, Right: right.String(), State: StateEnforced, Source: -1}
	}
	return true, by.entry
}

// asksFor is what a right of the policy needs of Landlock, for a file.
func asksFor(right policy.Right) uint64 {
	const read, write = unix.LANDLOCK_ACCESS_FS_READ_FILE, unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	switch right {
	case policy.RightRead:
		return read
	case policy.RightExec:
		return read | unix.LANDLOCK_ACCESS_FS_EXECUTE
	case policy.RightWrite:
		return read | write
	case policy.RightWriteExec:
		return read | write | unix.LANDLOCK_ACCESS_FS_EXECUTE
	case policy.RightNone, policy.RightProtect, policy.RightDeny:
	}
	return 0
}

// lookup is the plan by path.
func (p *Plan) lookup() *index {
	if p.index == nil {
		return newIndex(p, &Facts{})
	}
	return p.index
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
