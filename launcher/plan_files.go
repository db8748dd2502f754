package launcher

import (
	"errors"
	"io/fs"
	"strconv"

	"brainbox/landlock"
	"brainbox/policy"
)

// quotePath shows a path so that no byte of it reaches a terminal raw.
func quotePath(p string) string { return strconv.Quote(p) }

// files decides the clauses files, protect and deny.
func (d *planner) files() {
	files := Clause{Name: "files", State: StateEnforced}
	protect := Clause{
		Name: "protect", Route: "--isolation namespaces, or --allow-degraded protect to leave it open",
		Requirement: "isolation namespaces: Landlock cannot take back a part of a grant",
	}
	deny := Clause{
		Name: "deny", Route: "--isolation namespaces, or grant only the folders beside it",
		Requirement: "isolation namespaces: Landlock cannot take back a part of a grant",
	}
	d.nest()
	for i := range d.facts.Wants {
		w := &d.facts.Wants[i]
		switch {
		case w.Clause != "" && w.Clause != "files": // sharing() reports it
			d.rule(i)
		case w.Right == policy.RightProtect:
			d.carve(&protect, i, true)
		case w.Right == policy.RightDeny:
			d.carve(&deny, i, false)
		default:
			d.grant(&files, i)
		}
	}
	for _, own := range [...][2]string{{"HOME", d.facts.homeDir()}, {"TMPDIR", d.facts.tmpDir()}} {
		files.Entries = append(files.Entries, Entry{
			Value: own[0], Path: own[1], Target: own[1], Right: policy.RightWriteExec.String(), State: StateEnforced, Source: -1,
			Note: "private",
		})
	}
	d.nested(&files, &protect)
	d.landlockFiles(&files)
	d.add(files)
	d.byAnotherMount(&protect, policy.RightProtect)
	d.add(protect)
	d.byAnotherMount(&deny, policy.RightDeny)
	d.add(deny)
	d.metadata()
}

// entry starts the report of one wanted path.
func (d *planner) entry(i int) Entry {
	w, p := &d.facts.Wants[i], &d.facts.Paths[i]
	return Entry{
		Value: w.Text, Path: w.Abs, Target: p.Target, Right: w.Right.String(),
		Optional: w.Optional, Source: w.Source, State: StateEnforced,
	}
}

// grant decides one read, exec, write or write_exec entry and adds its rule.
func (d *planner) grant(c *Clause, i int) {
	w, p := &d.facts.Wants[i], &d.facts.Paths[i]
	e := d.entry(i)
	switch {
	case p.Err != nil && w.Skip:
		if w.Always || d.fromProfile(w) {
			return // absent here, and nothing that the operator wrote
		}
		e.State, e.Note = StateUnused, "absent: "+errText(p.Err)
	case p.Err != nil:
		e.State, e.Note, c.mistaken = StateRefused, errText(p.Err), true
		c.Route = `create it first, or write { path = "…", missing = "skip" } in a policy file`
	case d.dropped[i] != "":
		e.State, e.Note = StateUnused, d.dropped[i]
	default:
		if w.Right.Writes() && !w.Always {
			d.critical(c, &e, w, p)
		} else if d.fromProfile(w) {
			d.wholeHome(c, &e, p)
		}
		d.secretive(c, &e, w, p)
		d.mounts(&e, w, p)
		if p.Target != w.Abs {
			e.Note = firstOf(e.Note, "leads to "+quotePath(p.Target))
			d.leadsOut(w, p)
		}
	}
	c.Entries = append(c.Entries, e)
	c.State = worst(c.State, e.State)
	if e.State == StateEnforced {
		d.rule(i)
	}
}

// leadsOut tells, at the start and not only in check, that a name inside the checkout gave
// the right to write somewhere else: whoever wrote the checkout chose where.
func (d *planner) leadsOut(w *Want, p *PathFact) {
	for _, top := range [...]string{d.facts.Place.Git, d.facts.Place.Cwd} {
		if top != "" && w.Right.Writes() && !w.Always && policy.Below(w.Abs, top) && !policy.Below(p.Target, top) {
			d.plan.Notes = append(d.plan.Notes, "the write grant "+quotePath(w.Text)+" is a link out of "+quotePath(top)+": it opens "+quotePath(p.Target))
			return
		}
	}
}

func (d *planner) fromProfile(w *Want) bool {
	return w.Source >= 0 && w.Source < len(d.pol.Sources) && d.pol.Sources[w.Source].Kind == policy.KindProfile
}

// critical refuses a write grant that holds a place of brainbox itself, unless the
// operator names that grant with --no-protect.
func (d *planner) critical(c *Clause, e *Entry, w *Want, p *PathFact) {
	for _, allowed := range d.pol.Sandbox.AllowProtected {
		if allowed.Abs == w.Abs || allowed.Abs == p.Target {
			e.Note = "held open by --no-protect"
			return
		}
	}
	for _, k := range d.facts.Critical {
		if policy.Below(k.Path, p.Target) || k.Whole && policy.Below(p.Target, k.Path) {
			e.State, e.Note = StateRefused, "a write grant that holds "+k.What+" ("+quotePath(k.Path)+")"
			if !policy.Below(k.Path, p.Target) {
				e.Note = "a write grant inside " + k.What + " (" + quotePath(k.Path) + ")"
			}
			c.mistaken = true
			c.Route = "grant a folder that does not hold it; --no-protect " + quotePath(w.Text) + " insists"
			return
		}
	}
}

// wholeHome refuses a read grant of a profile that is, or holds, the home folder: that is
// the working directory of whoever starts there, and nobody wrote that all of it may be
// read.
func (d *planner) wholeHome(c *Clause, e *Entry, p *PathFact) {
	for _, k := range d.facts.Critical {
		if k.What == homeFolder && policy.Below(k.Path, p.Target) {
			e.State, e.Note = StateRefused, "a grant of a profile that holds the home folder ("+quotePath(k.Path)+")"
			c.mistaken = true
			c.Route = "start in a folder below it; --ro . insists"
			return
		}
	}
}

