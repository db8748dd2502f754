package learn

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"brainbox/internal/visible"
	"brainbox/policy"
)

// heading stands over what was refused.
const heading = "# refused while learning; take the # away to allow:"

// TOML returns the draft as a policy file.
func (d *Draft) TOML() []byte {
	w := &writer{d: d}
	w.head()
	w.filesystem()
	w.network()
	w.rest()
	return []byte(w.b.String())
}

type writer struct {
	d *Draft
	b strings.Builder
}

func (w *writer) line(parts ...string) {
	for _, p := range parts {
		w.b.WriteString(p)
	}
	w.b.WriteByte('\n')
}

// comment writes text that may hold names as comments of one line each.
func (w *writer) comment(text string) { w.line("# ", visible.Line(text)) }

func (w *writer) head() {
	in := &w.d.in
	if in.Status != 0 {
		w.comment("WARNING: learned from a run that ended with status " + strconv.Itoa(in.Status) + ": it may lack what the rest would need")
	}
	if in.Dropped > 0 {
		w.comment("WARNING: " + plural(in.Dropped, "operation was", "operations were") + " too many to keep: lines may be missing")
	}
	w.comment("Drafted by brainbox learn from one run of " + strconv.Quote(in.Command) + " in isolation " + in.Isolation + ".")
	w.comment("Paths that begin with ./ are those of the folder in which the program is started.")
	w.line("version = 1")
	w.line("extends = [", quote(w.d.Base), "]  # ", visible.Line(w.d.Reason))
	if len(w.d.Notes) > 0 {
		w.line()
		w.line("# What no line of this file says:")
		for _, n := range w.d.Notes {
			w.comment("- " + n)
		}
	}
}

func (w *writer) filesystem() {
	d := w.d
	var marks []policy.Grant
	if d.in.Asked != nil {
		for _, g := range d.in.Asked.Grants {
			if !g.Right.Grants() {
				marks = append(marks, g)
			}
		}
	}
	if len(d.Lines)+len(d.Refused)+len(marks) == 0 {
		return
	}
	w.line()
	w.line("[filesystem]")
	for r := policy.RightRead; r <= policy.RightWriteExec; r++ {
		of := func(l Line) bool { return l.Right != r }
		w.paths(r.String(), slices.DeleteFunc(slices.Clone(d.Lines), of), slices.DeleteFunc(slices.Clone(d.Refused), of))
	}
	for _, r := range [...]policy.Right{policy.RightProtect, policy.RightDeny} {
		var lines []Line
		for _, g := range marks {
			if g.Right == r {
				lines = append(lines, Line{Path: g.Abs, Why: "asked by a flag"})
			}
		}
		w.paths(r.String(), lines, nil)
	}
}

// paths writes one list.
func (w *writer) paths(key string, lines, refused []Line) {
	if len(lines)+len(refused) == 0 {
		return
	}
	w.line(key, " = [")
	for i := range lines {
		w.line("  ", w.path(&lines[i]), remark(lines[i].Why))
	}
	if len(refused) > 0 {
		w.line("  ", heading)
	}
	for i := range refused {
		l, why := &refused[i], refused[i].Why
		if l.Secret != "" {
			why = strings.TrimSuffix("WARNING: "+l.Secret+"; "+why, "; ")
		}
		w.line("  # ", w.path(l), remark(why))
	}
	w.line("]")
}

func remark(text string) string {
	if text == "" {
		return ""
	}
	return "  # " + visible.Line(text)
}

// path is an element of a list, with its comma.
func (w *writer) path(l *Line) string {
	text, literal := spell(&w.d.in.Place, l.Path)
	if !literal && !l.Skip {
		return quote(text) + ","
	}
	s := "{ path = " + quote(text)
	if l.Skip {
		s += `, missing = "skip"`
	}
	if literal {
		s += ", literal = true"
	}
	return s + " },"
}

// canSpell reports whether a policy can name a path.
func canSpell(path string) bool {
	return utf8.ValidString(path) && !strings.ContainsFunc(path, unicode.IsControl) && len(path) <= 4000
}

// spell writes a path as the policy language has it, as short as may be.
func spell(place *policy.Vars, path string) (text string, literal bool) {
	below := func(dir string) (rest string, ok bool) {
		if dir == "" || dir == "/" || !policy.Below(path, dir) {
			return "", false
		}
		return path[len(dir):], true
	}
	literal = strings.ContainsAny(path, "*?[$")
	if rest, ok := below(place.Cwd); ok {
		return "." + rest, literal
	}
	if literal {
		return path, true // nothing in it expands, "~" included
	}
	if rest, ok := below(place.Git); ok {
		return "@git" + rest, false
	}
	if rest, ok := below(place.Home); ok {
		return "~" + rest, false
	}
	return path, false
}

// quote writes a TOML basic string. What shows nothing of itself, or changes how the rest is
// shown, is escaped.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case !visible.Hidden(r):
			b.WriteRune(r)
		case r <= 0xffff:
			b.WriteString(`\u` + hex(r, 4))
		default:
			b.WriteString(`\U` + hex(r, 8))
		}
	}
	b.WriteByte('"')
	return b.String()
}

func hex(r rune, width int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", width-len(s)) + s
}
