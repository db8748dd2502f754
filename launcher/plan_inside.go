package launcher

import (
	"path/filepath"

	"brainbox/policy"
)

// filesInside decides the clauses files, protect, deny and metadata for isolation
// namespaces: what is not granted is not mounted, and what is mounted there is held.
func (d *planner) filesInside() {
	files := Clause{Name: "files", State: StateEnforced}
	d.nestInside()
	for i := range d.facts.Wants {
		w := &d.facts.Wants[i]
		if w.Right.Grants() && w.Clause == "" {
			d.grantInside(&files, i)
		}
	}
	private := [][2]string{{"HOME", d.facts.homeDir()}, {"TMPDIR", d.facts.tmpDir()}, {"/tmp", "/tmp"}}
	if bare := d.pol.Bare; bare != nil {
		private = [][2]string{{"scratch", bare.Scratch}, {"/tmp", "/tmp"}}
	}
	for _, own := range private {
		note := "private"
		if own[0] == "/tmp" && d.grantsExactly("/tmp") {
			continue
		}
		if own[0] == "/tmp" || own[0] == "scratch" {
			note = "private, in memory"
		}
		files.Entries = append(files.Entries, Entry{
			Value: own[0], Path: own[1], Target: own[1], Right: policy.RightWriteExec.String(), State: StateEnforced,
			Source: -1, Note: note,
		})
	}
	d.nestedInside(&files)
	d.landlockFiles(&files)
	if files.Mechanism != "" {
		files.Mechanism = "mount namespace, " + files.Mechanism
	}
	d.add(files) // first: what a mistaken grant makes of the mounts is no reason of its own
	d.plan.Mounts = d.mountPlan()
	d.protectInside()
	d.denyInside()
	d.metadataInside()
}

// nestInside is nest with the names that protect and deny entries stand for in their place.
func (d *planner) nestInside() {
	var entries []policy.Entry
	d.dropped = make([]string, len(d.facts.Wants))
	for i := range d.facts.Wants {
		w, p := &d.facts.Wants[i], &d.facts.Paths[i]
		if w.Always || p.Err != nil || !w.Right.Grants() || w.Clause != "" {
			continue
		}
		entries = append(entries, policy.Entry{Path: p.Target, Right: w.Right, Kind: d.kindOf(w.Source)})
		d.nestedAt = append(d.nestedAt, i)
	}
	for i := range d.facts.Inside.Names {
		n := &d.facts.Inside.Names[i]
		if n.Kind == NameAbsent || n.Err != nil || n.Guard == GuardName {
			continue
		}
		right := policy.RightProtect
		if n.Guard == GuardDeny {
			right = policy.RightDeny
		}
		entries = append(entries, policy.Entry{Path: n.Path, Right: right, Kind: d.kindOf(n.Entry.Source)})
	}
	d.nestedAs = policy.Nest(entries)[:len(d.nestedAt)]
	for n, eff := range d.nestedAs {
		if eff.Drop {
			d.dropped[d.nestedAt[n]] = eff.Note
			if eff.Note == "" {
				d.dropped[d.nestedAt[n]] = "granted twice"
			}
		}
	}
}

// nestedInside reports what nesting made of the grants.
func (d *planner) nestedInside(files *Clause) {
	for n, eff := range d.nestedAs {
		w := &d.facts.Wants[d.nestedAt[n]]
		switch {
		case eff.Drop:
		case eff.Err != nil:
			d.mark(files, w, StateRefused, eff.Err.Error())
			files.mistaken = true
			files.Route = firstOf(files.Route, policy.Hint(eff.Err), "take one of the two entries out")
		case eff.Implied == policy.RightProtect:
			d.mark(files, w, StateEnforced, "read-only inside a writable grant")
		case eff.NoExec && !d.fromProfile(w):
			d.mark(files, w, StateEnforced, "no-exec inside an executable grant")
		}
	}
}

// grantInside decides one grant: below /proc and among the devices of every run nothing of
// the host's is mounted, and a socket is listed under unix or not to be seen.
func (d *planner) grantInside(c *Clause, i int) {
	w, p := &d.facts.Wants[i], &d.facts.Paths[i]
	before := len(c.Entries)
	d.grant(c, i)
	if len(c.Entries) == before || p.Err != nil || c.Entries[before].State != StateEnforced {
		return
	}
	e := &c.Entries[before]
	switch {
	case d.synthesised(i):
		e.Target, e.Note = w.Abs, "made for the run"
	case policy.Below(p.Target, "/proc"):
		e.Note = "the program's own /proc"
		if w.Right.Writes() && !w.Always {
			e.State, e.Note = StateRefused, "the program's own /proc is read-only"
			c.State, c.mistaken, c.Route = StateRefused, true, "take it out, or --isolation landlock"
		}
	case p.Socket:
		e.State, e.Note = StateUnused, "a socket: list it under unix"
	case policy.Below(p.Target, "/dev/pts") && w.Always:
		e.Target, e.Note = "/dev/console", "the run's terminal"
	case policy.Below(p.Target, "/dev/pts"):
		e.State, e.Note = StateUnused, "the program has terminals of its own"
	case p.Target == "/" || p.Target == "/dev":
		e.Note = joinNotes(e.Note, "without what the program has of its own")
	}
}

// ruledInside reports whether a rule on what the host has would say nothing inside, because
// something else is there.
func (d *planner) ruledInside(i int) bool {
	p := &d.facts.Paths[i]
	return d.synthesised(i) || isOwn(p.Target) || p.Socket || d.facts.Wants[i].Clause != ""
}

// counts reports whether an entry is a grant of the policy that has an effect.
func (d *planner) counts(i int) bool {
	w := &d.facts.Wants[i]
	return d.facts.Paths[i].Err == nil && d.dropped[i] == "" && w.Right.Grants() && !w.Always && w.Clause == ""
}

// grantsExactly reports whether a grant that counts is this very place.
func (d *planner) grantsExactly(path string) bool {
	for i := range d.facts.Wants {
		if d.counts(i) && d.facts.Paths[i].Target == path {
			return true
		}
	}
	return false
}

// region is the innermost one that holds a path.
func (p *Plan) region(path string) region {
	for ; path != "/"; path = filepath.Dir(path) {
		if r, ok := p.regions[path]; ok {
			return r
		}
	}
	return region{path: "/", own: true}
}
