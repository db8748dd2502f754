package explain

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"brainbox/internal/visible"
	"brainbox/launcher"
)

// Screen is how many denials a report shows unless more are asked for.
const Screen = 20

// shownFlags is how many suggestions the last hint joins.
const shownFlags = 8

// Text writes the report for a person: at most so many denials, 0 for all.
// What a program chose, as a path, is quoted: nothing of it reaches a terminal raw.
func (r *Report) Text(w io.Writer, most int) error {
	out := bufio.NewWriter(w)
	line := func(parts ...string) { _, _ = out.WriteString("brainbox: " + strings.Join(parts, "") + "\n") }
	tally := r.Tally()
	list, suggestions := r.ranked()
	limits := r.Limits()
	if len(list) == 0 && len(limits) == 0 {
		line("nothing was denied")
	}
	if len(list) > 0 {
		line("denied ", plural(len(list), "operation"), " (", tally.String(), "):")
	}
	better := map[int]*Suggestion{}
	for k := range suggestions {
		for _, i := range suggestions[k].of {
			better[i] = &suggestions[k]
		}
	}
	shown := list
	if most > 0 && len(list) > most {
		shown = list[:most]
	}
	for i := range shown {
		line("  ", shown[i].text(better[i]))
	}
	if left := len(list) - len(shown); left > 0 {
		line("  and ", strconv.Itoa(left), " more; -v shows them, --status-fd has them")
	}
	if tally.Unkept > 0 {
		line("  and ", strconv.FormatInt(tally.Unkept, 10), " more that were not told apart: there were too many")
	}
	for i := range limits {
		line("  ", limits[i].text())
	}
	if tally.Undecided > 0 {
		line("  of ", strconv.FormatInt(tally.Undecided, 10), " more nobody knows: it could not be found out in time, or at all")
	}
	for _, h := range hints(suggestions, most == 0) {
		line("hint: ", h)
	}
	return out.Flush()
}

// String says how sure it is, in a report's head: "2 proven, 1 likely".
func (t *Tally) String() string {
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{t.Proven, "proven"}, {t.Likely, "likely"}, {t.Unknown, "unknown"}} {
		if c.n > 0 {
			parts = append(parts, strconv.Itoa(c.n)+" "+c.word)
		}
	}
	return strings.Join(parts, ", ")
}

// text is a denial in one line: what was tried, what was missing where, how often, by whom, and
// what would allow it.
func (d *Denial) text(s *Suggestion) string {
	var b strings.Builder
	if d.Certainty != Proven {
		b.WriteString(d.Certainty.String() + ": ")
	}
	b.WriteString(d.Word() + " " + d.target())
	j := &d.Judgement
	if j.Right != "" {
		b.WriteString("  " + visible.Line(j.Right))
		if j.Place != "" && d.Path != "" && j.Place != d.Path {
			b.WriteString(" in " + strconv.Quote(j.Place))
		}
	}
	if name := errnoName(j.Errno); name != "" {
		b.WriteString("  " + name)
	}
	b.WriteString("  " + d.often())
	switch {
	case s != nil && visible.Line(s.Flag) != s.Flag:
		b.WriteString("  → a grant of a name that a terminal does not show; --status-fd has it")
	case s != nil && s.Flag == "":
		b.WriteString("  → in a policy: " + visible.Line(strings.ReplaceAll(s.Line, "\n", " ")))
		if s.Note != "" {
			b.WriteString(" (" + visible.Line(s.Note) + ")")
		}
	case s != nil:
		b.WriteString("  → " + visible.Line(s.Flag))
		switch {
		case s.Risk != "" && s.Note == "":
			b.WriteString(" (would let the program " + visible.Line(s.Risk) + ")")
		case s.Secret != "" && s.Note == "":
			b.WriteString(" (" + s.Secret + ")")
		case s.Note != "":
			b.WriteString(" (" + visible.Line(s.Note) + ")")
		}
	case j.Remedy.Note != "":
		b.WriteString("  → " + visible.Line(j.Remedy.Note))
	case j.Reason != "":
		b.WriteString(": " + visible.Line(j.Reason))
	}
	return b.String()
}

