package explain

import (
	"bytes"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/internal/notify"
	"brainbox/launcher"
)

// state is what became of a name.
type state uint8

const (
	unknown state = iota // it could not be resolved without waiting, or its object has no name
	found                // fd holds what it is of
	absent               // the folder is there, the last component is not; parent holds the folder
	failed               // the call fails with errno, whatever the plan says
	pseudo               // a pipe, a socket or the like, which no plan decides about
)

// name is one name of a call, resolved.
type name struct {
	state  state
	errno  syscall.Errno
	path   []byte // from the program's root, without a link but for what is not followed
	fd     int    // O_PATH, or -1
	parent int    // O_PATH, or -1
	status status // of what fd holds
	buf    [2 * pathMax]byte
}

func (n *name) reset() {
	closeFD(n.fd)
	closeFD(n.parent)
	n.state, n.errno, n.path, n.fd, n.parent, n.status = unknown, 0, nil, -1, -1, status{}
}

func (n *name) fail(e syscall.Errno) { n.state, n.errno = failed, e }

// kind is what is there.
func (n *name) kind() launcher.FileKind {
	if n.state != found {
		return launcher.KindAbsent
	}
	return n.status.kind()
}

// look is what one call needs: memory that is used again by the next one.
type look struct {
	e    *Engine
	c    *notify.Call
	call string
	root int // of the program; -1: not known

	rootOwned bool // root is to be closed
	valid     int8 // whether the call still waits: 0: not asked yet
	cred      *credentials

	one, two name
	text     [2][pathMax]byte
	link     [pathMax]byte
	proc     [64]byte
}

func newLook(e *Engine) *look {
	l := &look{e: e, root: -1}
	for _, n := range []*name{&l.one, &l.two} {
		n.fd, n.parent = -1, -1
	}
	return l
}

func (l *look) begin(c *notify.Call, call string) {
	l.c, l.call, l.valid, l.cred = c, call, 0, nil
	l.root, l.rootOwned = l.e.rootOf(c)
}

func (l *look) end() {
	l.one.reset()
	l.two.reset()
	if l.rootOwned {
		closeFD(l.root)
	}
	l.c, l.root, l.rootOwned, l.cred = nil, -1, false, nil
}

// waits asks whether the call still waits: what was read is its thread's only then.
func (l *look) waits() bool {
	if l.valid == 0 {
		l.valid = -1
		if l.e.valid(l.c) {
			l.valid = 1
		}
	}
	return l.valid > 0
}

// rootOf is the root folder of a caller, and whether it is to be closed; -1 if it is not the
// one that the program began with, below which the plan knows its way.
func (e *Engine) rootOf(c *notify.Call) (int, bool) {
	e.mu.Lock()
	root := e.root
	if root < 0 && !e.closed {
		if fd, err := openRoot(c.TID); err == nil {
			if e.valid(c) {
				e.root, root = fd, fd
			} else {
				closeFD(fd)
			}
		}
	}
	e.mu.Unlock()
	if !e.cfg.Movable || root < 0 {
		return root, false
	}
	fd, err := openRoot(c.TID)
	if err != nil {
		return -1, false
	}
	mine, ok1 := statusOf(fd)
	first, ok2 := statusOf(root)
	if !ok1 || !ok2 || mine.dev != first.dev || mine.ino != first.ino || mine.mount != first.mount {
		closeFD(fd)
		return -1, false
	}
	return fd, true
}

