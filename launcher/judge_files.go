package launcher

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/landlock"
)

// Judge answers what a plan allows, as the kernel will decide it. It looks at no file, and
// several goroutines may ask it at a time.
type Judge struct {
	plan  *Plan
	facts *Facts
	index *index
	calls *calls
}

// NewJudge prepares the answers of a plan. The facts are those that the plan was made from;
// their descriptors are not used.
func NewJudge(p *Plan, f *Facts) *Judge {
	return &Judge{plan: p, facts: f, index: newIndex(p, f), calls: &calls{plan: p}}
}

// Judge answers one question. It says what the plan makes of an operation that would succeed
// without it: whether a file is there, and what its mode allows, is not looked at.
//
// What is refused has the error that the kernel gives for it, and Errno 0 where the program
// sees no error but something else than the host has: a denied file, which it finds empty.
func (j *Judge) Judge(op Operation) Judgement {
	g := j.decide(&op)
	if g.Verdict == Refused {
		g.Remedy = j.remedy(&op, &g)
	}
	return g
}

func (j *Judge) decide(op *Operation) Judgement {
	switch op.Op {
	case OpRead, OpWrite, OpTruncate, OpExec:
		return j.open(op)
	case OpCreate, OpRemove:
		return j.change(op)
	case OpRename, OpLink:
		return j.relink(op)
	case OpConnect, OpBind:
		return j.port(op)
	case OpUnix:
		return j.socket(op.Path)
	case OpSyscall:
		return j.calls.judge(op.Call)
	}
	return Judgement{Reason: "an unknown operation"}
}

// wanted is what has to be given at one place.
type wanted struct {
	path string
	bits uint64
}

// openBits are what opening a file asks for (security/landlock/fs.c, get_required_file_open_access).
func openBits(op *Operation) uint64 {
	switch op.Op {
	case OpWrite:
		return unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	case OpTruncate:
		return unix.LANDLOCK_ACCESS_FS_TRUNCATE
	case OpExec: // the kernel opens it for reading
		return unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	case OpRead, OpCreate, OpRemove, OpRename, OpLink, OpConnect, OpBind, OpUnix, OpSyscall:
	}
	if op.Kind == KindFolder {
		return unix.LANDLOCK_ACCESS_FS_READ_DIR
	}
	return unix.LANDLOCK_ACCESS_FS_READ_FILE
}

// makeBits are what making a file of this kind asks of its folder.
func makeBits(k FileKind) uint64 {
	switch k {
	case KindFolder:
		return unix.LANDLOCK_ACCESS_FS_MAKE_DIR
	case KindLink:
		return unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	case KindSocket:
		return unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
	case KindFIFO:
		return unix.LANDLOCK_ACCESS_FS_MAKE_FIFO
	case KindChar:
		return unix.LANDLOCK_ACCESS_FS_MAKE_CHAR
	case KindBlock:
		return unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	case KindAbsent, KindRegular:
	}
	return unix.LANDLOCK_ACCESS_FS_MAKE_REG
}

// removeBits are what removing it asks of its folder; nothing if there is nothing.
func removeBits(k FileKind) uint64 {
	switch k {
	case KindAbsent:
		return 0
	case KindFolder:
		return unix.LANDLOCK_ACCESS_FS_REMOVE_DIR
	case KindRegular, KindLink, KindSocket, KindFIFO, KindChar, KindBlock:
	}
	return unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
}

// open judges what happens to a file itself. To write what is not there is to make it first.
func (j *Judge) open(op *Operation) Judgement {
	s := j.index.at(op.Path)
	if op.Op == OpWrite && op.Kind == KindAbsent {
		folder := j.index.at(parent(op.Path))
		if g, ok := j.changes(op, &folder, parent(op.Path)); !ok {
			return g
		}
		if g, ok := j.gives(wanted{parent(op.Path), unix.LANDLOCK_ACCESS_FS_MAKE_REG}, folder.bits); !ok {
			return g
		}
	} else if j.index.inside {
		if g, ok := j.opensInside(op, &s); !ok {
			return g
		}
	}
	need := openBits(op)
	if g, ok := j.gives(wanted{op.Path, need}, s.bits); !ok {
		return g
	}
	return j.allowed(op.Path, need)
}

// change judges what happens to a name in its folder.
func (j *Judge) change(op *Operation) Judgement {
	folder := parent(op.Path)
	if op.Op == OpCreate && (op.Kind == KindChar || op.Kind == KindBlock) {
		if e := j.calls.mknod(op.Kind); e != 0 {
			return Judgement{
				Verdict: Refused, Right: rightName(makeBits(op.Kind)), Place: folder, Errno: e, Clause: "seccomp",
				Reason: "no program may make a device",
			}
		}
	}
	s := j.index.at(folder)
	if g, ok := j.changes(op, &s, folder); !ok {
		return g
	}
	need := makeBits(op.Kind)
	if op.Op == OpRemove {
		need = removeBits(max(op.Kind, KindRegular))
	}
	if g, ok := j.gives(wanted{folder, need}, s.bits); !ok {
		return g
	}
	if op.Op == OpRemove {
		if g, ok := j.stays(op.Path); !ok {
			return g
		}
	}
	return j.allowed(folder, need)
}

