package explain

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/launcher"
)

// need is what an operation asks of the rest of the kernel.
type need struct {
	at     *name
	want   uint32 // of the file itself
	exec   bool
	folder bool // what is asked for is to be changed in the folder that holds it
	remove bool // the name is to be taken out of that folder
}

// ask has the plan judge an operation, and tells the sink. It reports whether the plan
// refuses: the kernel makes no further operation of the call then.
//
// The operation's strings lie in memory that is used again, and are copied for the sink.
func (l *look) ask(op launcher.Operation, needs ...need) bool {
	if !l.e.cfg.Uses && l.e.allows(op) {
		return false
	}
	if !l.waits() {
		return true // nobody asked for this
	}
	op.Path, op.Dest = strings.Clone(op.Path), strings.Clone(op.Dest)
	s := &Seen{Operation: op, Judgement: l.e.judge(op), Call: l.call, TID: l.c.TID}
	s.Moot, s.Certainty = l.wouldFail(needs)
	if s.Judgement.Verdict == launcher.Refused && !s.Moot {
		if r, better := l.remedyOnHost(&op); better {
			s.Judgement.Remedy = r
		}
	}
	l.e.cfg.Sink.Saw(s)
	return s.Judgement.Verdict == launcher.Refused
}

// wouldFail reports whether the operation fails without the plan, and how certain that is.
func (l *look) wouldFail(needs []need) (bool, Certainty) {
	list := make([]question, 0, len(needs))
	for _, n := range needs {
		switch {
		case n.folder:
			parent, owned := l.parent(n.at)
			if owned {
				defer closeFD(parent)
			}
			q := question{fd: parent, path: parentOf(string(n.at.path)), want: mayWrite | mayExec, gone: -1, folder: true}
			if n.remove {
				q.gone = n.at.fd
			}
			list = append(list, q)
		case n.want != 0:
			list = append(list, question{fd: n.at.fd, path: string(n.at.path), want: n.want, exec: n.exec, gone: -1})
		}
	}
	if len(list) == 0 {
		return false, Proven
	}
	switch l.askKernel(list) {
	case yes:
		return false, Proven
	case no:
		return true, Proven
	case likely:
		return false, Likely
	case perhaps:
	}
	return false, Likely
}

// parent holds the folder of a name; owned says that it is to be closed.
func (l *look) parent(n *name) (fd int, owned bool) {
	if n.parent >= 0 {
		return n.parent, false
	}
	at := append(append([]byte(nil), parentOf(string(n.path))...), 0)
	fd, e := openat2(l.root, at, lookFlags|unix.O_DIRECTORY, inRoot|resolveCached|unix.RESOLVE_NO_SYMLINKS)
	if e != 0 {
		return -1, false
	}
	return fd, true
}

// moot tells the sink, if it wants to know, of an operation that fails whatever the plan says.
func (l *look) moot(op launcher.Operation) {
	if !l.e.cfg.Uses || !l.waits() {
		return
	}
	op.Path, op.Dest = strings.Clone(op.Path), strings.Clone(op.Dest)
	l.e.cfg.Sink.Saw(&Seen{
		Operation: op, Judgement: l.e.cfg.Judge.Judge(op), Certainty: Proven, Moot: true, Call: l.call, TID: l.c.TID,
	})
}

// doubt tells the sink of an operation of which it is not known what it would do.
func (l *look) doubt(op launcher.Operation) {
	if !l.waits() {
		return
	}
	op.Path, op.Dest = strings.Clone(op.Path), strings.Clone(op.Dest)
	l.e.cfg.Sink.Saw(&Seen{Operation: op, Call: l.call, TID: l.c.TID})
}

// settled deals with a name that leads nowhere, and reports whether that was all: the
// operation is then known to fail, or nothing is known.
func (l *look) settled(n *name, op launcher.Operation) bool {
	switch n.state {
	case found, absent:
		return false
	case failed:
		if op.Op != launcher.OpCreate {
			op.Kind = launcher.KindAbsent
		}
		if l.e.cfg.Inside && (n.errno == unix.ENOENT || n.errno == unix.EACCES || n.errno == unix.ENOTDIR) && l.hidden(n, op) {
			return true
		}
		op.Path = text(n.path)
		l.moot(op)
	case unknown:
		op.Path, op.Kind = text(n.path), launcher.KindAbsent
		l.doubt(op)
	case pseudo:
	}
	return true
}

// hidden tells of a name that the host has and the program does not see: if the plan says so,
// that is a denial, whatever error the program gets. It reports whether something was told.
func (l *look) hidden(n *name, op launcher.Operation) bool {
	if len(n.path) == 0 || n.path[0] != '/' || strings.HasPrefix(text(n.path), "/proc/") {
		return false
	}
	path, make := string(n.path), op.Op == launcher.OpCreate
	got, ok := await(&l.e.budget, func() onHost { return lookOnHost(path, make, isLocal) }, func(h onHost) { closeFD(h.fd) })
	if !ok || got.unknown { // whether it is a denial is not known
		op.Path = path
		l.doubt(op)
		return true
	}
	if got.fd < 0 {
		return false
	}
	defer closeFD(got.fd)
	op.Path = got.path
	if !make {
		op.Kind = got.status.kind()
	}
	j := l.e.hidden(op)
	if j.Verdict != launcher.Refused || !l.waits() {
		return false
	}
	cred, ok := readCredentials(l.c.TID)
	s := &Seen{Operation: op, Judgement: j, Certainty: Likely, Call: l.call, TID: l.c.TID}
	want := wants(op.Op)
	if make {
		want = mayWrite | mayExec
	}
	if ok {
		s.Moot = !cred.allows(&got.status, want)
		if !l.e.cfg.OtherUser && !hasACL(got.fd) {
			s.Certainty = Proven
		}
	}
	l.e.cfg.Sink.Saw(s)
	return true
}

// wants is the permission that an operation on an existing file asks its mode for.
func wants(op launcher.Op) uint32 {
	switch op {
	case launcher.OpRead:
		return mayRead
	case launcher.OpWrite, launcher.OpTruncate, launcher.OpUnix:
		return mayWrite
	case launcher.OpExec:
		return mayExec
	default:
		return 0
	}
}

// path reads the name that a register points to.
func (l *look) path(i int, at uint64) ([]byte, bool) {
	b, e := readString(l.c.TID, at, l.text[i][:])
	if e != 0 {
		l.unread(e)
		return nil, false
	}
	return b, true
}

// unread tells of memory that this process may not read. What the kernel cannot read either
// fails by itself.
func (l *look) unread(e syscall.Errno) {
	if e == unix.EPERM || e == unix.EACCES {
		l.doubt(launcher.Operation{Op: launcher.OpSyscall, Call: l.call})
	}
}
