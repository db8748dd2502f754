package learn

import (
	"strings"

	"brainbox/launcher"
	"brainbox/policy"
)

// bits are the rights of one place; writing and executing include reading.
type bits uint8

const (
	canRead bits = 1 << iota
	canWrite
	canExec
)

// right is the word of a policy for bits.
func (b bits) right() policy.Right {
	switch {
	case b&canWrite != 0 && b&canExec != 0:
		return policy.RightWriteExec
	case b&canWrite != 0:
		return policy.RightWrite
	case b&canExec != 0:
		return policy.RightExec
	case b&canRead != 0:
		return policy.RightRead
	}
	return policy.RightNone
}

// bitsOf is right the other way round.
func bitsOf(r policy.Right) bits {
	var b bits
	if r.Grants() {
		b = canRead
	}
	if r.Writes() {
		b |= canWrite
	}
	if r.Execs() {
		b |= canExec
	}
	return b
}

// need is what one place has to give.
type need struct {
	path   string
	bits   bits
	folder bool // path is a folder, or a place that files are made in
	why    reason
}

// reason is what is told of a line: how many operations of a kind, on different names.
type reason struct {
	read, list, exec, write, change int
	by                              string
	first                           int    // when by did it
	widened                         string // why it is a folder and not a file
}

func (r *reason) add(o reason) {
	r.read += o.read
	r.list += o.list
	r.exec += o.exec
	r.write += o.write
	r.change += o.change
	if r.by == "" || o.by != "" && o.first < r.first {
		r.by, r.first = o.by, o.first
	}
	if r.widened == "" {
		r.widened = o.widened
	}
}

// needsOf says what an operation on the file system needs, and nil for any other.
func needsOf(u *Use) []need {
	here := need{path: u.Path, folder: u.Kind == launcher.KindFolder, why: reason{by: u.By, first: u.First}}
	in := need{path: parent(u.Path), bits: canRead | canWrite, folder: true, why: reason{by: u.By, first: u.First, change: 1}}
	switch u.Op {
	case launcher.OpRead:
		here.bits = canRead
		if here.folder {
			here.why.list = 1
		} else {
			here.why.read = 1
		}
		if isLibrary(u.Path) {
			here.bits |= canExec // mmap(2) for execution is refused on a mount without it
		}
		return []need{here}
	case launcher.OpWrite, launcher.OpTruncate:
		here.bits, here.why.write = canRead|canWrite, 1
		return []need{here}
	case launcher.OpExec:
		here.bits, here.why.exec = canRead|canExec, 1
		return []need{here}
	case launcher.OpCreate, launcher.OpRemove:
		return []need{in}
	case launcher.OpRename, launcher.OpLink:
		to := parent(u.Dest)
		if to == in.path {
			return []need{in}
		}
		out := in
		out.path, out.why.change = to, 0
		return []need{in, out}
	case launcher.OpConnect, launcher.OpBind, launcher.OpUnix, launcher.OpSyscall:
	}
	return nil
}

// moves reports whether an operation moves or links a name from one folder to another.
func moves(u *Use) bool {
	return (u.Op == launcher.OpRename || u.Op == launcher.OpLink) && parent(u.Path) != parent(u.Dest)
}

// isLibrary reports whether a file is one that programs map to execute: lib.so, lib.so.6,
// an addon of node.
func isLibrary(path string) bool {
	name := base(path)
	if strings.HasSuffix(name, ".so") || strings.HasSuffix(name, ".node") {
		return true
	}
	_, version, ok := strings.Cut(name, ".so.")
	return ok && version != "" && strings.Trim(version, "0123456789.") == ""
}

// common is the innermost folder that holds both paths.
func common(a, b string) string {
	for !policy.Below(b, a) {
		a = parent(a)
	}
	return a
}
