package tree

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"brainbox/seccomp"
)

// ErrAmbiguous is wrapped when two rules of one system call may match together
// and ask for different actions.
var ErrAmbiguous = errors.New("rules overlap with different actions")

// Cond is one condition: the low 32 bits of an argument, masked, equal Value.
// The high half is ignored, as the kernel ignores it in an int.
type Cond struct {
	Arg   int // 0 to 5
	Mask  uint32
	Value uint32
	// some reverses the sense for Value 0: at least one bit of Mask is set. Only
	// the compiler makes such conditions, from rules with one bit each.
	some bool
}

// Rule asks for an action if all conditions hold; without conditions, always.
type Rule struct {
	Action seccomp.Action
	Conds  []Cond
}

// Policy is what a filter for one architecture decides.
type Policy struct {
	Arch    uint32            // AUDIT_ARCH_ value; any other entry kills the process
	X32     bool              // numbers with the x32 bit kill the process
	Default seccomp.Action    // for every call and argument that no rule matches
	Calls   map[uint32][]Rule // by system call number
}

// Decide returns what the rules say about d, by reading them one by one. It is
// the meaning that compiled programs are held to.
func (p Policy) Decide(d seccomp.Data) seccomp.Action {
	if d.Arch != p.Arch || p.X32 && isX32(d.Nr) {
		return seccomp.KillProcess
	}
	for _, r := range p.Calls[d.Nr] {
		if r.matches(d.Args) {
			return r.Action
		}
	}
	return p.Default
}

// isX32 excludes the number -1, which a tracer writes to skip a call.
func isX32(nr uint32) bool { return nr >= x32First && nr <= x32Last }

const (
	x32First = 0x40000000
	x32Last  = 0xfffffffe
)

func (r Rule) matches(args [6]uint64) bool {
	for _, c := range r.Conds {
		if c.holds(uint32(args[c.Arg])) == c.some {
			return false
		}
	}
	return true
}

func (c Cond) holds(arg uint32) bool { return arg&c.Mask == c.Value }

// Check refuses conditions that can never hold and rules whose order would
// matter.
func (p Policy) Check() error {
	for nr, rules := range p.Calls {
		for i, r := range rules {
			if err := r.check(); err != nil {
				return fmt.Errorf("system call %d: %w", nr, err)
			}
			for _, other := range rules[:i] {
				if other.Action != r.Action && !disjoint(other, r) {
					return fmt.Errorf("system call %d: %w: %v and %v", nr, ErrAmbiguous, other, r)
				}
			}
		}
	}
	return nil
}

func (r Rule) check() error {
	for _, c := range r.Conds {
		if c.Arg < 0 || c.Arg > 5 {
			return fmt.Errorf("argument %d: there are six, from 0", c.Arg)
		}
		if c.Mask == 0 || c.Value&^c.Mask != 0 {
			return fmt.Errorf("argument %d: value %#x is never left by mask %#x", c.Arg, c.Value, c.Mask)
		}
	}
	return nil
}

// disjoint reports whether no arguments match both rules: some argument would
// need a bit both set and clear.
func disjoint(a, b Rule) bool {
	for _, c := range a.Conds {
		for _, d := range b.Conds {
			if c.Arg == d.Arg && (c.Value^d.Value)&c.Mask&d.Mask != 0 {
				return true
			}
		}
	}
	return false
}

// String returns the rule as text, the same for equal rules.
func (r Rule) String() string {
	conds := make([]string, len(r.Conds))
	for i, c := range r.Conds {
		op := "=="
		if c.some {
			op = "!="
		}
		conds[i] = fmt.Sprintf("arg%d & %#x %s %#x", c.Arg, c.Mask, op, c.Value)
	}
	slices.Sort(conds)
	return r.Action.String() + " if " + strings.Join(conds, " and ")
}

// key identifies what a list of rules means for calls that reach it.
func key(rules []Rule) string {
	lines := make([]string, len(rules))
	for i, r := range rules {
		lines[i] = r.String()
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}
