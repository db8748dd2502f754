package launcher

import (
	"syscall"
)

// empty is the part of the sandbox's own root that a place outside of every region lies in.
var empty = region{path: "/", own: true}

func (s *standing) around() *region {
	if s.region == nil {
		return &empty
	}
	return s.region
}

// bare reports whether nothing of a region can be written, and what is there was made before
// the program started: the sandbox's own root, its /dev and /run.
func (r *region) bare() bool { return r.own && !r.write }

// has reports whether something is at a path of the sandbox's own root.
func (x *index) has(path string) bool {
	n := x.get(path)
	return n != nil && n.made
}

// opensInside answers what comes before Landlock: whether there is such a file, and what its
// mount refuses.
func (j *Judge) opensInside(op *Operation, s *standing) (Judgement, bool) {
	r := s.around()
	if g, ok := j.present(op, s, op.Path); !ok {
		return g, false
	}
	switch op.Op {
	case OpWrite, OpTruncate:
		if !r.write && !opensAnyway(op.Kind) {
			return j.readOnly(r, op.Path), false
		}
	case OpExec:
		if !r.exec {
			return Judgement{
				Verdict: Refused, Right: "execute", Place: op.Path, Errno: syscall.EACCES, Clause: "files",
				Reason: quotePath(op.Path) + " is on a mount without execution",
			}, false
		}
	case OpRead, OpCreate, OpRemove, OpRename, OpLink, OpConnect, OpBind, OpUnix, OpSyscall:
	}
	return Judgement{}, true
}

// opensAnyway reports whether a read-only mount lets a file of this kind be written to.
func opensAnyway(k FileKind) bool {
	return k == KindFIFO || k == KindSocket || k == KindChar || k == KindBlock
}

// present answers whether a file of the host is there at all.
func (j *Judge) present(op *Operation, s *standing, path string) (Judgement, bool) {
	r := s.around()
	g := Judgement{Verdict: Refused, Place: path, Errno: syscall.ENOENT, Clause: "files"}
	switch {
	case s.masked != nil:
		return j.emptied(op, s, path), false
	case r.bare() && !j.index.has(path):
		g.Reason = "it is not there: no entry grants it"
		return g, false
	case r.own && r.write && op.Kind == KindAbsent:
		g.Reason = "the program has a " + quotePath(r.path) + " of its own, without what the host has there"
		return g, false
	}
	return Judgement{}, true
}

// emptied answers for what a mask hides.
func (j *Judge) emptied(op *Operation, s *standing, path string) Judgement {
	m := s.masked
	g := Judgement{Verdict: Refused, Place: path, Clause: firstOf(m.Clause, "files")}
	switch m.Clause {
	case "deny":
		g.Entry = j.plan.forbids("deny", m)
		g.Reason = quotePath(m.Path) + " is denied, whatever else grants it: the program finds something empty"
	case "unix":
		g.Reason = "it is a socket that is not listed: the program finds an empty file"
	default:
		g.Reason = "it is masked: the program finds something empty in place of what the host has"
	}
	switch {
	case m.Path != path:
		g.Errno = syscall.ENOENT
	case op.Op != OpRead: // its mode refuses it
		g.Errno = syscall.EACCES
	}
	return g
}

// forbids is the entry that a mount is made for.
func (p *Plan) forbids(clause string, m *Mount) *Entry {
	for i := range p.Clauses {
		if p.Clauses[i].Name != clause {
			continue
		}
		for j := range p.Clauses[i].Entries {
			if e := &p.Clauses[i].Entries[j]; e.Target == m.Path || m.Value != "" && e.Value == m.Value && e.Source == m.Origin {
				return e
			}
		}
	}
	return nil
}

// readOnly answers for a place on a mount that nobody can write to.
func (j *Judge) readOnly(r *region, path string) Judgement {
	g := Judgement{
		Verdict: Refused, Right: "write_file", Place: path, Errno: syscall.EROFS, Clause: "files",
		Reason: "no entry grants writing on " + quotePath(path) + ": its mount is read-only",
	}
	switch {
	case r.guarded:
		g.Clause, g.Right, g.Place = "protect", "", r.path
		g.Entry = j.plan.forbids("protect", &Mount{Path: r.path})
		g.Reason = quotePath(r.path) + " is protected"
	case r.own || r.hidden:
		g.Reason = quotePath(path) + " is the sandbox's own, and read-only"
		if n := j.index.get(path); n != nil && n.file {
			g.Errno = syscall.EACCES // its mode refuses it first
		}
	}
	return g
}

