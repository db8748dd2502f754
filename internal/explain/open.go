package explain

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"

	"brainbox/launcher"
)

func seeOpen(l *look)   { l.open(unix.AT_FDCWD, l.c.Args[0], l.c.Args[1]) }
func seeOpenat(l *look) { l.open(int32(l.c.Args[0]), l.c.Args[1], l.c.Args[2]) }

func seeCreat(l *look) {
	l.open(unix.AT_FDCWD, l.c.Args[0], unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC)
}

// howSize is the size of struct open_how of Linux 5.6; what a newer one has behind it must be
// zero for a kernel that does not know it.
const howSize = 24

// maxHow is what a structure may have: a page of this kernel (openat2(2)), 64 KiB on some of arm64.
var maxHow = uint64(os.Getpagesize())

func seeOpenat2(l *look) {
	size := l.c.Args[3]
	if size < howSize || size > maxHow {
		return // EINVAL, E2BIG
	}
	var b [howSize]byte
	if e := readAll(l.c.TID, l.c.Args[2], b[:]); e != 0 {
		l.unread(e)
		return
	}
	flags, resolve, ok := parseHow(b[:])
	if !ok {
		return
	}
	if resolve != 0 {
		l.openWithin(int32(l.c.Args[0]), l.c.Args[1], flags, resolve)
		return
	}
	l.open(int32(l.c.Args[0]), l.c.Args[1], flags)
}

// parseHow reads struct open_how.
func parseHow(b []byte) (flags, resolve uint64, ok bool) {
	if len(b) < howSize {
		return 0, 0, false
	}
	flags, resolve = binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[16:])
	return flags, resolve, flags>>32 == 0
}

// openWithin is an open that asks for bounds of its own, which the kernel holds: where they
// do not matter, for a relative name without links and without "..", it is an open as any.
func (l *look) openWithin(dir int32, at, flags, resolve uint64) {
	b, ok := l.path(0, at)
	if !ok || flags&unix.O_PATH != 0 && !l.e.cfg.Inside {
		return
	}
	n := &l.one
	if l.root < 0 || len(b) == 0 || resolve&bounds != 0 && (b[0] == '/' || climbs(b)) {
		l.doubt(launcher.Operation{Op: openOp(flags), Path: text(b)})
		return
	}
	l.resolve(n, dir, b, openHow(flags))
	if flags&unix.O_PATH != 0 {
		l.looked(n)
		return
	}
	switch straight := n.state == absent || n.state == found && within(n.path, b); {
	case straight, resolve&(bounds|unix.RESOLVE_NO_SYMLINKS) == 0:
		l.opened(n, flags)
	case n.state != found:
		l.settled(n, launcher.Operation{Op: openOp(flags)})
	case resolve&unix.RESOLVE_NO_SYMLINKS != 0:
		l.moot(launcher.Operation{Op: openOp(flags), Path: text(n.path), Kind: n.kind()}) // ELOOP
	default:
		l.doubt(launcher.Operation{Op: openOp(flags), Path: text(n.path)})
	}
}

// bounds are what makes a link in a name lead elsewhere, or nowhere.
const bounds = unix.RESOLVE_BENEATH | unix.RESOLVE_IN_ROOT

// climbs reports whether a component is "..".
func climbs(b []byte) bool {
	for i := 0; i+1 < len(b); i++ {
		if b[i] == '.' && b[i+1] == '.' && (i == 0 || b[i-1] == '/') && (i+2 == len(b) || b[i+2] == '/') {
			return true
		}
	}
	return false
}

// within reports whether a resolved path ends as the text does: no link was met in it.
func within(path, b []byte) bool {
	var buf [pathMax + 1]byte
	c := clean(append(append(buf[:0], '/'), b...))
	return len(path) >= len(c) && text(path[len(path)-len(c):]) == text(c) || text(c) == "/"
}

// openHow is how the name of an open is looked up.
func openHow(flags uint64) how {
	h := follow
	if flags&unix.O_NOFOLLOW != 0 {
		h = 0
	}
	if flags&unix.O_CREAT != 0 && flags&unix.O_PATH == 0 {
		h |= creating
		if flags&unix.O_EXCL != 0 {
			h &^= follow
		}
	}
	return h
}