// target is what an operation was tried on.
func (d *Denial) target() string {
	switch {
	case d.Host != "":
		return visible.Line(d.Host) + ":" + strconv.Itoa(int(d.Port))
	case d.Dest != "":
		return strconv.Quote(d.Path) + " to " + strconv.Quote(d.Dest)
	case d.Path != "":
		return strconv.Quote(d.Path)
	case d.Port != 0, d.Op == launcher.OpBind && d.Judgement.Place == "0": // which is any
		return "port " + strconv.Itoa(int(d.Port))
	case d.Op != launcher.OpSyscall && d.Judgement.Place != "": // as the kernel's own record has it
		return "something in " + strconv.Quote(d.Judgement.Place)
	case d.Operation.Call != "":
		return visible.Line(d.Operation.Call)
	}
	return "of an unknown name"
}

func (d *Denial) often() string {
	often := "once"
	if d.Count != 1 {
		often = strconv.FormatInt(d.Count, 10) + " times"
	}
	switch {
	case d.Program == "":
		return often
	case d.Count != 1:
		often += ", first"
	}
	often += " by " + strconv.Quote(d.Program)
	if d.PID != 0 {
		often += " (" + strconv.Itoa(d.PID) + ")"
	}
	return often
}

func (l *Limit) text() string {
	text := "limit " + l.Name + ": " + visible.Line(l.Text)
	if l.Certainty != Proven {
		text = l.Certainty.String() + ": " + text
	}
	if l.Flag != "" {
		text += "  → " + visible.Line(l.Flag)
	}
	return text
}

// hints are the last lines: what would allow what is proven, and each secret and each way out for itself, since
// nobody should add that by copying a line.
func hints(list []Suggestion, all bool) []string {
	best := Unknown
	for i := range list {
		if list[i].alone() == "" && list[i].typable() {
			best = max(best, list[i].Certainty)
		}
	}
	var flags, lines, out []string
	left, alone := 0, 0
	for i := range list {
		switch s := &list[i]; {
		case s.alone() != "" && !s.typable():
		case s.alone() != "" && len(out) >= shownFlags && !all:
			alone++
		case s.Risk != "" && (s.Secret == "" || strings.HasPrefix(s.Risk, "change ")):
			out = append(out, visible.Line(s.Flag)+" would let the program "+s.Risk+": better let a tool of the host do it")
		case s.Secret != "":
			out = append(out, visible.Line(s.Flag)+" would show the program "+s.Secret+": better let a tool of the host do it")
		case s.Certainty != best || !s.typable():
		case len(flags) >= shownFlags && !all:
			left++
		default:
			flag := visible.Line(s.Flag)
			if opened := "--net ports "; slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, opened) }) {
				flag = strings.TrimPrefix(flag, opened)
			}
			flags = append(flags, flag)
			if s.Line != "" {
				lines = append(lines, visible.Line(strings.ReplaceAll(s.Line, "\n", " ")))
			}
		}
	}
	if alone > 0 {
		out = append(out, strconv.Itoa(alone)+" more are like these (-v)")
	}
	if len(flags) > 0 {
		text := strings.Join(flags, " ") + "  would allow the " + best.String() + " ones"
		if best == Unknown {
			text = strings.Join(flags, " ") + "  may allow them"
		}
		if left > 0 {
			text += ", and " + strconv.Itoa(left) + " more would (-v)"
		}
		if len(lines) > 0 && (all || len(lines) <= 3) {
			text += "; in a policy: " + strings.Join(lines, "; ")
		}
		out = append([]string{text}, out...)
	}
	return out
}

// alone is why a suggestion is not to be joined with others, "" if it may be.
func (s *Suggestion) alone() string {
	if s.Risk != "" {
		return s.Risk
	}
	return s.Secret
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