// Hidden judges an operation on what the host has and the program does not find. As [Judge.Judge]
// it may refuse; and where the program has a folder of its own, in which it is allowed all, it
// is refused what only the host has there.
func (j *Judge) Hidden(op Operation) Judgement {
	g := j.Judge(op)
	at := op.Path
	if op.Op == OpCreate || op.Op == OpRemove { // what is changed is the folder
		at = parent(at)
	}
	s := j.index.at(at)
	r := s.around()
	if g.Verdict == Refused || !j.index.inside || !r.own || !r.write && j.index.has(at) {
		return g
	}
	g = Judgement{
		Verdict: Refused, Place: at, Errno: syscall.ENOENT, Clause: "files",
		Reason: "the program has a " + quotePath(r.path) + " of its own, without what the host has there",
	}
	if op.Op == OpUnix {
		g.Clause = "unix"
	}
	g.Remedy = j.remedy(&op, &g)
	return g
}

// There reports whether the program finds at a path, when it starts, what the host has there:
// everywhere with isolation landlock. With namespaces it may have something of its own, or
// nothing.
func (j *Judge) There(path string) bool {
	if !j.index.inside {
		return true
	}
	s := j.index.at(path)
	return s.masked == nil && (!s.around().own || j.index.has(path))
}

// changes answers, for a folder in which a name is made or removed, what comes before
// Landlock.
func (j *Judge) changes(op *Operation, s *standing, folder string) (Judgement, bool) {
	if !j.index.inside {
		return Judgement{}, true
	}
	r := s.around()
	switch {
	case s.masked != nil:
		g := j.emptied(op, s, folder)
		g.Errno = syscall.EROFS
		if s.masked.Path != folder {
			g.Errno = syscall.ENOENT
		}
		return g, false
	case r.bare() && !j.index.has(folder):
		return Judgement{
			Verdict: Refused, Place: folder, Errno: syscall.ENOENT, Clause: "files",
			Reason: "the folder " + quotePath(folder) + " is not there: no entry grants it",
		}, false
	case !r.write:
		return j.readOnly(r, folder), false
	}
	return Judgement{}, true
}

// relinksInside answers in the kernel's order: rename(2) looks at the mounts first, link(2)
// at whether the folder can be written.
func (j *Judge) relinksInside(op *Operation, s, d *standing) (Judgement, bool) {
	from, to := parent(op.Path), parent(op.Dest)
	for _, place := range [...]struct {
		path string
		s    *standing
	}{{from, s}, {to, d}} {
		under := place.s.masked != nil && place.s.masked.Path != place.path // of which nothing is to be seen
		if r := place.s.around(); under || r.bare() && !j.index.has(place.path) {
			return j.changes(op, place.s, place.path)
		}
	}
	source := s.mount
	if op.Op == OpLink {
		own := j.index.at(op.Path)
		if own.masked == nil || own.masked.Path != op.Path { // a mask is there, and a mount of its own
			if g, ok := j.present(op, &own, op.Path); !ok {
				return g, false
			}
		}
		if g, ok := j.changes(op, d, to); !ok {
			return g, false
		}
		source = own.mount
	}
	if source != d.mount {
		return Judgement{
			Verdict: Refused, Right: "refer", Place: to, Errno: syscall.EXDEV, Clause: "files",
			Reason: quoteNames(from, to) + " are two mounts: " + quotePath(source) + " and " + quotePath(d.mount),
		}, false
	}
	if op.Op == OpRename {
		if g, ok := j.changes(op, s, from); !ok {
			return g, false
		}
	}
	return Judgement{}, true
}

// stays answers whether a name can be taken away: what is mounted cannot.
func (j *Judge) stays(path string) (Judgement, bool) {
	if !j.index.inside {
		return Judgement{}, true
	}
	s := j.index.at(path)
	if !s.carried {
		return Judgement{}, true
	}
	g := Judgement{
		Verdict: Refused, Place: path, Errno: syscall.EBUSY, Clause: "files",
		Reason: quotePath(path) + " is a mount: its name stays",
	}
	for _, clause := range [...]string{"protect", "deny"} {
		if e := j.plan.forbids(clause, &Mount{Path: path}); e != nil {
			g.Clause, g.Entry, g.Reason = clause, e, quotePath(path)+" is held by "+clause+": its name stays"
		}
	}
	return g, false
}