// rule turns a looked-at grant into a Landlock rule.
func (d *planner) rule(i int) {
	w, p := &d.facts.Wants[i], &d.facts.Paths[i]
	if p.Err != nil || !w.Right.Grants() || d.inside && d.ruledInside(i) {
		return
	}
	d.plan.Rules = append(d.plan.Rules, Rule{Path: i, Right: rightOf(w.Right), Device: w.Device})
}

// rightOf is a right of the policy in Landlock's words.
func rightOf(r policy.Right) landlock.Right {
	switch r {
	case policy.RightExec:
		return landlock.Exec
	case policy.RightWrite:
		return landlock.Write
	case policy.RightWriteExec:
		return landlock.WriteExec
	case policy.RightRead, policy.RightNone, policy.RightProtect, policy.RightDeny:
	}
	return landlock.Read
}

// carve decides a protect or deny entry. Landlock only adds rights: outside of every
// grant that would give them the entry holds by itself, inside it cannot be held here.
func (d *planner) carve(c *Clause, i int, writesOnly bool) {
	w, p := &d.facts.Wants[i], &d.facts.Paths[i]
	e := d.entry(i)
	place := firstOf(p.Target, w.Abs)
	over := d.grantOver(place, writesOnly)
	switch {
	case over == "":
		e.Note = "outside every grant"
	case w.Optional:
		e.State = StateOpen
	default:
		e.State, e.Note = StateRefused, "it lies inside the grant "+quotePath(over)+", and Landlock cannot take back a part of a grant"
	}
	if errors.Is(p.Err, fs.ErrNotExist) {
		e.Right = "watch"
	}
	c.Entries = append(c.Entries, e)
	c.State = worst(c.State, e.State)
	if c.State == StateEnforced {
		c.Mechanism = d.facts.Landlock.Mechanism()
	}
}

// grantOver returns the first grant that holds a place, "" if none does.
func (d *planner) grantOver(place string, writesOnly bool) string {
	for i, w := range d.facts.Wants {
		p := d.facts.Paths[i]
		if p.Err != nil || d.dropped[i] != "" || !w.Right.Grants() || writesOnly && !w.Right.Writes() {
			continue
		}
		if policy.Below(place, p.Target) {
			return w.Text
		}
	}
	return ""
}

// landlockFiles asks package landlock what the kernel holds of the file rights.
func (d *planner) landlockFiles(c *Clause) {
	d.plan.Landlock.ResolveUnixElsewhere = true // socket(AF_UNIX) is refused below ABI 9
	if d.inside {
		d.plan.Landlock.Degraded |= landlock.Set(landlock.Truncate)
	}
	if d.facts.LandlockErr != nil {
		c.State, c.Requirement, c.mistaken = StateRefused, d.facts.LandlockErr.Error(), true // nothing would be held
		c.Route = "boot a kernel with Landlock (Linux 5.13, lsm=landlock,…); brainbox probe says what is there"
		return
	}
	c.Mechanism = d.facts.Landlock.Mechanism()
	if d.degraded("files") {
		d.plan.Landlock.Degraded |= landlock.Set(landlock.Truncate, landlock.IoctlDev)
	}
	devices := d.devicesGranted()
	if !devices {
		d.plan.Landlock.Degraded |= landlock.Set(landlock.IoctlDev)
	}
	for _, l := range landlock.Decide(d.plan.Landlock, d.facts.Landlock) {
		switch l.Feature {
		case landlock.Files, landlock.Truncate, landlock.IoctlDev:
		default:
			continue
		}
		e := Entry{Value: l.Feature.String(), Source: -1, State: fromLandlock(l.State), Note: l.Note}
		switch {
		case e.State == StateEnforced:
		case l.Feature == landlock.Truncate && d.inside:
			e.State, e.Note = StateEnforced, "held by read-only mounts"
		case l.Feature == landlock.IoctlDev && !devices:
			e.State, e.Note = StateEnforced, "no device is granted but those that are always there"
		default:
			e.Note, c.Requirement = "needs "+l.Requirement, l.Requirement
			c.Route = "a newer kernel, or --allow-degraded files to leave it open"
			c.Degraded = c.Degraded || e.State == StateOpen // only the operator can have said so
		}
		c.Entries = append(c.Entries, e)
		c.State = worst(c.State, e.State)
	}
}

// devicesGranted reports whether the policy grants a device, or a folder of devices: below
// ABI 5 Landlock lets a program do any ioctl(2) on what it may open.
func (d *planner) devicesGranted() bool {
	for i := range d.facts.Wants {
		p := &d.facts.Paths[i]
		if w := &d.facts.Wants[i]; w.Always || p.Err != nil || !w.Right.Grants() {
			continue
		}
		if p.Device || policy.Below(p.Target, "/dev") && p.Target != sharedMemory || p.Target == "/" {
			return true
		}
	}
	return false
}

func fromLandlock(s landlock.State) State {
	switch s {
	case landlock.Enforced:
		return StateEnforced
	case landlock.Open:
		return StateOpen
	case landlock.Refused:
	}
	return StateRefused
}

// metadata declares what Landlock does not cover outside of the grants.
func (d *planner) metadata() {
	d.add(Clause{
		Name: "metadata", State: StateOpen, Mechanism: "",
		Requirement: "isolation namespaces: Landlock does not cover chmod, chown, utime, stat and inotify",
		Route:       "--isolation namespaces",
	})
}

// errText is the cause of a path error, without the path that stands beside it.
func errText(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