// openOp is the strongest operation of an open of what is there.
func openOp(flags uint64) launcher.Op {
	switch {
	case flags&unix.O_ACCMODE == unix.O_RDONLY && flags&unix.O_TRUNC == 0:
		return launcher.OpRead
	case flags&unix.O_ACCMODE == unix.O_RDONLY:
		return launcher.OpTruncate
	}
	return launcher.OpWrite
}

func (l *look) open(dir int32, at, flags uint64) {
	if flags&unix.O_PATH != 0 && !l.e.cfg.Inside {
		return
	}
	b, ok := l.path(0, at)
	if !ok {
		return
	}
	l.resolve(&l.one, dir, b, openHow(flags))
	if flags&unix.O_PATH != 0 {
		l.looked(&l.one)
		return
	}
	l.opened(&l.one, flags)
}

// looked maps an open with O_PATH, which needs no right: all that can be in its way is that the
// program does not see what the host has.
func (l *look) looked(n *name) {
	if n.state == failed && (n.errno == unix.ENOENT || n.errno == unix.ENOTDIR) {
		l.hidden(n, launcher.Operation{Op: launcher.OpRead})
	}
}

// opened maps an open of a resolved name.
func (l *look) opened(n *name, flags uint64) {
	op := launcher.Operation{Op: openOp(flags), Kind: launcher.KindRegular}
	if n.state == failed && flags&unix.O_CREAT != 0 {
		op.Op = launcher.OpCreate
	}
	if l.settled(n, op) {
		return
	}
	op.Path, op.Kind = text(n.path), n.kind()
	if n.state == absent {
		op.Op, op.Kind = launcher.OpCreate, launcher.KindRegular
		if l.ask(op, need{at: n, folder: true}) {
			return
		}
		l.openedAs(n, op, flags&^uint64(unix.O_TRUNC), 0)
		return
	}
	mode := flags & unix.O_ACCMODE
	switch k := op.Kind; {
	case l.ofAnother(text(n.path)) && l.e.allows(op):
		l.doubt(op) // ptrace(2) decides, and Landlock and the namespaces with it
	case flags&unix.O_TMPFILE == unix.O_TMPFILE && k == launcher.KindFolder && mode != unix.O_RDONLY:
		op.Kind = launcher.KindRegular // it has no name; the rights are those of the folder
		l.openedAs(n, op, flags, mayWrite|mayExec)
	case k == launcher.KindFolder && (mode != unix.O_RDONLY || flags&(unix.O_CREAT|unix.O_TRUNC) != 0), // EISDIR
		k == launcher.KindLink,   // ELOOP, EEXIST
		k == launcher.KindSocket, // ENXIO
		flags&unix.O_DIRECTORY != 0 && k != launcher.KindFolder,
		flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		l.moot(op)
	default:
		l.openedAs(n, op, flags, openMode(flags))
	}
}

// openMode is the permission that an open asks for.
func openMode(flags uint64) uint32 {
	want := [...]uint32{mayRead, mayWrite, mayRead | mayWrite, mayRead | mayWrite}[flags&unix.O_ACCMODE]
	if flags&unix.O_TRUNC != 0 {
		want |= mayWrite
	}
	return want
}

// openedAs asks for what the descriptor can be used for, the strongest first: what allows
// writing allows the rest in a policy.
func (l *look) openedAs(n *name, op launcher.Operation, flags uint64, want uint32) {
	mode := flags & unix.O_ACCMODE
	if mode == unix.O_WRONLY || mode == unix.O_RDWR {
		op.Op = launcher.OpWrite
		if l.ask(op, need{at: n, want: want}) {
			return
		}
	}
	if flags&unix.O_TRUNC != 0 && op.Kind == launcher.KindRegular {
		op.Op = launcher.OpTruncate
		if l.ask(op, need{at: n, want: want}) {
			return
		}
	}
	if mode == unix.O_RDONLY || mode == unix.O_RDWR {
		op.Op = launcher.OpRead
		l.ask(op, need{at: n, want: want})
	}
}
