package launcher

import (
	"brainbox/policy"
)

// nest asks the table of entries inside each other (design §7) about the resolved paths.
// A grant that another one on the same place replaces, or that lies inside a denied
// tree, is dropped: Landlock would add it up.
func (d *planner) nest() {
	var entries []policy.Entry
	d.dropped = make([]string, len(d.facts.Wants))
	for i, w := range d.facts.Wants {
		p := d.facts.Paths[i]
		if w.Always || p.Err != nil || w.Right == policy.RightNone {
			continue
		}
		entries = append(entries, policy.Entry{Path: p.Target, Right: w.Right, Kind: d.kindOf(w.Source)})
		d.nestedAt = append(d.nestedAt, i)
	}
	d.nestedAs = policy.Nest(entries)
	for n, eff := range d.nestedAs {
		if i := d.nestedAt[n]; eff.Drop && d.facts.Wants[i].Right.Grants() {
			d.dropped[i] = eff.Note
		}
	}
}

// nested reports what nest found: a narrower grant inside a wider one is never silent.
func (d *planner) nested(files, protect *Clause) {
	for n, eff := range d.nestedAs {
		w := &d.facts.Wants[d.nestedAt[n]]
		switch {
		case eff.Drop:
		case eff.Err != nil:
			d.mark(files, w, StateRefused, eff.Err.Error())
			files.mistaken = true
			files.Route = firstOf(files.Route, policy.Hint(eff.Err), "take one of the two entries out")
		case eff.Implied == policy.RightProtect:
			d.implied(protect, d.nestedAt[n], eff)
		case eff.Note != "" || eff.NoExec:
			d.mark(files, w, StateEnforced, firstOf(eff.Note, "the rights of the entry around it add up: no-exec is no boundary here"))
		}
	}
}

func (d *planner) kindOf(source int) policy.SourceKind {
	if source >= 0 && source < len(d.pol.Sources) {
		return d.pol.Sources[source].Kind
	}
	return policy.KindProfile
}

// mark puts a note on the entry of w in c.
func (d *planner) mark(c *Clause, w *Want, s State, note string) {
	for i := range c.Entries {
		e := &c.Entries[i]
		if e.Path == w.Abs && e.Right == w.Right.String() && e.Source == w.Source {
			e.State, e.Note = worst(e.State, s), joinNotes(e.Note, note)
		}
	}
	c.State = worst(c.State, s)
}

func joinNotes(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	}
	return a + "; " + b
}

// implied adds the protect entry that a read-only grant inside a write grant means.
func (d *planner) implied(c *Clause, i int, eff policy.Nested) {
	e := d.entry(i)
	e.Right, e.Note, e.Optional = "protect", joinNotes("implied by the narrower grant", eff.Note), eff.Optional
	e.State = StateRefused
	if eff.Optional {
		e.State = StateOpen
	}
	c.Entries = append(c.Entries, e)
	c.State = worst(c.State, e.State)
}
