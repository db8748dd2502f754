package spawn

import (
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// atFDCWD is AT_FDCWD as an argument.
const atFDCWD = ^uintptr(99)

// Sizes that the kernel asks for beside the structures.
const (
	howSize  = unsafe.Sizeof(unix.OpenHow{})
	attrSize = unsafe.Sizeof(unix.MountAttr{})
)

// plain is how every name is looked up: no part of it is a symbolic link.
const plain = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// identity is what makes two descriptors show one object: it keeps its number while one
// of them is open.
type identity struct {
	ino          uint64
	major, minor uint32
	kind         uint32 // S_IFMT bits
}

// identify looks at a descriptor of the caller's.
func identify(fd int) (identity, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, identityMask, &st); err != nil {
		return identity{}, os.NewSyscallError("statx", err)
	}
	return identity{ino: st.Ino, major: st.Dev_major, minor: st.Dev_minor, kind: uint32(st.Mode) & unix.S_IFMT}, nil
}

const identityMask = unix.STATX_TYPE | unix.STATX_INO

// how gives the address of a struct open_how for O_PATH.
func (s *setup) how(flags, resolve uint64) uintptr {
	h := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: resolve}
	for _, old := range s.hows {
		if *old == h {
			return addr(old)
		}
	}
	s.hows = append(s.hows, &h)
	return addr(&h)
}

func (s *setup) attr(set uint64) uintptr {
	for _, old := range s.attrs {
		if old.Attr_set == set {
			return addr(old)
		}
	}
	a := &unix.MountAttr{Attr_set: set}
	s.attrs = append(s.attrs, a)
	return addr(a)
}

// same goes on only if the cell's descriptor shows what the caller's fd does.
func (s *setup) same(step Step, cell *int32, fd int, of held) error {
	id, err := of(fd)
	if err != nil {
		return err
	}
	s.sameAs(step, cell, id)
	return nil
}

func (s *setup) sameAs(step Step, cell *int32, id identity) {
	s.idents = append(s.idents, &id)
	c := s.add(step, "statx", unix.SYS_STATX, addr(cell), s.before.text(""), unix.AT_EMPTY_PATH, identityMask,
		addr(&s.init.stat)).cells(0)
	c.want, c.errs[0], c.errs[1] = wantSame, addr(&s.init.stat), addr(&id)
}

// root makes the new file system. It is mounted on top of the old root: that is there in
// any case, and an absolute name still means the old tree, since a lookup that begins at
// the root does not look at what covers it.
func (s *setup) root(n *Namespaces, ruleset int, of held) error {
	i := s.init
	s.add(StepPrivate, "mount", unix.SYS_MOUNT, s.before.text("none"), s.before.text("/"), 0,
		unix.MS_REC|unix.MS_PRIVATE, 0)
	if !n.Userns {
		s.lastUserns()
	}
	const attrs = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
	s.newFS(StepRoot, "tmpfs", rootOptions(n.Mounts), attrs, &i.root)
	s.add(StepRoot, "move_mount", unix.SYS_MOVE_MOUNT, addr(&i.root), s.before.text(""), atFDCWD, s.before.text("/"),
		unix.MOVE_MOUNT_F_EMPTY_PATH).cells(0)
	for k := range n.Mounts {
		s.entry = int16(k + 1)
		if err := s.mount(&n.Mounts[k], ruleset, of); err != nil {
			return err
		}
	}
	s.entry = 0
	s.unmask()
	s.add(StepRoot, "mount_setattr", unix.SYS_MOUNT_SETATTR, addr(&i.root), s.before.text(""), unix.AT_EMPTY_PATH,
		s.attr(unix.MOUNT_ATTR_RDONLY), attrSize).cells(0)
	return nil
}

// rootOptions bounds the new root by what is made in it.
func rootOptions(mounts []Mount) []string {
	pages, inodes := 16, 16
	for i := range mounts {
		m := &mounts[i]
		inodes++
		pages += 2 + len(m.Data)/os.Getpagesize()
	}
	return []string{"mode=0755", "size=" + strconv.Itoa(pages*os.Getpagesize()), "nr_inodes=" + strconv.Itoa(inodes)}
}

