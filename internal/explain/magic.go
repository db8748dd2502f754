package explain

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ownProcess is what self and thread-self in /proc are for the program: its numbers in the
// pid namespace that /proc is of.
func (w *walker) ownProcess(comp string) string {
	if w.path != "/proc" || comp != "self" && comp != "thread-self" {
		return ""
	}
	c, ok := readCredentials(w.tid)
	if !ok {
		return ""
	}
	tgid, tid := c.tgid, w.tid
	if w.inside {
		tgid, tid = c.innerTGID, c.innerTID
	}
	if comp == "self" {
		return itoa(tgid)
	}
	w.todo = append([]string{"task", itoa(tid)}, w.todo...)
	return itoa(tgid)
}

// isMagic reports whether the links in a folder lead to what a process holds, whatever their
// text says (proc(5)): all in that of a process are of that kind.
func isMagic(folder string) bool {
	rest, ok := strings.CutPrefix(folder, "/proc/")
	if !ok {
		return false
	}
	first, _, _ := strings.Cut(rest, "/")
	_, err := strconv.Atoi(first)
	return err == nil
}

// ofAnother reports whether a file in /proc tells of a process what only who may trace it is
// told (PTRACE_MODE_READ in ptrace(2)), and is of another than the caller's.
func (l *look) ofAnother(path string) bool {
	if !isMagic(path) {
		return false
	}
	parts := strings.Split(path, "/") // "", proc, the number
	switch parts[len(parts)-1] {
	case "auxv", "environ", "fd", "fdinfo", "io", "map_files", "maps", "mem", "numa_maps", "pagemap", "personality",
		"smaps", "smaps_rollup", "stack", "syscall":
	default:
		return false
	}
	c, ok := readCredentials(l.c.TID)
	tgid := c.tgid
	if l.e.cfg.Inside {
		tgid = c.innerTGID
	}
	return ok && parts[2] != itoa(tgid)
}

// isMemory reports whether a file is one of memfd_create(2), about which Landlock does not
// decide, as about pipes.
func isMemory(text string) bool {
	return strings.HasPrefix(text, "/memfd:") && strings.HasSuffix(text, " (deleted)")
}

// magic jumps to what a process holds. That of another process than the program's own may
// not be asked for at all, which is not for this walk to know.
func (w *walker) magic(comp, text string) *walked {
	doubt := w.doubt()
	c, ok := readCredentials(w.tid)
	tgid := c.tgid
	if w.inside {
		tgid = c.innerTGID
	}
	own := "/proc/" + itoa(tgid)
	if !ok || w.path != own && !strings.HasPrefix(w.path, own+"/") {
		return &doubt
	}
	at := w.fd
	fd, err := unix.Openat(at, comp, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		end := fails(errnoOf(err), w.path)
		return &end
	}
	s, ok := statusOf(fd)
	switch last, slash := w.isLast(); {
	case !ok:
	case !strings.HasPrefix(text, "/"), isMemory(text):
		closeFD(fd)
		return &walked{state: pseudo, path: text, fd: -1, parent: -1}
	case s.nlink == 0 || strings.HasSuffix(text, " (deleted)"):
	case s.mode&unix.S_IFMT == unix.S_IFDIR:
		closeFD(w.fd)
		w.fd, w.path = fd, text
		return nil
	case last && !slash:
		return &walked{state: found, path: text, fd: fd, parent: -1}
	default:
		closeFD(fd)
		end := fails(unix.ENOTDIR, text)
		return &end
	}
	closeFD(fd)
	return &doubt
}
