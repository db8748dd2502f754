package explain

import (
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxLinks is how many links the kernel follows in one name (path_resolution(7)).
const maxLinks = 40

// maxSteps is how many components are looked at for one name. The kernel looks at some ten
// thousands, of links that are made for it, in a hundredth of the time.
const maxSteps = 1024

// walk resolves a name as the kernel does, component by component, on a thread of its own:
// what is not in the kernel's cache may have to be waited for. It is slower than quick, and
// right where links lead through /proc, in which the program's own part is meant.
func (l *look) walk(n *name, dir int32, text []byte, h how) {
	w := &walker{
		tid: l.c.TID, inside: l.e.cfg.Inside, start: string(l.startOf(dir)), text: string(text), how: h, fd: -1,
	}
	root := l.root
	got, ok := await(&l.e.budget, func() walked {
		w.root = root
		defer func() { closeFD(w.fd) }()
		return w.run()
	}, walked.drop)
	if !ok {
		n.state, n.path = unknown, append(n.buf[:0], text...)
		return
	}
	n.state, n.errno, n.fd, n.parent = got.state, got.errno, got.fd, got.parent
	n.path = append(n.buf[:0], got.path...)
}

// walked is where a walk ended.
type walked struct {
	state      state
	errno      syscall.Errno
	path       string
	fd, parent int
}

func (w walked) drop() {
	closeFD(w.fd)
	closeFD(w.parent)
}

// walker is one walk.
type walker struct {
	tid    int
	inside bool
	start  string // the name in /proc of the folder that the text begins at, with a zero
	text   string
	how    how
	root   int
	// local reports whether in a folder names may be looked up that are not in the kernel's
	// cache; nil: in all.
	local func(fd int) bool

	fd    int // the folder that was reached, if it is held; -1: it is the root
	path  string
	todo  []string
	links int
	steps int
}

func fails(e syscall.Errno, path string) walked {
	return walked{state: failed, errno: e, path: path, fd: -1, parent: -1}
}

func (w *walker) doubt() walked { return walked{path: w.rest(""), fd: -1, parent: -1} }

// rest is where the walk would go from here if no more link is met.
func (w *walker) rest(comp string) string {
	return string(clean([]byte(w.path + "/" + comp + "/" + strings.Join(w.todo, "/"))))
}

func (w *walker) run() walked {
	w.path = "/"
	if !strings.HasPrefix(w.text, "/") {
		if end := w.begin(); end != nil {
			return *end
		}
	}
	if w.text == "" {
		return w.here()
	}
	w.todo = strings.Split(w.text, "/")
	for len(w.todo) > 0 {
		if w.steps++; w.steps > maxSteps {
			return w.doubt()
		}
		comp := w.todo[0]
		w.todo = w.todo[1:]
		switch comp {
		case "", ".":
			continue
		case "..":
			if e := w.up(); e != 0 {
				return fails(e, w.path)
			}
			continue
		}
		if end := w.step(comp); end != nil {
			return *end
		}
	}
	return w.here()
}

// begin holds the folder that a relative name begins at.
func (w *walker) begin() *walked {
	at := strings.TrimSuffix(w.start, "\x00")
	fd, err := unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		e := errnoOf(err)
		if e == unix.ENOENT {
			end := fails(unix.EBADF, "")
			return &end
		}
		return &walked{path: w.text, fd: -1, parent: -1}
	}
	w.fd = fd
	s, ok := statusOf(fd)
	var b [pathMax]byte
	path, e := pathOf(fd, b[:])
	switch {
	case !ok || e != 0:
		return &walked{path: w.text, fd: -1, parent: -1}
	case path[0] != '/', isMemory(string(path)):
		return &walked{state: pseudo, path: string(path), fd: -1, parent: -1}
	case s.nlink == 0:
		end := fails(unix.ENOENT, "")
		if w.text == "" {
			end.state = unknown // of a file without a name, which can be opened again
		}
		return &end
	case w.text != "" && s.mode&unix.S_IFMT != unix.S_IFDIR:
		end := fails(unix.ENOTDIR, string(path))
		return &end
	}
	w.path = string(path)
	return nil
}

