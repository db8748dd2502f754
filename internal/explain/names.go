package explain

import (
	"golang.org/x/sys/unix"

	"brainbox/launcher"
)

const here = unix.AT_FDCWD

func seeMkdir(l *look) { l.create(here, l.c.Args[0], launcher.KindFolder) }
func seeMkdirat(l *look) {
	l.create(int32(l.c.Args[0]), l.c.Args[1], launcher.KindFolder)
}
func seeSymlink(l *look)   { l.create(here, l.c.Args[1], launcher.KindLink) }
func seeSymlinkat(l *look) { l.create(int32(l.c.Args[1]), l.c.Args[2], launcher.KindLink) }

func seeMknod(l *look) { l.mknod(here, l.c.Args[0], l.c.Args[1], l.c.Args[2]) }
func seeMknodat(l *look) {
	l.mknod(int32(l.c.Args[0]), l.c.Args[1], l.c.Args[2], l.c.Args[3])
}

// mknod makes a file, a device only for who may (mknod(2)).
func (l *look) mknod(dir int32, at, mode, dev uint64) {
	kind := kindOf(uint32(mode))
	switch kind {
	case launcher.KindAbsent:
		if mode&unix.S_IFMT != 0 {
			return // EINVAL
		}
		kind = launcher.KindRegular
	case launcher.KindFolder, launcher.KindLink:
		return // EPERM, EINVAL
	case launcher.KindBlock, launcher.KindChar:
		whiteout := kind == launcher.KindChar && dev == 0 // Linux 5.8
		if c, ok := readCredentials(l.c.TID); ok && !whiteout && !c.has(unix.CAP_MKNOD) {
			return
		}
	default:
	}
	l.create(dir, at, kind)
}

// create maps what makes a new name.
func (l *look) create(dir int32, at uint64, kind launcher.FileKind) {
	b, ok := l.path(0, at)
	if !ok {
		return
	}
	l.made(dir, b, kind)
}

func (l *look) made(dir int32, b []byte, kind launcher.FileKind) {
	n, op := &l.one, launcher.Operation{Op: launcher.OpCreate, Kind: kind}
	h := creating
	if kind == launcher.KindFolder {
		h |= folder
	}
	l.resolve(n, dir, b, h)
	if l.settled(n, op) {
		return
	}
	op.Path = text(n.path)
	if n.state == found {
		l.moot(op) // EEXIST
		return
	}
	l.ask(op, need{at: n, folder: true})
}

func seeUnlink(l *look) { l.remove(here, l.c.Args[0], false) }
func seeRmdir(l *look)  { l.remove(here, l.c.Args[0], true) }
func seeUnlinkat(l *look) {
	l.remove(int32(l.c.Args[0]), l.c.Args[1], l.c.Args[2]&unix.AT_REMOVEDIR != 0)
}

func (l *look) remove(dir int32, at uint64, isDir bool) {
	b, ok := l.path(0, at)
	if !ok {
		return
	}
	n, op := &l.one, launcher.Operation{Op: launcher.OpRemove}
	l.resolve(n, dir, b, 0)
	if l.settled(n, op) {
		return
	}
	op.Path, op.Kind = text(n.path), n.kind()
	if isDir != (op.Kind == launcher.KindFolder) || isDir && endsInDot(b) || text(n.path) == "/" {
		l.moot(op) // EISDIR, ENOTDIR, EINVAL, EBUSY
		return
	}
	l.ask(op, need{at: n, folder: true, remove: true})
}

// endsInDot reports whether the last component is "." or "..", which nothing can take away.
func endsInDot(b []byte) bool {
	for len(b) > 1 && b[len(b)-1] == '/' {
		b = b[:len(b)-1]
	}
	n := len(b)
	return n > 0 && b[n-1] == '.' && (n == 1 || b[n-2] == '/' || b[n-2] == '.' && (n == 2 || b[n-3] == '/'))
}

func seeRename(l *look) { l.rename(here, l.c.Args[0], here, l.c.Args[1], 0) }
func seeRenameat(l *look) {
	l.rename(int32(l.c.Args[0]), l.c.Args[1], int32(l.c.Args[2]), l.c.Args[3], 0)
}

func seeRenameat2(l *look) {
	l.rename(int32(l.c.Args[0]), l.c.Args[1], int32(l.c.Args[2]), l.c.Args[3], l.c.Args[4])
}

