package launcher

import (
	"path/filepath"
	"strings"

	"brainbox/landlock"
	"brainbox/policy"
)

func (j *Judge) abi() int {
	if abi := j.facts.Landlock.Used(); abi > 0 {
		return abi
	}
	return landlock.Known
}

// nests reports whether a further grant from the command line can stand among the entries
// around it, and what they make of it.
func (j *Judge) nests(o offer) (policy.Nested, bool) {
	entries := []policy.Entry{{Path: o.path, Right: o.right, Kind: policy.KindFlag}}
	for i := range j.facts.Wants {
		w, p := &j.facts.Wants[i], &j.facts.Paths[i]
		if w.Always || p.Err != nil || w.Right == policy.RightNone || w.Clause != "" {
			continue
		}
		if policy.Below(p.Target, o.path) || policy.Below(o.path, p.Target) {
			entries = append(entries, policy.Entry{Path: p.Target, Right: w.Right, Kind: j.kindOf(w.Source)})
		}
	}
	before, after := policy.Nest(entries[1:]), policy.Nest(entries)
	if after[0].Err != nil || after[0].Drop {
		return after[0], false
	}
	if j.index.inside {
		return after[0], true
	}
	for i := range after { // Landlock cannot take a part of a grant back
		was := i > 0 && before[i-1].Implied == policy.RightProtect
		if after[i].Err != nil || after[i].Implied == policy.RightProtect && !after[i].Optional && !was {
			return after[0], false
		}
	}
	for _, e := range entries[1:] {
		if (e.Right == policy.RightDeny || e.Right == policy.RightProtect && o.right.Writes()) && e.Kind != policy.KindProfile && policy.Below(e.Path, o.path) {
			return after[0], false
		}
	}
	return after[0], true
}

// inPlace names an entry that grants the very path for less, and wins over what is added: what
// is offered has to take its place. "": there is none.
func (j *Judge) inPlace(list []offer) string {
	for _, o := range list {
		for i := range j.facts.Wants {
			w, p := &j.facts.Wants[i], &j.facts.Paths[i]
			grants := w.Right == policy.RightRead || w.Right == policy.RightExec || w.Right == policy.RightWrite
			if grants && !w.Always && p.Err == nil && p.Target == o.path && j.kindOf(w.Source) != policy.KindProfile {
				return "an entry grants " + quotePath(o.path) + " as " + w.Right.String() + " alone, and would win: put " +
					flagOf(o.right) + " " + shellWord(o.path) + " in its place"
			}
		}
	}
	return ""
}

func (j *Judge) kindOf(source int) policy.SourceKind {
	if source >= 0 && source < len(j.plan.Sources) {
		return j.plan.Sources[source].Kind
	}
	return policy.KindProfile
}

// add is what a further grant changes.
func (x *index) add(o offer, nested policy.Nested, abi int) {
	n := &node{}
	if old := x.get(o.path); old != nil {
		*n = *old
	}
	here, outer := x.at(o.path), x.at(parent(o.path))
	x.over[o.path], x.longest = n, max(x.longest, len(o.path))
	bits := landlock.Access(rightOf(o.right), o.folder, abi)
	n.bits |= bits
	n.grants = append([]granted{{bits: bits}}, n.grants...)
	if !x.inside {
		return
	}
	if here.masked != nil && here.masked.Clause == "deny" {
		return
	}
	around := outer.around()
	n.masked = nil
	r := region{path: o.path, write: o.right.Writes(), exec: o.right.Execs(), guarded: here.around().guarded}
	if r.guarded || nested.Implied == policy.RightProtect {
		r.write = false
	}
	n.region, n.made = &r, true
	n.mount = around.own || around.write != r.write || around.exec != r.exec
	x.join(&r)
}

// join makes one mount of a grant and of those in it that give the same (see mounter.within).
func (x *index) join(r *region) {
	for path := range x.nodes {
		if n := x.get(path); n.bound && path != r.path && policy.Below(path, r.path) && n.region != nil && n.region.allows(r) && r.allows(n.region) {
			one := *n
			one.mount = false
			x.over[path] = &one
		}
	}
}

// beside says that a lock or a temporary file belongs to a file that is granted alone.
func (j *Judge) beside(op *Operation) string {
	name := op.Path
	if op.Op == OpRead || op.Op == OpExec {
		return ""
	}
	for i := range j.facts.Wants {
		w, p := &j.facts.Wants[i], &j.facts.Paths[i]
		if p.Err != nil || p.Dir || w.Always || !w.Right.Writes() || parent(p.Target) != parent(name) {
			continue
		}
		if p.Target == name || op.Dest == p.Target || goesWith(filepath.Base(name), filepath.Base(p.Target)) {
			return "a temporary or lock file beside " + quotePath(p.Target) + ", which is granted alone: grant the folder"
		}
	}
	return ""
}

// goesWith reports whether programs make a name to change the file of another one: "x.lock",
// ".x.swp", "x.tmp.123", "x~", ".#x", "#x#", "4913".
func goesWith(name, file string) bool {
	plain := strings.TrimLeft(name, ".#~")
	return strings.HasPrefix(plain, file) || strings.HasPrefix(name, "."+strings.TrimLeft(file, ".")) ||
		strings.HasPrefix(name, "tmp") || strings.HasSuffix(name, ".tmp") || name == "4913"
}

// unfitProc says why a grant in /proc must not be suggested.
func (j *Judge) unfitProc(o offer) string {
	rest, ok := strings.CutPrefix(o.path, "/proc/")
	process, _, _ := strings.Cut(rest, "/")
	switch {
	case !ok && o.path != "/proc":
	case o.right.Writes() && j.index.inside:
		return "the program's own /proc is read-only"
	case strings.Trim(process, "0123456789") == "" && process != "":
		return "it belongs to one process, whose number is another one the next time"
	}
	return ""
}

// warning says of what is granted that it is better not.
func (j *Judge) warning(list []offer) string {
	note := ""
	for _, o := range list {
		if what := j.facts.Secret(o.path); what != "" {
			note = joinNotes(note, quotePath(o.path)+" holds "+what+": what the program reads, it can tell")
		}
		if o.right.Writes() && (policy.Below(o.path, "/proc/sys") || policy.Below(o.path, "/sys")) {
			note = joinNotes(note, "it changes the whole host's kernel")
		}
	}
	return note
}

// risk is what else a program could do that has these grants: the worst that is known of one.
func (j *Judge) risk(list []offer) string {
	read := ""
	for _, o := range list {
		if what := j.facts.Trusted(o.path); what != "" && o.right.Writes() {
			return "change " + what
		}
		if what := j.facts.Secret(o.path); what != "" {
			read = "read " + what
		}
	}
	return read
}

// tomlPath is a path of a policy file.
func tomlPath(path string) string {
	text := tomlString(path)
	if strings.ContainsAny(path, "*?[$") {
		return "{ path = " + text + ", literal = true }"
	}
	return text
}

// tomlString is a basic string (TOML 1.0). Control characters have no place in a path of a
// policy.
func tomlString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
