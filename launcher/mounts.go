package launcher

import (
	"strings"

	"brainbox/policy"
)

// mountPoints reads the mount points from the text of /proc/self/mountinfo (proc(5)),
// in which blanks and backslashes are octal.
func mountPoints(mountinfo string) []string {
	var points []string
	for line := range strings.SplitSeq(mountinfo, "\n") {
		if f := strings.SplitN(line, " ", 6); len(f) == 6 {
			points = append(points, unescapeMount(f[4]))
		}
	}
	return points
}

func unescapeMount(s string) string {
	if !strings.Contains(s, "\\") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && octal(s[i+1]) && octal(s[i+2]) && octal(s[i+3]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func octal(c byte) bool { return '0' <= c && c <= '7' }

// mounts says on a write grant what is mounted inside it: that is granted too, though it
// may be quite another folder (escape matrix FS-30).
func (d *planner) mounts(e *Entry, w *Want, p *PathFact) {
	if w.Always || !w.Right.Writes() {
		return
	}
	for _, at := range d.facts.Mounts {
		if at == p.Target || !policy.Below(at, p.Target) {
			continue
		}
		note := quotePath(w.Text) + " holds the mount " + quotePath(at) + ", which is granted with it"
		e.Note = joinNotes(e.Note, "holds the mount "+quotePath(at))
		d.plan.Notes = append(d.plan.Notes, note)
	}
}
