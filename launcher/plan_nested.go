package launcher

import (
	"brainbox/policy"
)

// nest applies the table of entries inside each other (design §7) to the resolved paths,
// one result for each entry of Wants.
func (d *planner) nest() []policy.Nested {
	var entries []policy.Entry
	var at []int
	for i := range d.facts.Wants {
		w, p := &d.facts.Wants[i], &d.facts.Paths[i]
		if w.Always || p.Err != nil || w.Right == policy.RightNone {
			continue
		}
		entries = append(entries, policy.Entry{Path: p.Target, Right: w.Right, Kind: d.kindOf(w.Source)})
		at = append(at, i)
	}
	out := make([]policy.Nested, len(d.facts.Wants))
	for n, eff := range policy.Nest(entries) {
		out[at[n]] = eff
	}
	return out
}

// nested puts what nest found into the clauses: Landlock only adds, so a narrower grant
// inside a wider one is never silent.
func (d *planner) nested(nest []policy.Nested, files, protect *Clause) {
	for i, eff := range nest {
		w := &d.facts.Wants[i]
		switch {
		case eff.Drop:
		case eff.Err != nil:
			d.mark(files, w, StateRefused, eff.Err.Error())
			files.Route = firstOf(files.Route, policy.Hint(eff.Err), "take one of the two entries out")
		case eff.Implied == policy.RightProtect:
			d.implied(protect, i, eff)
		case eff.Note != "" || eff.NoExec:
			d.mark(files, w, StateEnforced, firstOf(eff.Note, "the rights of the entry around it add up: no-exec is no boundary here"))
		}
	}
}

// dropped reports an entry that another one of the same place overrules: it makes no rule.
func (d *planner) dropped(c *Clause, i int, eff policy.Nested) {
	e := d.entry(i)
	e.State, e.Note = StateUnused, firstOf(eff.Note, "overruled by another entry for the same place")
	c.Entries = append(c.Entries, e)
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
	if a == "" || a == b {
		return b
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