func (l *look) rename(fromDir int32, from uint64, toDir int32, to, flags uint64) {
	a, ok := l.path(0, from)
	if !ok {
		return
	}
	b, ok := l.path(1, to)
	if !ok {
		return
	}
	old, dest := &l.one, &l.two
	op := launcher.Operation{Op: launcher.OpRename}
	l.resolve(old, fromDir, a, 0)
	l.resolve(dest, toDir, b, creating|folder)
	op.Path, op.Dest, op.Kind, op.Over = text(old.path), text(dest.path), old.kind(), dest.kind()
	if !l.pair(old, dest, op) {
		return
	}
	exchange := flags&unix.RENAME_EXCHANGE != 0
	if endsInDot(a) || endsInDot(b) || exchange && dest.state == absent ||
		flags&unix.RENAME_NOREPLACE != 0 && dest.state == found || !exchange && clash(op.Kind, op.Over) ||
		old.status.ino == dest.status.ino && old.status.dev == dest.status.dev && dest.state == found {
		l.moot(op) // EBUSY, ENOENT, EEXIST, EISDIR, ENOTDIR, or nothing to do
		return
	}
	needs := []need{{at: old, folder: true, remove: true}, {at: dest, folder: true, remove: dest.state == found}}
	if l.ask(op, needs...) || !exchange {
		return
	}
	op.Path, op.Dest, op.Kind, op.Over = op.Dest, op.Path, op.Over, op.Kind
	l.ask(op, needs...)
}

// clash reports whether one kind cannot take the place of the other.
func clash(what, over launcher.FileKind) bool {
	return over != launcher.KindAbsent && (what == launcher.KindFolder) != (over == launcher.KindFolder)
}

// pair reports whether both names are to be judged. Where one of them is hidden, that is
// told.
func (l *look) pair(old, dest *name, op launcher.Operation) bool {
	if old.state != found {
		switch {
		case old.state == unknown || dest.state == unknown:
			l.doubt(op)
		case !l.e.cfg.Inside:
			l.moot(op)
		default: // what is hidden could be neither read nor taken away
			op.Op, op.Dest = launcher.OpRemove, ""
			l.settled(old, op)
		}
		return false
	}
	switch dest.state {
	case found, absent:
		return l.sameMount(old, dest, op)
	case unknown:
		l.doubt(op)
	case failed:
		op.Op, op.Path, op.Dest = launcher.OpCreate, op.Dest, ""
		l.settled(dest, op)
	case pseudo:
	}
	return false
}

// sameMount reports whether a name may get from one folder into the other as far as the
// host's mounts decide (EXDEV). Inside they are the plan's.
func (l *look) sameMount(old, dest *name, op launcher.Operation) bool {
	if l.e.cfg.Inside {
		return true
	}
	a, ownA := l.parent(old)
	b, ownB := l.parent(dest)
	sa, ok1 := statusOf(a)
	sb, ok2 := statusOf(b)
	if ownA {
		closeFD(a)
	}
	if ownB {
		closeFD(b)
	}
	if ok1 && ok2 && sa.mount != sb.mount {
		l.moot(op)
		return false
	}
	return true
}

func seeLink(l *look) { l.link2(here, l.c.Args[0], here, l.c.Args[1], 0) }
func seeLinkat(l *look) {
	l.link2(int32(l.c.Args[0]), l.c.Args[1], int32(l.c.Args[2]), l.c.Args[3], l.c.Args[4])
}

// link2 gives a file a further name.
func (l *look) link2(fromDir int32, from uint64, toDir int32, to, flags uint64) {
	a, ok := l.path(0, from)
	if !ok {
		return
	}
	b, ok := l.path(1, to)
	if !ok {
		return
	}
	var h how
	if flags&unix.AT_SYMLINK_FOLLOW != 0 {
		h |= follow
	}
	if flags&unix.AT_EMPTY_PATH != 0 {
		h |= empty
	}
	old, dest := &l.one, &l.two
	l.resolve(old, fromDir, a, h)
	l.resolve(dest, toDir, b, creating)
	op := launcher.Operation{Op: launcher.OpLink, Path: text(old.path), Dest: text(dest.path), Kind: old.kind()}
	if !l.pair(old, dest, op) {
		return
	}
	if dest.state == found || op.Kind == launcher.KindFolder {
		l.moot(op) // EEXIST, EPERM
		return
	}
	l.ask(op, need{at: dest, folder: true})
}

func seeTruncate(l *look) {
	b, ok := l.path(0, l.c.Args[0])
	if !ok {
		return
	}
	n, op := &l.one, launcher.Operation{Op: launcher.OpTruncate}
	l.resolve(n, here, b, follow)
	if l.settled(n, op) {
		return
	}
	op.Path, op.Kind = text(n.path), n.kind()
	if op.Kind != launcher.KindRegular {
		l.moot(op) // EISDIR, EINVAL
		return
	}
	l.ask(op, need{at: n, want: mayWrite})
}
