package rule

import (
	"strings"

	"brainbox/gate/action"
	"brainbox/gate/wild"
)

const (
	maxAliases = 4
	maxGroups  = 4
)

// group is one thing under the names it has: the last rule that matches any of
// them wins.
type group struct {
	alias [maxAliases]string
	n     int
	form  bool // the names may have holes

	// only says that nothing but a stricter rule about less than everything
	// counts: the name is one that the call may mean besides the one it spells.
	only bool
}

func (g *group) add(name string) {
	for i := range g.n {
		if g.alias[i] == name {
			return
		}
	}
	if g.n < maxAliases && name != "" {
		g.alias[g.n] = name
		g.n++
	}
}

// subject is what a rule is asked about: groups, of which the strictest counts.
type subject struct {
	groups [maxGroups]group
	n      int
}

func (s *subject) add(g group) {
	if g.n > 0 && s.n < maxGroups {
		s.groups[s.n] = g
		s.n++
	}
}

// addName adds a group of one name unless it is there.
func (s *subject) addName(name string, form bool) {
	for i := range s.n {
		if s.groups[i].alias[0] == name && s.groups[i].form == form {
			return
		}
	}
	g := group{form: form}
	g.add(name)
	s.add(g)
}

func single(name string) subject {
	var g group
	g.add(name)
	if g.n == 0 {
		g.n = 1 // the empty name is a name
	}
	var s subject
	s.add(g)
	return s
}

// matches reports whether a pattern takes in the subject under all its readings.
func (s *subject) matches(p *wild.Pattern) bool {
	every := true // there are only readings of the kind that rules count by halves
	for i := range s.n {
		every = every && s.groups[i].only
	}
	for i := range s.n {
		g := &s.groups[i]
		if g.only && !every {
			continue
		}
		found := false
		for j := range g.n {
			found = found || g.matched(j, p)
		}
		if !found {
			return false
		}
	}
	return s.n > 0
}

// matched compares one name of a group.
func (g *group) matched(j int, p *wild.Pattern) bool {
	if g.form {
		return p.MatchForm(g.alias[j])
	}
	return p.Match(g.alias[j])
}

// hit is an answer on its way.
type hit struct {
	act    action.Action
	entry  *entry // nil: the default
	none   bool   // no rule matched, and nothing is said then
	denied *entry // a rule that denies for some content of the holes
}

// stricter returns the worse of two hits; the first if they are equal.
func stricter(a, b hit) hit {
	denied := a.denied
	if denied == nil {
		denied = b.denied
	}
	if a.none || !b.none && b.act < a.act {
		a = b
	}
	a.denied = denied
	return a
}

// judge answers for a subject on one surface. Without a rule that matches, the
// fallback answers if there is to be one.
func (s *Set) judge(surface string, sub *subject, v *views, fallback bool) hit {
	out := hit{none: true}
	for i := range sub.n {
		g := &sub.groups[i]
		h := s.judgeGroup(surface, g, v, fallback && !g.only)
		if g.only && (h.none || h.act == action.Allow || h.entry.p.Universal()) {
			h = hit{none: true, denied: h.denied}
		}
		out = stricter(out, h)
	}
	return out
}

func (s *Set) judgeGroup(surface string, g *group, v *views, fallback bool) hit {
	var found matches
	l := s.surfaces[surface]
	if l != nil {
		l.find(g, v, &found)
	}
	var more matches
	if fallback && surface != Fallback && !found.all(v) {
		if all := s.surfaces[Fallback]; all != nil {
			all.find(g, v, &more)
		}
	}
	h := v.combine(&found, &more, fallback)
	if !g.form || h.none || h.act == action.Deny || !strings.Contains(g.alias[0], hole) {
		return h
	}
	if l != nil {
		h = l.maybe(g, v, &found, h)
	}
	if all := s.surfaces[Fallback]; all != nil && fallback && surface != Fallback && found.entry[0] == nil && h.act > action.Deny {
		h = all.maybe(g, v, &more, h) // no rule of the surface answers for sure
	}
	return h
}

const hole = "\xff"

// maybe looks behind the rule that matches for sure for stricter ones that match
// for some content of the holes: one that asks is asked about, one that denies
// cannot be ruled out.
func (l *list) maybe(g *group, v *views, found *matches, h hit) hit {
	floor := found.at[0] // the last rule of the trusted scopes that matches for sure
	for i := len(l.entries) - 1; i > floor && h.denied == nil; i-- {
		e := &l.entries[i]
		if e.rule.Action >= h.act && e.rule.Action != action.Deny || v.member[e.scope] == 0 {
			continue
		}
		for j := range g.n {
			if !e.p.MayMatch(g.alias[j], &v.budget) {
				continue
			}
			if e.rule.Action == action.Deny {
				h.denied = e
			} else {
				h.act, h.entry = e.rule.Action, e
			}
			break
		}
	}
	return h
}
