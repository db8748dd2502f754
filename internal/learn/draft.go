package learn

import (
	"slices"

	"brainbox/launcher"
	"brainbox/policy"
)

// Base is a policy that a draft may extend.
type Base struct {
	Extends string         // as a policy file names it
	Grants  []policy.Grant // Abs: where the entry leads, links resolved; absent ones left out
	Guards  []string       // what it keeps the program from changing: resolved, absent ones too
	Tools   []string       // folders of the home that it points variables of toolchains at
}

// Input is what a draft is made of.
type Input struct {
	Uses    []Use
	Dropped int // operations that were too many to keep
	Place   policy.Vars
	Secrets []launcher.Critical
	Bases   []Base   // what may be extended; the narrowest that does is
	Always  []string // places that every run has, the private ones of this run among them
	Granted []string // places that the policy of this run granted
	Path    []string // the folders of PATH, resolved

	Command   string // the program
	Isolation string
	Status    int                                 // of the run
	Asked     *policy.Policy                      // what the flags of the run say; nil: nothing
	Exists    func(path string) launcher.FileKind // what is there after the run; nil: everything is
}

// Line is one entry of a draft.
type Line struct {
	Right  policy.Right
	Path   string // absolute
	Skip   bool   // it may be absent
	Secret string // what secrets are there; only of lines that were refused
	Why    string
	need   need
}

// Draft is a policy, and what was refused while it was learned.
type Draft struct {
	Base    string
	Reason  string // why that base
	Lines   []Line // sorted by right, then by path
	Refused []Line // what the same lines would be for what was refused
	Notes   []string
	Ports   [2][]uint16 // connected to and bound, allowed
	Closed  [2][]uint16 // the same, refused
	Sockets []Line      // refused
	notes   map[string]int
	in      Input
}

// New drafts the smallest policy for what was used.
func New(in Input) *Draft {
	d := &Draft{in: in}
	m := &maker{in: &in, bounds: bounds{home: in.Place.Home, cwd: in.Place.Cwd, secrets: newSecrets(in.Secrets)}}
	allowed, refused := m.split()
	best := m.choose(allowed)
	d.Base, d.Reason, d.Lines = in.Bases[best.base].Extends, best.reason, m.lines(best.set)
	d.refused(m, refused, &best)
	d.ports(allowed, refused)
	d.Notes = tell(best.notes, d.notes, m.unsure)
	return d
}

type maker struct {
	in     *Input
	bounds bounds
	notes  map[string]int // what no line can say, and how often it was seen
	unsure map[string]int // what nobody knows anything of
	inside reason         // what was read where the program starts
}

// split tells the uses that were allowed from those that were refused. What every run has
// is in neither, and neither is what nobody can know anything of.
func (m *maker) split() (allowed, refused []*Use) {
	m.unsure = map[string]int{}
	for i := range m.in.Uses {
		u := &m.in.Uses[i]
		switch {
		case u.Unknown:
			m.unsure["a name that could not be looked at in time ("+u.By+")"] += u.Count
		case u.Judgement.Verdict == launcher.Refused:
			refused = append(refused, u)
		case u.Judgement.Verdict == launcher.Allowed:
			allowed = append(allowed, u)
		default:
			m.unsure["what could not be decided: "+u.Path] += u.Count
		}
	}
	return allowed, refused
}

// always reports whether every run has a place: what is innermost around it counts.
func (m *maker) always(path string) bool {
	return innermost(path, m.in.Always) > innermost(path, m.in.Granted)
}

// innermost is the length of the longest place around a path; 0: none is.
func innermost(path string, list []string) int {
	n := 0
	for _, p := range list {
		if policy.Below(path, p) {
			n = max(n, len(p))
		}
	}
	return n
}

// given is what a base grants at a place, and the line for where the program starts.
func (m *maker) given(base *Base, path string) bits {
	all := base.gives(path)
	if cwd := m.in.Place.Cwd; policy.Below(path, cwd) && !m.bounds.never(cwd) {
		all |= canRead
	}
	return all
}

