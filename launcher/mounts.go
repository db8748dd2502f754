package launcher

import (
	"path/filepath"
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

// otherNames are the paths that lead to a folder through other mounts of its file system, from
// the text of /proc/self/mountinfo.
func otherNames(mountinfo, folder string) []string {
	type mount struct{ device, root, point string }
	var all []mount
	var own mount
	for line := range strings.SplitSeq(mountinfo, "\n") {
		f := strings.SplitN(line, " ", 6)
		if len(f) < 6 {
			continue
		}
		m := mount{f[2], unescapeMount(f[3]), unescapeMount(f[4])}
		all = append(all, m)
		if policy.Below(folder, m.point) && len(m.point) >= len(own.point) { // a later one covers
			own = m
		}
	}
	inside := filepath.Join(own.root, strings.TrimPrefix(folder, own.point))
	var names []string
	for _, m := range all {
		if m.device != own.device || !policy.Below(inside, m.root) {
			continue
		}
		if name := filepath.Join(m.point, strings.TrimPrefix(inside, m.root)); name != folder {
			names = append(names, name)
		}
	}
	return names
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

// observeOtherNames finds the further names of what is denied, or protected by name.
func (f *Facts) observeOtherNames(mountinfo string) {
	for i := range f.Wants {
		switch w := &f.Wants[i]; {
		case w.Right == policy.RightDeny, w.Right == policy.RightProtect && !w.Optional:
			f.Paths[i].Others = otherNames(mountinfo, f.Paths[i].Target)
		}
	}
}
