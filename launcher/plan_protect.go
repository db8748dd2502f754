package launcher

import (
	"path/filepath"
	"strconv"

	"brainbox/policy"
)

// protectInside decides the clause protect.
func (d *planner) protectInside() {
	c := Clause{Name: "protect"}
	seen := map[string]bool{}
	for i := range d.facts.Inside.Names {
		n := &d.facts.Inside.Names[i]
		if n.Guard == GuardDeny {
			continue
		}
		seen[n.Entry.Abs] = true
		d.heldEntry(&c, n)
	}
	for i := range d.facts.Wants {
		if w := &d.facts.Wants[i]; w.Right == policy.RightProtect && !seen[w.Abs] {
			e := d.entry(i)
			e.Note = "outside every write grant"
			c.Entries = append(c.Entries, e)
			c.State = worst(c.State, e.State)
		}
	}
	for n, eff := range d.nestedAs {
		if eff.Implied == policy.RightProtect && !eff.Drop && eff.Err == nil {
			e := d.entry(d.nestedAt[n])
			e.Right, e.Note, e.Optional = "protect", "implied by the narrower grant", eff.Optional
			c.Entries = append(c.Entries, e)
			c.State = worst(c.State, e.State)
		}
	}
	d.byAnotherMount(&c, policy.RightProtect)
	d.scanEntries(&c)
	if c.State == StateEnforced {
		c.Mechanism = "read-only mounts"
	}
	d.add(c)
}

// heldEntry reports one name, and has it watched if nothing has it yet.
func (d *planner) heldEntry(c *Clause, n *NameFact) {
	e := Entry{
		Value: n.Entry.Text, Path: n.Path, Target: n.Path, Right: n.Entry.Right.String(), State: StateEnforced,
		Optional: n.Entry.Optional, Source: n.Entry.Source,
	}
	here := d.plan.region(n.Path)
	if n.Kind == NameAbsent {
		here = d.plan.region(filepath.Dir(n.Path))
	}
	switch {
	case n.Err != nil:
		e.Note = "it cannot be looked at: " + errText(n.Err)
		e.State = StateRefused
		if e.Optional {
			e.State = StateOpen
		}
		c.Requirement, c.Route = e.Note, "make it readable, or take the entry out"
	case here.own || here.hidden:
		e.Note = "outside every grant"
	case here.denied && n.Guard != GuardDeny:
		e.Note = "inside a denied tree"
	case n.Kind == NameAbsent && (!here.write || here.denied):
		e.Note = "absent, and nothing can make it"
	case n.Kind == NameAbsent:
		e.Right, e.Note = "watch", "absent: moved to quarantine if the run makes it"
		if n.Whole {
			e.Note = "absent: reported if the run makes it"
		} else if d.pol.Sandbox.KeepCreated.V {
			e.Note = "absent: reported if the run makes it, and kept"
		}
		d.plan.Watch = append(d.plan.Watch, d.watched(n))
	case n.Guard == GuardName && n.Kind == NameLink:
		e.Note = "the link stays"
	case n.Guard == GuardName:
		e.Note = "the name stays"
	}
	c.Entries = append(c.Entries, e)
	c.State = worst(c.State, e.State)
}

// scanEntries say where the look at the names ended: repositories beyond are not known.
func (d *planner) scanEntries(c *Clause) {
	for i := range d.facts.Inside.Scans {
		s := &d.facts.Inside.Scans[i]
		if note := s.partial(); note != "" && s.Writes && len(c.Entries) > 0 {
			c.Entries = append(c.Entries, Entry{
				Value: "scan", Path: s.Path, Target: s.Path, Right: "protect", State: StateOpen,
				Optional: true, Source: -1,
				Note: "partial: repositories that were not found are not protected: " + note,
			})
			c.State = worst(c.State, StateOpen)
			c.Requirement = firstOf(c.Requirement, "a tree of at most 100000 names that can be read")
			c.Route = firstOf(c.Route, "grant a smaller tree; --protect names what has to stay")
		}
	}
}

// partial says what was not read; "" if all was.
func (s *ScanFact) partial() string {
	note := ""
	if s.Err != nil {
		note = errText(s.Err)
	}
	if s.Stopped != "" {
		note = joinNotes(note, "it ended in "+quotePath(s.Stopped))
	}
	for _, list := range [...]struct {
		what  string
		paths []string
	}{{"unreadable", s.Unread}, {"another mount", s.Mounts}} {
		if len(list.paths) > 0 {
			text := list.what + " " + quotePath(list.paths[0])
			if more := len(list.paths) - 1; more > 0 {
				text += " and " + strconv.Itoa(more) + " more"
			}
			note = joinNotes(note, text)
		}
	}
	return note
}

// denyInside decides the clause deny.
func (d *planner) denyInside() {
	c := Clause{Name: "deny"}
	for i := range d.facts.Inside.Names {
		n := &d.facts.Inside.Names[i]
		if n.Guard != GuardDeny {
			continue
		}
		before := len(c.Entries)
		d.heldEntry(&c, n)
		if e := &c.Entries[before]; e.Note == "" {
			e.Note = "shows empty"
		}
	}
	d.byAnotherMount(&c, policy.RightDeny)
	if c.State == StateEnforced {
		c.Mechanism = "masks"
	}
	d.add(c)
}

// byAnotherMount refuses what a grant would show under another name: a folder that is mounted
// twice is denied, or protected, where the policy names it and nowhere else. Protect is about
// write grants alone.
func (d *planner) byAnotherMount(c *Clause, right policy.Right) {
	for i := range d.facts.Wants {
		if w := &d.facts.Wants[i]; w.Right != right || w.Optional {
			continue
		}
		for _, other := range d.facts.Paths[i].Others {
			grant := d.grantedAt(other, right == policy.RightProtect)
			if grant == "" || d.carved(other, right) || d.carved(other, policy.RightDeny) {
				continue
			}
			e := d.entry(i)
			e.State, e.Note = StateRefused, "by another mount it is "+quotePath(other)+", which "+quotePath(grant)+" grants"
			c.Entries = append(c.Entries, e)
			if c.State != StateRefused {
				c.Requirement, c.Route = e.Note, right.String()+" "+quotePath(other)+" too"
			}
			c.State, c.mistaken = StateRefused, true
			break
		}
	}
}

// grantedAt is a grant that holds a path, or lies below it; "" if none does.
func (d *planner) grantedAt(path string, writesOnly bool) string {
	for i := range d.facts.Wants {
		w, p := &d.facts.Wants[i], &d.facts.Paths[i]
		if p.Err != nil || d.dropped[i] != "" || !w.Right.Grants() || writesOnly && !w.Right.Writes() {
			continue
		}
		if policy.Below(path, p.Target) || policy.Below(p.Target, path) {
			return w.Text
		}
	}
	return ""
}

// carved reports whether an entry that takes something back holds a path.
func (d *planner) carved(path string, right policy.Right) bool {
	for i, w := range d.facts.Wants {
		if w.Right == right && policy.Below(path, firstOf(d.facts.Paths[i].Target, w.Abs)) {
			return true
		}
	}
	return false
}