// here is the end at the folder, or with an empty text at the file, that was reached.
func (w *walker) here() walked {
	fd := w.fd
	w.fd = -1
	if fd < 0 {
		var e syscall.Errno
		if fd, e = openat2Slow(w.root, ".", lookFlags, inRoot); e != 0 {
			return fails(e, w.path)
		}
	}
	return walked{state: found, path: w.path, fd: fd, parent: -1}
}

func (w *walker) up() syscall.Errno {
	if w.path == "/" {
		return 0
	}
	above := parentOf(w.path)
	fd, e := -1, syscall.Errno(0)
	if above != "/" { // the root is asked for by its own descriptor
		fd, e = openat2Slow(w.fd, "..", lookFlags|unix.O_DIRECTORY, 0)
	}
	if e == 0 {
		closeFD(w.fd)
		w.fd, w.path = fd, above
	}
	return e
}

// isLast reports whether nothing comes after the component that is being looked at.
func (w *walker) isLast() (last, slash bool) {
	for _, c := range w.todo {
		if c != "" && c != "." {
			return false, false
		}
	}
	return true, len(w.todo) > 0
}

// step goes on by one component.
func (w *walker) step(comp string) *walked {
	last, slash := w.isLast()
	if own := w.ownProcess(comp); own != "" && (!last || slash || w.how&follow != 0) {
		comp = own
	}
	at, base := w.fd, comp
	if at < 0 {
		at = w.root
	}
	resolve := uint64(unix.RESOLVE_BENEATH)
	if w.local != nil && !w.local(at) {
		resolve |= resolveCached
	}
	fd, e := openat2Slow(at, base, lookFlags|unix.O_NOFOLLOW, resolve)
	path := strings.TrimSuffix(w.path, "/") + "/" + comp
	if e != 0 {
		end := w.missing(e, path, comp, last, slash)
		return &end
	}
	s, ok := statusOf(fd)
	if !ok {
		closeFD(fd)
		end := w.doubt()
		return &end
	}
	switch isLink := s.mode&unix.S_IFMT == unix.S_IFLNK; {
	case isLink && (!last || slash || w.how&follow != 0):
		defer closeFD(fd)
		return w.link(fd, comp, path)
	case last && slash && s.mode&unix.S_IFMT != unix.S_IFDIR, !last && s.mode&unix.S_IFMT != unix.S_IFDIR:
		closeFD(fd)
		end := fails(unix.ENOTDIR, path)
		return &end
	case last:
		return &walked{state: found, path: path, fd: fd, parent: -1}
	}
	closeFD(w.fd)
	w.fd, w.path = fd, path
	return nil
}

// missing is the end at a component that cannot be looked up.
func (w *walker) missing(e syscall.Errno, path, comp string, last, slash bool) walked {
	if e != unix.ENOENT || !last || w.how&creating == 0 || slash && w.how&folder == 0 || slices.Contains(w.todo, ".") {
		if e == unix.EAGAIN {
			return w.doubt()
		}
		return fails(e, w.rest(comp))
	}
	parent := w.fd
	w.fd = -1
	if parent < 0 {
		if parent, e = openat2Slow(w.root, ".", lookFlags, inRoot); e != 0 {
			return fails(e, path)
		}
	}
	return walked{state: absent, path: path, fd: -1, parent: parent}
}

// link follows a link that fd holds.
func (w *walker) link(fd int, comp, path string) *walked {
	if w.links++; w.links > maxLinks {
		end := fails(unix.ELOOP, path)
		return &end
	}
	var b [pathMax]byte
	n, err := unix.Readlinkat(fd, "", b[:])
	if err != nil || n == len(b) {
		end := w.doubt()
		return &end
	}
	text := string(b[:n])
	switch {
	case isMagic(w.path) && w.local != nil: // it is this process's own
		end := w.doubt()
		return &end
	case isMagic(w.path):
		return w.magic(comp, text)
	}
	w.todo = append(strings.Split(text, "/"), w.todo...)
	if strings.HasPrefix(text, "/") {
		closeFD(w.fd)
		w.fd, w.path = -1, "/"
	}
	if text == "" {
		end := fails(unix.ENOENT, path)
		return &end
	}
	return nil
}