func openRoot(tid int) (int, error) {
	return unix.Open("/proc/"+itoa(tid)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// how a name is looked up.
type how uint8

const (
	follow   how = 1 << iota // the last component, if it is a link
	empty                    // the empty name is the descriptor itself (AT_EMPTY_PATH)
	creating                 // the last component need not be there
	folder                   // creating: what is made is a folder, so the name may end with a slash
)

// resolve looks up the text of a name: from the cache of the kernel and at once, if it can
// be, else by a walk that another thread does.
func (l *look) resolve(n *name, dir int32, text []byte, h how) {
	n.reset()
	switch {
	case l.root < 0:
		n.path = append(n.buf[:0], text...)
		return
	case len(text) == 0 && h&empty == 0:
		n.fail(unix.ENOENT)
		return
	case len(text) == 0 || !l.quick(n, dir, text, h):
		l.walk(n, dir, text, h)
	}
	if n.fd >= 0 && n.state == found {
		var ok bool
		if n.status, ok = statusOf(n.fd); !ok {
			n.state = unknown
		}
	}
}

// quick asks the kernel's cache. It reports false if that does not have the answer.
func (l *look) quick(n *name, dir int32, text []byte, h how) bool {
	full, ok := l.full(n, dir, text)
	if !ok {
		return false
	}
	flags := uint64(lookFlags)
	if h&follow == 0 {
		flags |= unix.O_NOFOLLOW
	}
	fd, e := openat2(l.root, full, flags, inRoot|resolveCached|unix.RESOLVE_NO_SYMLINKS)
	if e == 0 {
		// No component is a link: the text is the path.
		n.state, n.fd, n.path = found, fd, clean(full[:len(full)-1])
		return true
	}
	if e == unix.ENOENT && h&creating == 0 {
		n.fail(e)
		n.path = clean(full[:len(full)-1])
		return true
	}
	if e == unix.ELOOP {
		fd, e = openat2(l.root, full, flags, inRoot|resolveCached|unix.RESOLVE_NO_MAGICLINKS)
	}
	switch e {
	case 0:
		path, e := pathOf(fd, l.link[:])
		// What leads through /proc may have met this process's own part of it.
		if e != 0 || deleted(path) || bytes.HasPrefix(path, []byte("/proc/")) || path[0] != '/' {
			closeFD(fd)
			return false
		}
		n.state, n.fd, n.path = found, fd, append(n.buf[:0], path...)
		return true
	case unix.ENOENT, unix.EAGAIN:
		return h&creating != 0 && l.quickAbsent(n, full)
	default:
		return false
	}
}

// quickAbsent finds the folder of a name that is not there, and that no link would be
// followed at.
func (l *look) quickAbsent(n *name, full []byte) bool {
	slash := bytes.LastIndexByte(full, '/')
	last := full[slash+1:]
	if slash < 0 || len(last) < 2 || last[0] == '.' {
		return false // ends with a slash, or with a component that means another folder
	}
	var dir [pathMax]byte
	at := append(append(dir[:0], full[:slash]...), '/', 0)
	fd, e := openat2(l.root, at, lookFlags|unix.O_DIRECTORY, inRoot|resolveCached|unix.RESOLVE_NO_SYMLINKS)
	if e != 0 {
		return false
	}
	if there, e := openat2(fd, last, lookFlags|unix.O_NOFOLLOW, resolveCached); e != unix.ENOENT {
		if e == 0 {
			closeFD(there)
		}
		closeFD(fd)
		return false
	}
	n.state, n.parent, n.path = absent, fd, clean(full[:len(full)-1])
	return true
}

// full is the text from the root, with a zero at its end.
func (l *look) full(n *name, dir int32, text []byte) ([]byte, bool) {
	full := n.buf[:0]
	if text[0] != '/' {
		base, e := readlink(unix.AT_FDCWD, l.startOf(dir), n.buf[:pathMax])
		if e != 0 || base[0] != '/' || deleted(base) {
			return nil, false
		}
		full = append(base, '/')
	}
	if len(full)+len(text) >= pathMax {
		return nil, false // the whole is longer than a name may be, and yet its parts are not
	}
	return append(append(full, text...), 0), true
}

// startOf is the name in /proc of the folder that a name begins at.
func (l *look) startOf(dir int32) []byte {
	b := strconv.AppendInt(append(l.proc[:0], "/proc/"...), int64(l.c.TID), 10)
	if dir == unix.AT_FDCWD {
		return append(b, "/cwd\x00"...)
	}
	return append(strconv.AppendInt(append(b, "/fd/"...), int64(dir), 10), 0)
}