// pivot makes the new root the root and lets the old one go: it comes to lie on top of the
// new one, where "." still means the new one for fchdir(2) and the old one for umount2(2)
// (pivot_root(2), "pivot_root(".", ".")").
func (s *setup) pivot() {
	dot := s.before.text(".")
	s.add(StepRoot, "fchdir", unix.SYS_FCHDIR, addr(&s.init.root)).cells(0)
	s.add(StepRoot, "pivot_root", unix.SYS_PIVOT_ROOT, dot, dot)
	s.add(StepRoot, "umount2", unix.SYS_UMOUNT2, dot, unix.MNT_DETACH)
	s.add(StepRoot, "chdir", unix.SYS_CHDIR, s.before.text("/"))
}

// newFS makes a file system that is mounted nowhere yet.
func (s *setup) newFS(step Step, fstype string, options []string, attrs uint64, into *int32) {
	fs := &s.init.fs
	s.add(step, "fsopen", unix.SYS_FSOPEN, s.before.text(fstype), unix.FSOPEN_CLOEXEC).into(fs)
	for _, o := range append([]string{"source=" + fstype}, options...) {
		key, value, isString := strings.Cut(o, "=")
		c := s.add(step, "fsconfig", unix.SYS_FSCONFIG, addr(fs), unix.FSCONFIG_SET_FLAG, s.before.text(key)).cells(0)
		if isString {
			c.a[1], c.a[3] = unix.FSCONFIG_SET_STRING, s.before.text(value)
		}
	}
	s.add(step, "fsconfig", unix.SYS_FSCONFIG, addr(fs), unix.FSCONFIG_CMD_CREATE, 0, 0, 0).cells(0)
	s.add(step, "fsmount", unix.SYS_FSMOUNT, addr(fs), unix.FSMOUNT_CLOEXEC, uintptr(attrs)).cells(0).into(into)
	s.close(step, fs)
}

// mount adds the calls of one entry; it has been checked.
func (s *setup) mount(m *Mount, ruleset int, of held) error {
	own := s.places.own(m.Path)
	if err := s.places.take(m); err != nil {
		return err
	}
	switch m.Kind {
	case KindDir:
		s.inRoot("mkdirat", unix.SYS_MKDIRAT, m.Path, uintptr(m.Mode))
	case KindFile:
		s.file(m.Path, m.Mode, m.Data)
	case KindSymlink:
		target := s.before.text(m.Source)
		s.add(StepMount, "symlinkat", unix.SYS_SYMLINKAT, target, addr(&s.init.root), s.rel(m.Path)).cells(1)
	case KindFS:
		step := StepMount
		if m.FSType == "proc" {
			step = StepProc
		}
		s.newFS(step, m.FSType, m.Options, m.attributes(), &s.init.tree)
		s.attach(m.Path, nil)
	case KindBind:
		return s.bind(m, own, of)
	case KindSelf:
		return s.self(m, of)
	case KindMask:
		return s.mask(m, of)
	case KindSeal:
		s.inRoot("mount_setattr", unix.SYS_MOUNT_SETATTR, m.Path, unix.AT_SYMLINK_NOFOLLOW,
			s.attr(unix.MOUNT_ATTR_RDONLY), attrSize)
	case KindGrant:
		s.grant(m, ruleset)
	}
	return nil
}

// rel is a path of the new root, relative to it.
func (s *setup) rel(name string) uintptr {
	if name == "/" {
		return s.before.text(".")
	}
	return s.before.text(name[1:])
}

// inRoot adds a call whose first two arguments are a directory and a name in it. The name
// consists of what was made here (see places).
func (s *setup) inRoot(name string, nr uintptr, at string, a ...uintptr) *call {
	return s.add(StepMount, name, nr, append([]uintptr{addr(&s.init.root), s.rel(at)}, a...)...).cells(0)
}

func (s *setup) file(at string, mode uint32, data []byte) {
	if len(data) == 0 {
		s.inRoot("mknodat", unix.SYS_MKNODAT, at, uintptr(unix.S_IFREG|mode), 0)
		return
	}
	f := &s.init.source
	const flags = unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY | unix.O_CLOEXEC
	s.inRoot("openat", unix.SYS_OPENAT, at, flags, uintptr(mode)).into(f)
	s.data = append(s.data, data)
	size := uintptr(len(data))
	s.add(StepMount, "write", unix.SYS_WRITE, addr(f), addr(&data[0]), size).cells(0).orValue(size)
	s.close(StepMount, f)
}
