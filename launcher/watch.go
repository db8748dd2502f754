package launcher

import (
	"brainbox/policy"
)

// Watch is a name that did not exist when the run started and that no program may leave
// behind: a host tool would run or trust it.
type Watch struct {
	Root  string // the write grant that holds it
	Want  int    // that grant, an index into Facts.Wants
	Path  string
	Entry policy.Grant
	Whole bool // a repository: reported, never taken apart
}

// watched makes an absent name one that is looked at after the run.
func (d *planner) watched(n *NameFact) Watch {
	w := Watch{Want: -1, Path: n.Path, Entry: n.Entry, Whole: n.Whole}
	for i := range d.facts.Wants {
		g, p := &d.facts.Wants[i], &d.facts.Paths[i]
		if p.Err == nil && g.Right.Writes() && !g.Always && d.dropped[i] == "" && policy.Below(n.Path, p.Target) &&
			(w.Want < 0 || len(p.Target) < len(w.Root)) {
			w.Want, w.Root = i, p.Target
		}
	}
	return w
}

// watchOutside has the absent names watched in isolation landlock, where the facts have
// them: nothing keeps the program from making them there, but it does not leave them behind.
func (d *planner) watchOutside() {
	if d.facts.Inside == nil {
		return
	}
	for i := range d.facts.Inside.Names {
		n := &d.facts.Inside.Names[i]
		if n.Kind == NameAbsent && n.Err == nil && d.grantOver(n.Path, true) != "" {
			d.plan.Watch = append(d.plan.Watch, d.watched(n))
		}
	}
}
