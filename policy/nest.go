package policy

import (
	"slices"
	"strings"
)

// Entry is one entry of [filesystem] as the kernel will see it: its path is
// absolute, clean and, if the caller can, resolved.
type Entry struct {
	Path  string
	Right Right
	Kind  SourceKind // a profile's entry gives way to an operator's
}

// Nested says what the entries around an entry make of it. The zero Nested means
// that the entry stands as written.
type Nested struct {
	// Implied is RightProtect for an entry that takes the writing out of the
	// entry around it, else RightNone.
	Implied Right

	// NoExec says that the entry takes execution out of the entry around it.
	// Isolation namespaces can do that; in isolation landlock the rights add
	// up.
	NoExec bool

	// Drop says that the entry has no effect and is not to be enforced.
	Drop bool

	// Optional says that the implied protect comes from a built-in profile.
	Optional bool

	Note string // what to show on the entry; may be empty
	Err  error  // *Error without a source: the entry cannot stand
}

// may is what is allowed at a place.
type may struct{ read, write, exec, denied, protected bool }

func (r Right) may() may {
	return may{read: r.Grants(), write: r.Writes(), exec: r.Execs()}
}

// Nest decides how entries inside each other act together, one result an entry,
// in the order of entries. The innermost entry counts, deny beats every grant,
// protect beats every writing grant; the order of the entries has no meaning.
func Nest(entries []Entry) []Nested {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return comparePaths(entries[a].Path, entries[b].Path) })
	out := make([]Nested, len(entries))
	var stack []place
	for len(order) > 0 {
		n := 1
		for n < len(order) && entries[order[n]].Path == entries[order[0]].Path {
			n++
		}
		here := entries[order[0]].Path
		for len(stack) > 0 && !Below(here, stack[len(stack)-1].path) {
			stack = stack[:len(stack)-1]
		}
		outer := may{}
		if len(stack) > 0 {
			outer = stack[len(stack)-1].may
		}
		stack = append(stack, place{here, nestGroup(entries, order[:n], outer, out)})
		order = order[n:]
	}
	return out
}

type place struct {
	path string
	may  may
}

// comparePaths sorts a folder directly before what is inside it.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		case a[i] < b[i]:
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}

// nestGroup decides the entries of one path and returns what holds there.
func nestGroup(entries []Entry, group []int, outer may, out []Nested) may {
	deny, protect := false, false
	for _, i := range group {
		deny = deny || entries[i].Right == RightDeny
		protect = protect || entries[i].Right == RightProtect
	}
	nestMarks(entries, group, outer, out)
	here := outer
	if inner := settle(entries, group, out); inner != RightNone {
		here = inner.may()
	}
	for _, i := range group {
		if entries[i].Right.Grants() && !out[i].Drop && out[i].Err == nil {
			out[i] = nestOne(entries[i], outer, deny, protect)
		}
	}
	here.denied = outer.denied || deny
	here.protected = outer.protected || protect
	here.write = here.write && !here.protected
	return here
}

// settle makes one grant of those at the same path: an operator's replaces a
// profile's, a flag's replaces a file's, and among equals the narrower one
// counts. It returns the right that stays.
func settle(entries []Entry, group []int, out []Nested) Right {
	best := -1
	for _, i := range group {
		e := entries[i]
		if !e.Right.Grants() {
			continue
		}
		if best < 0 {
			best = i
			continue
		}
		b := entries[best]
		switch {
		case e.Kind > b.Kind || e.Kind == b.Kind && covers(b.Right, e.Right):
			out[best] = replaced(b, e)
			best = i
		case e.Kind < b.Kind || covers(e.Right, b.Right):
			out[i] = replaced(e, b)
		default: // exec and write
			out[i] = Nested{Err: &Error{
				Msg:  "granted both " + b.Right.String() + " and " + e.Right.String(),
				Hint: "write write_exec if both are meant",
			}}
		}
	}
	if best < 0 {
		return RightNone
	}
	return entries[best].Right
}

func replaced(loser, winner Entry) Nested {
	n := Nested{Drop: true}
	if loser.Right != winner.Right {
		n.Note = "replaced by " + winner.Right.String() + " (" + winner.Kind.String() + ") on the same path"
	}
	return n
}

// covers reports whether a gives everything that b gives.
func covers(a, b Right) bool {
	return b == RightNone || a.Grants() && b.Grants() &&
		(a.Writes() || !b.Writes()) && (a.Execs() || !b.Execs())
}

// nestOne decides one grant inside what holds around it.
func nestOne(e Entry, outer may, deny, protect bool) Nested {
	profile := e.Kind == KindProfile
	n := Nested{}
	switch {
	case outer.denied && profile:
		return Nested{Drop: true, Note: "inside a denied tree"}
	case outer.denied:
		return Nested{Err: &Error{
			Msg:  "a grant inside a denied tree",
			Hint: "deny beats every grant; deny the parts that are meant, or remove the deny",
		}}
	case deny:
		return Nested{Drop: true, Note: "denied: deny beats every grant"}
	case outer.protected && e.Right.Writes() && !profile:
		return Nested{Err: &Error{
			Msg:  "a writing grant inside a protected tree",
			Hint: "--no-protect (sandbox.allow_protected) lifts the protection of a name",
		}}
	case (outer.protected || protect) && e.Right.Writes():
		return Nested{Implied: RightProtect, Note: "protected: read-only"}
	case outer.write && !e.Right.Writes():
		n.Implied, n.Optional = RightProtect, profile
		n.Note = "read-only inside a writable grant: protected"
	}
	if outer.exec && !e.Right.Execs() {
		n.NoExec = true
		const note = "no-exec inside an executable grant: in isolation landlock the rights add up"
		n.Note = strings.TrimPrefix(n.Note+"; "+note, "; ")
	}
	return n
}

// nestMarks decides protect and deny entries.
func nestMarks(entries []Entry, group []int, outer may, out []Nested) {
	for _, i := range group {
		switch entries[i].Right {
		case RightDeny:
			if outer.denied {
				out[i] = Nested{Drop: true, Note: "inside a denied tree already"}
			}
		case RightProtect:
			switch {
			case outer.denied:
				out[i] = Nested{Drop: true, Note: "inside a denied tree"}
			case outer.protected:
				out[i] = Nested{Note: "inside a protected tree already"}
			}
		case RightNone, RightRead, RightExec, RightWrite, RightWriteExec:
		}
	}
}
