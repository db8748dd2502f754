package protect

import (
	"path"
	"strings"
)

// index is the table, ready to be compared with.
type index struct {
	rows   []Row
	names  map[string]meaning // by the folded name, or the first part of one
	begins [256]bool          // the first bytes of names: most segments begin with none
}

// meaning is what one folded name stands for. No row is len(rows).
type meaning struct {
	base, seg int
	runs      []run
}

// run is what must follow its first part.
type run struct {
	then []string
	row  int
}

func newIndex(rows []Row) *index {
	x := &index{rows: rows, names: map[string]meaning{}}
	for i, row := range rows {
		parts := strings.Split(row.Name, "/")
		for n := range parts {
			parts[n] = Fold(parts[n])
		}
		m, ok := x.names[parts[0]]
		if !ok {
			m.base, m.seg = len(rows), len(rows)
		}
		switch row.Kind { // the first in the table counts
		case Basename:
			m.base = min(m.base, i)
		case Segment:
			m.seg = min(m.seg, i)
		case SegmentRun:
			m.runs = append(m.runs, run{parts[1:], i})
		}
		x.names[parts[0]] = m
		x.begins[parts[0][0]] = true
	}
	return x
}

// match gives the first row that a cleaned path meets: basename rows, then segments, then
// runs, each in the order of the table. Empty segments are none.
func (x *index) match(cleaned string) (Row, bool) {
	none := len(x.rows)
	base, seg, runs := none, none, none
	for rest := cleaned; rest != ""; {
		part, after, _ := strings.Cut(rest, "/")
		if rest = after; part == "" {
			continue
		}
		base = none
		name := Fold(part)
		if !x.begins[name[0]] {
			continue
		}
		m, ok := x.names[name]
		if !ok {
			continue
		}
		base, seg = m.base, min(seg, m.seg)
		for _, r := range m.runs {
			if r.row < runs && follows(rest, r.then) {
				runs = r.row
			}
		}
	}
	for _, row := range []int{base, seg, runs} {
		if row != none {
			return x.rows[row], true
		}
	}
	return Row{}, false
}

// follows says whether a path begins with these folded parts.
func follows(rest string, parts []string) bool {
	for _, want := range parts {
		part := ""
		for part == "" && rest != "" {
			part, rest, _ = strings.Cut(rest, "/")
		}
		if part == "" || Fold(part) != want {
			return false
		}
	}
	return true
}

// anchored is the path as text, beneath the working directory unless it is absolute or
// there is none.
func anchored(unsafePath, cwd string) string {
	if cwd == "" || strings.HasPrefix(unsafePath, "/") {
		return path.Clean(unsafePath)
	}
	return path.Join(cwd, unsafePath)
}

// under gives what of a cleaned path lies beneath a root, compared byte by byte on whole
// segments.
func under(cleaned, root string) (string, bool) {
	switch {
	case root == "":
	case cleaned == root:
		return "", true
	case root == "/" && strings.HasPrefix(cleaned, "/"):
		return cleaned[1:], true
	case strings.HasPrefix(cleaned, root) && cleaned[len(root)] == '/':
		return cleaned[len(root)+1:], true
	}
	return "", false
}
