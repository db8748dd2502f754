package explain

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/internal/sys"
	"brainbox/launcher"
)

func errnoOf(err error) syscall.Errno {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return unix.EIO
}

// credentials of a thread, and its numbers (proc_pid_status(5)).
type credentials struct {
	uid, gid  uint32 // of the file system
	groups    []uint32
	caps      uint64 // effective
	tgid      int
	innerTGID int // in the thread's own pid namespace
	innerTID  int
}

// readCredentials reads them; false: there is no such thread.
func readCredentials(tid int) (credentials, bool) {
	b, err := sys.ReadFile("/proc/"+itoa(tid)+"/status", 1<<16)
	if err != nil {
		return credentials{}, false
	}
	return parseCredentials(b)
}

func parseCredentials(b []byte) (credentials, bool) {
	var c credentials
	var have int
	for line := range bytes.Lines(b) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(value)
		if len(fields) == 0 {
			continue
		}
		last := string(fields[len(fields)-1])
		number := func(s string, bits int) uint64 {
			n, err := strconv.ParseUint(s, 10, bits)
			if err == nil {
				have++
			}
			return n
		}
		switch string(name) {
		case "Uid":
			c.uid = uint32(number(last, 32))
		case "Gid":
			c.gid = uint32(number(last, 32))
		case "Tgid":
			c.tgid = int(number(last, 31))
		case "NStgid":
			c.innerTGID = int(number(last, 31))
		case "NSpid":
			c.innerTID = int(number(last, 31))
		case "CapEff":
			if n, err := strconv.ParseUint(last, 16, 64); err == nil {
				c.caps, have = n, have+1
			}
		case "Groups":
			for _, f := range fields {
				if n, err := strconv.ParseUint(string(f), 10, 32); err == nil {
					c.groups = append(c.groups, uint32(n))
				}
			}
		}
	}
	return c, have == 6
}

func (c *credentials) has(capability uint) bool { return c.caps&(1<<capability) != 0 }

// The permissions of a file, as access(2) has them.
const (
	mayExec  = unix.X_OK
	mayWrite = unix.W_OK
	mayRead  = unix.R_OK
)

// allows reckons what the mode of a file gives (path_resolution(7), capabilities(7)).
func (c *credentials) allows(s *status, want uint32) bool {
	m := uint32(s.mode)
	isDir := m&unix.S_IFMT == unix.S_IFDIR
	var has uint32
	switch {
	case c.uid == s.uid:
		has = m >> 6 & 7
	case c.gid == s.gid, slices.Contains(c.groups, s.gid):
		has = m >> 3 & 7
	default:
		has = m & 7
	}
	if c.has(unix.CAP_DAC_OVERRIDE) {
		has |= mayRead | mayWrite
		if isDir || m&0o111 != 0 {
			has |= mayExec
		}
	}
	if c.has(unix.CAP_DAC_READ_SEARCH) {
		has |= mayRead
		if isDir {
			has |= mayExec
		}
	}
	return has&want == want
}

// mayRemove reports whether the sticky bit of a folder lets the name of a file be taken away
// (inode(7)).
func (c *credentials) mayRemove(folder, file *status) bool {
	return folder.mode&unix.S_ISVTX == 0 || c.uid == file.uid || c.uid == folder.uid || c.has(unix.CAP_FOWNER)
}

// answer is what the rest of the kernel says to an operation: Landlock and the plan's mounts
// left out.
type answer uint8

const (
	perhaps answer = iota // it could not be found out
	yes
	likely // reckoned, for another user than this process's
	no
)

// question is what is asked of one file.
type question struct {
	fd   int
	path string
	want uint32
	exec bool // it is to be executed
	gone int  // a file that is to be taken out of the folder fd, or -1

	folder bool // a name in it is to be made or taken away
}

// ask answers on a thread of its own: a file system may have to ask its server.
func (l *look) askKernel(list []question) answer {
	cred, ok := readCredentials(l.c.TID)
	if !ok {
		return perhaps
	}
	// The descriptors are the call's, and it may be over before the answer.
	mine := slices.Clone(list)
	for i := range mine {
		mine[i].fd = dup(mine[i].fd)
		mine[i].gone = dup(mine[i].gone)
	}
	e, root := l.e, l.root
	a, ok := await(&e.budget, func() answer {
		worst := yes
		for i := range mine {
			switch a := e.permits(&cred, root, &mine[i]); {
			case a == no:
				worst = no
			case worst != no && a != yes && (worst == yes || a == perhaps):
				worst = a
			}
		}
		for i := range mine {
			closeFD(mine[i].fd)
			closeFD(mine[i].gone)
		}
		return worst
	}, func(answer) {})
	if !ok {
		return perhaps
	}
	return a
}

func dup(fd int) int {
	if fd < 0 {
		return -1
	}
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return n
}

// permits asks the mode of the file, or the kernel itself where it decides for this process
// as it would for the program.
func (e *Engine) permits(c *credentials, root int, q *question) answer {
	s, ok := statusOf(q.fd)
	if !ok {
		return perhaps
	}
	if a, other := e.permitsOnHost(c, q, &s); other {
		return a
	}
	var fs unix.Statfs_t
	if !e.cfg.Inside { // inside, the plan's mounts are what is read-only
		if unix.Fstatfs(q.fd, &fs) != nil {
			return perhaps
		}
		isFile := kindOf(uint32(s.mode))
		if q.want&mayWrite != 0 && fs.Flags&unix.ST_RDONLY != 0 && writesFileSystem(isFile) ||
			q.exec && fs.Flags&unix.ST_NOEXEC != 0 {
			return no
		}
	}
	if q.gone >= 0 {
		if file, ok := statusOf(q.gone); ok && !c.mayRemove(&s, &file) {
			return no
		}
	}
	same := c.uid == e.own.uid && c.caps == e.own.caps && !e.cfg.OtherUser
	if same && !e.cfg.Inside {
		switch err := unix.Faccessat2(q.fd, "", q.want, unix.AT_EACCESS|unix.AT_EMPTY_PATH); {
		case err == nil:
			return yes
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EROFS), errors.Is(err, unix.EPERM):
			return no
		}
		return perhaps
	}
	return e.reckon(c, root, q, &s)
}

// reckon goes by the modes of the file and of the folders above it.
func (e *Engine) reckon(c *credentials, root int, q *question, s *status) answer {
	if !c.allows(s, q.want) {
		return no
	}
	for at := parentOf(q.path); at != ""; at = parentOf(at) {
		fd, errno := openat2Slow(root, at, lookFlags|unix.O_DIRECTORY, inRoot|unix.RESOLVE_NO_SYMLINKS)
		if errno != 0 {
			return likely
		}
		above, ok := statusOf(fd)
		closeFD(fd)
		if ok && !c.allows(&above, mayExec) {
			return no
		}
	}
	if e.cfg.OtherUser || hasACL(q.fd) {
		return likely
	}
	return yes
}

// parentOf is the folder above, and "" above the root.
func parentOf(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	if len(path) > 1 {
		return "/"
	}
	return ""
}

// hasACL reports whether more than the mode decides (acl(5)).
func hasACL(fd int) bool {
	n, err := unix.Getxattr("/proc/self/fd/"+itoa(fd), "system.posix_acl_access", nil)
	return err == nil && n > 0
}

// writesFileSystem reports whether to write to a file changes its file system: a device, a
// pipe or a socket is written to on a read-only mount, too (mount(2)).
func writesFileSystem(k launcher.FileKind) bool {
	switch k {
	case launcher.KindChar, launcher.KindBlock, launcher.KindFIFO, launcher.KindSocket:
		return false
	default:
		return true
	}
}
