package learn

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"brainbox/launcher"
	"brainbox/policy"
)

// The words for why a line is not the very place that was asked for.
const (
	starts   = "the program starts here"
	grouped  = "many"
	byPath   = "PATH finds programs here"
	replaces = "in place of the lines of the same folder"
)

// lines orders a set by right, then as it is spelled.
func (m *maker) lines(set map[string]*need) []Line {
	var list []Line
	for _, path := range sortedPaths(set) {
		n := set[path]
		l := Line{Right: n.bits.right(), Path: path, Why: n.why.String(), need: *n}
		l.Skip = m.in.Exists != nil && m.in.Exists(path) == launcher.KindAbsent
		list = append(list, l)
	}
	spelled := func(l Line) string {
		text, _ := spell(&m.in.Place, l.Path)
		return text
	}
	slices.SortStableFunc(list, func(a, b Line) int {
		return cmp.Or(int(a.Right)-int(b.Right), strings.Compare(spelled(a), spelled(b)))
	})
	return list
}

func sortedPaths(set map[string]*need) []string { return slices.Sorted(maps.Keys(set)) }

// refused makes lines of what was refused, and notes of what no line would allow.
func (d *Draft) refused(m *maker, uses []*Use, best *candidate) {
	set, sockets := map[string]*need{}, map[string]*need{}
	d.notes = map[string]int{}
	for _, u := range uses {
		switch {
		case u.Op == launcher.OpConnect || u.Op == launcher.OpBind:
		case u.Op == launcher.OpUnix && canSpell(u.Path):
			join(sockets, &need{path: u.Path, bits: canRead, why: reason{by: u.By, first: u.First}})
		case u.Op == launcher.OpSyscall:
			d.notes["refused: the system call "+u.Call+said(u)] += u.Count
		case u.Judgement.Clause == "protect" || u.Judgement.Clause == "deny":
			d.notes["refused: "+u.Judgement.Clause+" holds "+u.Path+said(u)] += u.Count
		default:
			d.refusedFile(m, set, u, best)
		}
	}
	d.Refused, d.Sockets = m.lines(set), m.lines(sockets)
	for _, list := range [][]Line{d.Refused, d.Sockets} {
		for i := range list {
			list[i].Secret, _ = m.bounds.secrets.holds(list[i].Path)
			list[i].Skip = false
		}
	}
}

func (d *Draft) refusedFile(m *maker, set map[string]*need, u *Use, best *candidate) {
	for _, n := range needsOf(u) {
		_, secret := m.bounds.secrets.holds(n.path)
		switch {
		case n.bits&^m.grants(best, n.path) == 0 && !secret:
			continue // a line of the draft is wide enough
		case m.always(n.path) || !canSpell(n.path) || !secret && m.bounds.never(n.path):
			d.notes["refused, and no line would allow it alone: "+n.bits.right().String()+" "+n.path+said(u)] += u.Count
			continue
		}
		for path, active := range best.set {
			if path == n.path || n.bits&canWrite != 0 && active.bits&canWrite == 0 && policy.Below(path, n.path) {
				n.why.widened = replaces
				n.bits |= active.bits
			}
		}
		join(set, &n)
	}
}

// said is what the plan says of a refusal, and the flag that would allow it.
func said(u *Use) string {
	var b strings.Builder
	if u.Judgement.Reason != "" {
		b.WriteString(": " + u.Judgement.Reason)
	}
	if u.Judgement.Remedy.Flag != "" {
		b.WriteString("; " + u.Judgement.Remedy.Flag + " allows it")
	}
	if u.By != "" {
		b.WriteString(" (first by " + u.By + ")")
	}
	return b.String()
}

// ports sorts what was connected to and bound.
func (d *Draft) ports(allowed, refused []*Use) {
	take := func(to *[2][]uint16, uses []*Use) {
		for _, u := range uses {
			switch u.Op {
			case launcher.OpConnect:
				to[0] = append(to[0], u.Port)
			case launcher.OpBind:
				to[1] = append(to[1], u.Port)
			default:
			}
		}
		for i := range to {
			slices.Sort(to[i])
			to[i] = slices.Compact(to[i])
		}
	}
	take(&d.Ports, allowed)
	take(&d.Closed, refused)
}

// maxNotes bounds how much is told of what no line can say.
const maxNotes = 100

// tell orders notes.
func tell(sets ...map[string]int) []string {
	var list []string
	for _, set := range sets {
		for text, n := range set {
			if n > 1 {
				text += ", " + strconv.Itoa(n) + " times"
			}
			list = append(list, text)
		}
	}
	slices.Sort(list)
	if more := len(list) - maxNotes; more > 0 {
		list = append(list[:maxNotes], "and "+strconv.Itoa(more)+" more")
	}
	return list
}

// String says what needed a line.
func (r reason) String() string {
	var parts []string
	count := func(n int, verb, one, more string) {
		if n > 0 {
			parts = append(parts, verb+" "+plural(n, one, more))
		}
	}
	count(r.read, "read", "file", "files")
	count(r.list, "listed", "folder", "folders")
	count(r.exec, "executed", "program", "programs")
	count(r.write, "wrote", "file", "files")
	count(r.change, "changed", "name", "names")
	text := strings.Join(parts, ", ")
	if r.by != "" {
		text = strings.TrimPrefix(text+", first by "+r.by, ", ")
	}
	switch {
	case r.widened == "" || r.widened == grouped:
	case text == "":
		text = r.widened
	default:
		text = r.widened + "; " + text
	}
	return text
}