// gives is what a base grants at a place; rights of all entries around it add up.
func (b *Base) gives(path string) bits {
	var all bits
	for _, g := range b.Grants {
		if g.Right.Grants() && policy.Below(path, g.Abs) {
			all |= bitsOf(g.Right)
		}
	}
	return all
}

// candidate is a draft on one base.
type candidate struct {
	base   int
	set    map[string]*need
	reason string
	notes  map[string]int
}

// collect makes the lines that the allowed uses need beside a base.
func (m *maker) collect(uses []*Use, base *Base) map[string]*need {
	set := map[string]*need{}
	m.notes, m.inside = map[string]int{}, reason{}
	for _, u := range uses {
		if moves(u) {
			m.moved(set, u, base)
			continue
		}
		for _, n := range needsOf(u) {
			m.put(set, n, base)
		}
	}
	m.bounds.group(set)
	settle(set)
	for path, n := range set { // widening may have led to what is given
		if n.bits&^m.given(base, path) == 0 {
			delete(set, path)
		}
	}
	return set
}

// put adds one need, unless it is given anyway.
func (m *maker) put(set map[string]*need, n need, base *Base) {
	switch {
	case m.always(n.path) || n.bits&^base.gives(n.path) == 0:
		return
	case n.bits&^m.given(base, n.path) == 0:
		m.inside.add(n.why)
		return
	}
	if what, secret := m.bounds.secrets.holds(n.path); secret {
		m.notes["WARNING: a flag opened a place of secrets ("+what+"), which is not in the draft: "+n.path]++
		return
	}
	n.path, n.why.widened = m.bounds.lift(&n)
	n.folder = n.folder || n.why.widened != ""
	m.program(&n)
	m.spelled(&n)
	if m.bounds.never(n.path) {
		m.notes["needed, and opened by no line because it would open all that is below: "+n.path]++
		return
	}
	join(set, &n)
}

// spelled gives the folder of what no policy can name.
func (m *maker) spelled(n *need) {
	for !canSpell(n.path) {
		n.path, n.folder, n.why.widened = parent(n.path), true, "a name that no policy can spell"
	}
}

// program gives the folder of a program that was found by PATH: an element of PATH is kept
// only if it is granted.
func (m *maker) program(n *need) {
	dir := parent(n.path)
	if n.bits&canExec != 0 && !n.folder && slices.Contains(m.in.Path, dir) && m.bounds.mayWiden(dir) {
		n.path, n.folder, n.why.widened = dir, true, byPath
	}
}

// moved gives what a name needs that moves between two folders. Where one grant can hold
// both it has to: two are two mounts. Else the rights of both have to be the same.
func (m *maker) moved(set map[string]*need, u *Use, base *Base) {
	from, to := parent(u.Path), parent(u.Dest)
	both := needsOf(u)
	around := common(from, to)
	given := func(path string) bool { return m.always(path) || base.gives(path)&canWrite != 0 }
	switch {
	case given(around):
		return
	case given(from) || given(to) || m.bounds.never(around) || !m.bounds.mayWiden(around) && around != from && around != to:
		for i := range both {
			both[i].bits |= canExec // what every run has, and a base, may be executed
			m.put(set, both[i], base)
		}
		return
	}
	both[0].path = around
	m.put(set, both[0], base)
}

// settle makes one tree of the lines: none lies in another that gives as much, and none in one
// that may be written, which gives the same then: a line for less would take the writing away,
// and one for more would name what this run has made, and the next has not yet.
func settle(set map[string]*need) {
	for again := true; again; {
		again = false
		for _, inner := range sortedPaths(set) {
			n := set[inner]
			for at := inner; at != "/"; {
				at = parent(at)
				outer := set[at]
				if outer == nil || n.bits&^outer.bits != 0 && outer.bits&canWrite == 0 {
					continue
				}
				outer.bits |= n.bits
				outer.why.add(n.why)
				delete(set, inner)
				again = true
				break
			}
		}
	}
}
