package policy

import "strconv"

// grants replaces the operator's grants by the project's inside them.
func (n *narrower) grants() error {
	var grants, marks []Grant
	for _, g := range n.own.Grants {
		if !g.Right.Grants() {
			marks = append(marks, g)
			continue
		}
		if err := n.coveredGrant(g); err != nil {
			return err
		}
		grants = append(grants, g)
	}
	var kept []Grant
	for i, o := range n.out.Grants {
		if o, keep := n.narrowGrant(i, o, grants, marks); keep {
			kept = append(kept, o)
		}
	}
	n.out.Grants = append(append(kept, grants...), marks...)
	m := &merger{out: n.out}
	m.collapse()
	n.keepProtected(marks)
	return nil
}

// coveredGrant refuses a grant of the project that the operator does not give at
// that place. What counts there is his innermost entry.
func (n *narrower) coveredGrant(g Grant) error {
	key := "filesystem." + g.Right.String()
	best := -1
	for i, o := range n.out.Grants {
		if !o.Right.Grants() || !n.in.inside(g.Abs, o.Abs) {
			continue
		}
		if best < 0 || n.stronger(o, n.out.Grants[best]) {
			best = i
		}
	}
	if best < 0 {
		return n.fail(g.Source, key, "the operator grants nothing at "+strconv.Quote(g.Abs),
			"a project file can only narrow; put the grant into the policy file of the operator")
	}
	o := n.out.Grants[best]
	if !covers(o.Right, g.Right) {
		return n.fail(g.Source, key, "the operator grants "+o.Right.String()+" and not "+g.Right.String()+
			" at "+strconv.Quote(g.Abs), "the entry that counts there is "+n.out.Sources[o.Source].at())
	}
	return nil
}

// stronger reports whether a counts rather than b where both hold: the inner one,
// and on the same path as Nest settles it.
func (n *narrower) stronger(a, b Grant) bool {
	if !n.in.inside(b.Abs, a.Abs) {
		return true
	}
	if !n.in.inside(a.Abs, b.Abs) {
		return false
	}
	ka, kb := n.out.Sources[a.Source].Kind, n.out.Sources[b.Source].Kind
	return ka > kb || ka == kb && covers(b.Right, a.Right)
}

// narrowGrant returns what is left of the operator's entry i.
func (n *narrower) narrowGrant(i int, o Grant, grants, marks []Grant) (Grant, bool) {
	if !o.Right.Grants() {
		return o, true
	}
	for _, k := range marks {
		if !n.in.inside(o.Abs, k.Abs) {
			continue
		}
		if k.Right == RightDeny {
			n.noteNarrowed(o, "denied", k)
			return o, false
		}
		if o.Right.Writes() {
			n.noteNarrowed(o, "protected", k)
			o.Right = unwritable(o.Right)
		}
	}
	writing, reading := false, false
	for _, g := range grants {
		if !n.in.inside(g.Abs, o.Abs) {
			continue
		}
		if n.in.inside(o.Abs, g.Abs) { // the same place: the project's word counts
			return o, false
		}
		writing = writing || g.Right.Writes()
		reading = reading || !g.Right.Writes()
	}
	switch {
	case o.Right.Writes() && writing:
		o.Right = unwritable(o.Right)
	case !o.Right.Writes() && reading:
		return o, n.restricts(i, o)
	}
	return o, true
}

// restricts reports whether the operator's entry i takes something out of another
// one around it: without it that one would reach further.
func (n *narrower) restricts(i int, o Grant) bool {
	for j, around := range n.out.Grants {
		if j != i && around.Right.Grants() && n.in.inside(o.Abs, around.Abs) && !covers(o.Right, around.Right) {
			return true
		}
	}
	return false
}

func (n *narrower) noteNarrowed(o Grant, how string, by Grant) {
	n.note(n.out.Sources[o.Source].at() + ": " + o.Right.String() + " " + strconv.Quote(o.Abs) + " is " + how +
		" by " + n.out.Sources[by.Source].at())
}

func unwritable(r Right) Right {
	switch r {
	case RightWrite:
		return RightRead
	case RightWriteExec:
		return RightExec
	case RightNone, RightRead, RightExec, RightProtect, RightDeny:
	}
	return r
}

// keepProtected takes back the operator's exceptions for what the project
// protects.
func (n *narrower) keepProtected(marks []Grant) {
	var kept []Path
next:
	for _, a := range n.out.Sandbox.AllowProtected {
		for _, k := range marks {
			if n.in.inside(a.Abs, k.Abs) || n.in.inside(k.Abs, a.Abs) {
				n.note(n.out.Sources[a.Source].at() + ": allow_protected " + strconv.Quote(a.Abs) +
					" is set aside by " + n.out.Sources[k.Source].at())
				continue next
			}
		}
		kept = append(kept, a)
	}
	n.out.Sandbox.AllowProtected = kept
}
