package rule

import (
	"brainbox/gate/action"
	"brainbox/gate/wild"
)

// views are the sets of scopes under which a call is judged: the trusted ones;
// those and one that can only tighten, for each of these; those and the session's.
type views struct {
	member  [maxScopes]uint16 // of each scope: bits of the views it is in; 0: not for this agent
	n       int
	session int // number of the session's view; 0: none
	budget  int // steps left for texts with holes
}

const maxViews = maxScopes + 1

// budget is how many steps one call may take to compare holes; then what may
// match counts as matching.
const budget = 4 << 20

// views of a call by an agent. The claimed name is what a request says of itself:
// the rules for it count if it can only tighten.
func (s *Set) views(agent, claimed string) views {
	v := views{n: 1, budget: budget}
	const all = 1<<maxViews - 1
	for i := range s.scopes {
		sc := &s.scopes[i]
		trusted := sc.Trusted || sc.Kind <= Global
		switch {
		case sc.Kind == Agent && sc.Agent != "" && sc.Agent != agent:
			if claimed == "" || sc.Agent != claimed {
				continue
			}
			trusted = false
		case sc.Kind == Session:
			if v.session == 0 {
				v.session = v.n
				v.n++
			}
			v.member[i] = 1 << v.session
			continue
		}
		if trusted {
			v.member[i] = all
			continue
		}
		v.member[i] = 1 << v.n
		v.n++
	}
	return v
}

// matches are the last entries that match, by view.
type matches struct {
	entry [maxViews]*entry
	at    [maxViews]int // their place in the list; -1 before any
}

func (m *matches) all(v *views) bool {
	for i := range v.n {
		if m.entry[i] == nil {
			return false
		}
	}
	return true
}

// find goes from the last rule to the first until every view has its match.
func (l *list) find(g *group, v *views, m *matches) {
	for i := range v.n {
		m.at[i] = -1
	}
	for j := range g.n {
		name := g.alias[j]
		near, have := l.candidates(name), wild.Have(name)
		open := uint16(1)<<v.n - 1
		for k := len(near) - 1; k >= 0 && open != 0; k-- {
			c := &near[k]
			in := v.member[c.scope] & open
			if in == 0 || c.need&^have != 0 {
				continue
			}
			e := &l.entries[c.at]
			if !g.matched(j, e.p) {
				continue
			}
			open &^= in
			for i := range v.n {
				if in&(1<<i) != 0 && int(c.at) > m.at[i] {
					m.at[i], m.entry[i] = int(c.at), e
				}
			}
		}
	}
}

// combine makes one answer of what the views say: the trusted scopes', made worse
// by any that tightens; the session's may then allow what is asked.
func (v *views) combine(found, more *matches, fallback bool) hit {
	pick := func(i int) hit {
		e := found.entry[i]
		if e == nil {
			e = more.entry[i]
		}
		switch {
		case e != nil:
			return hit{act: e.rule.Action, entry: e}
		case fallback:
			return hit{act: action.Ask}
		}
		return hit{none: true}
	}
	out := pick(0)
	for i := 1; i < v.n; i++ {
		if i != v.session {
			out = stricter(out, pick(i))
		}
	}
	if v.session == 0 || !out.none && out.act == action.Deny {
		return out
	}
	if own := pick(v.session); own.entry != nil && v.member[own.entry.scope] == 1<<v.session {
		return own
	}
	return out
}