// gives answers EACCES if a place lacks a right.
func (j *Judge) gives(w wanted, has uint64) (Judgement, bool) {
	missing := w.bits & j.index.handled &^ has
	if missing == 0 {
		return Judgement{}, true
	}
	right := rightName(missing)
	return Judgement{
		Verdict: Refused, Right: right, Place: w.path, Errno: syscall.EACCES, Clause: "files",
		Reason: "no entry grants " + right + " on " + quotePath(w.path),
	}, false
}

// rightName is the kernel's word for the first of some rights.
func rightName(bits uint64) string {
	return landlock.AccessNames(bits & -bits)
}

// allowed names what grants it.
func (j *Judge) allowed(path string, need uint64) Judgement {
	g := Judgement{Verdict: Allowed, Clause: "files", Reason: "made for the run"}
	switch by := j.index.giver(path, need); {
	case by != nil:
		g.Entry, g.Reason = by.entry, by.says
	case need&j.index.handled == 0:
		g.Reason = "Landlock ABI 3 (Linux 6.2) would hold truncate(2); here nothing does"
	}
	return g
}

// relink judges rename(2) and link(2) (security/landlock/fs.c, current_check_refer_path).
func (j *Judge) relink(op *Operation) Judgement {
	from, to := parent(op.Path), parent(op.Dest)
	s, d := j.index.at(from), j.index.at(to)
	if j.index.inside {
		if g, ok := j.relinksInside(op, &s, &d); !ok {
			return g
		}
	}
	var remove uint64
	make1 := makeBits(max(op.Kind, KindRegular))
	if op.Op == OpRename {
		remove = removeBits(max(op.Kind, KindRegular))
		make1 |= removeBits(op.Over)
	}
	if from != to {
		if g, ok := j.refers(op, &s, &d, remove, make1); !ok {
			return g
		}
	} else if g, ok := j.gives(wanted{to, make1 | remove}, d.bits); !ok {
		return g
	}
	for _, name := range [...]string{op.Path, op.Dest} {
		if op.Op == OpRename || name == op.Dest {
			if g, ok := j.stays(name); !ok {
				return g
			}
		}
	}
	return j.allowed(to, make1)
}

// refers judges what moves to another folder: a missing right is EACCES. Without REFER, or
// where the file could be used in more ways than before, it is EXDEV, so that the program
// copies it; and below ABI 2 it is always that.
func (j *Judge) refers(op *Operation, s, d *standing, remove, make1 uint64) (Judgement, bool) {
	const refer = unix.LANDLOCK_ACCESS_FS_REFER
	from, to := parent(op.Path), parent(op.Dest)
	g := Judgement{Verdict: Refused, Right: "refer", Place: from, Errno: syscall.EXDEV, Clause: "files"}
	if j.facts.Landlock.Used() == 1 {
		g.Reason = "Landlock below ABI 2 (Linux 5.19) lets nothing be moved to another folder"
		return g, false
	}
	if g, ok := j.gives(wanted{from, remove}, s.bits); !ok {
		return g, false
	}
	if g, ok := j.gives(wanted{to, make1}, d.bits); !ok {
		return g, false
	}
	if s.bits&d.bits&refer == 0 {
		if s.bits&refer != 0 {
			g.Place = to
		}
		g.Reason = "no entry grants refer on " + quotePath(g.Place)
		return g, false
	}
	if more := j.gains(op, s, d); more != 0 {
		g.Place = to
		g.Reason = "it would gain " + rightName(more) + ": " + quotePath(to) + " gives more than " + quotePath(from)
		return g, false
	}
	return Judgement{}, true
}

// gains are the rights that a file has in the folder that it moves to, and had not before. The
// kernel compares before it comes to the rule of the root.
func (j *Judge) gains(op *Operation, s, d *standing) uint64 {
	had := s.apart
	if n := j.index.get(op.Path); n != nil {
		had |= n.bits
	}
	more := d.apart &^ had & j.index.handled
	if op.Kind != KindFolder {
		more &= ofFiles
	}
	return more
}

// quoteNames shows several paths.
func quoteNames(paths ...string) string {
	for i, p := range paths {
		paths[i] = quotePath(p)
	}
	return strings.Join(paths, " and ")
}

// Allows is whether [Judge.Judge] allows an operation, and nothing else of the answer.
func (j *Judge) Allows(op Operation) bool { return j.decide(&op).Verdict == Allowed }
