package learn

import (
	"slices"
	"strconv"

	"brainbox/policy"
)

// choose drafts on every base, and takes the draft that opens least. A base that guards what
// a host's tool would later run from the checkout, or that sets the variables of a toolchain,
// is taken where the program writes beside that, or uses such a toolchain.
func (m *maker) choose(uses []*Use) candidate {
	list := make([]candidate, len(m.in.Bases))
	for i := range m.in.Bases {
		list[i] = candidate{base: i, set: m.collect(uses, &m.in.Bases[i])}
		list[i].notes = m.notes
		m.start(&list[i])
	}
	best := 0
	for i := range list {
		if i == 0 {
			continue
		}
		if more, less := m.wider(&list[best], &list[i]), m.wider(&list[i], &list[best]); less < more || less == more && len(list[i].set) < len(list[best].set) {
			best = i
		}
	}
	if len(list) == 1 {
		list[0].reason = "the policy that was learned on"
		return list[0]
	}
	for i := range list {
		if why := m.guarded(list[best].set, &m.in.Bases[best], &m.in.Bases[i]); i != best && why != "" {
			list[i].reason = why
			return list[i]
		}
	}
	for i := range list {
		if i != best {
			n := m.wider(&list[i], &list[best])
			list[best].reason = strconv.Quote(m.in.Bases[i].Extends) + " would grant " + plural(n, "more place", "more places")
		}
	}
	return list[best]
}

// start sees to it that the program may start where it is started.
func (m *maker) start(c *candidate) {
	cwd := m.in.Place.Cwd
	if m.in.Bases[c.base].gives(cwd) != 0 || m.bounds.never(cwd) {
		return
	}
	why := m.inside
	why.widened = starts
	join(c.set, &need{path: cwd, bits: canRead, folder: true, why: why})
	settle(c.set)
}

// wider counts the places that a grants and b does not.
func (m *maker) wider(a, b *candidate) int {
	n := 0
	for _, g := range m.in.Bases[a.base].Grants {
		if g.Right.Grants() && bitsOf(g.Right)&^m.grants(b, g.Abs) != 0 {
			n++
		}
	}
	for path, need := range a.set {
		if need.bits&^m.grants(b, path) != 0 {
			n++
		}
	}
	return n
}

func (m *maker) grants(c *candidate, path string) bits {
	all := m.in.Bases[c.base].gives(path)
	for at, n := range c.set {
		if policy.Below(path, at) {
			all |= n.bits
		}
	}
	return all
}

// guarded says why base is taken although another draft opens less; "" if nothing does.
func (m *maker) guarded(set map[string]*need, mine, base *Base) string {
	for _, path := range sortedPaths(set) {
		n := set[path]
		if n.bits&canWrite != 0 {
			for _, guard := range base.Guards {
				if (policy.Below(guard, path) || policy.Below(path, guard)) && !slices.Contains(mine.Guards, guard) {
					return "it protects what a tool of the host would run from the checkout, and the program writes beside that"
				}
			}
		}
		for _, tool := range base.Tools {
			if policy.Below(path, tool) && !slices.Contains(mine.Tools, tool) {
				return "it sets the variables that a toolchain in the home folder needs"
			}
		}
	}
	return ""
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}
