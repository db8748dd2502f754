package spawn

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// attach mounts the tree at an own place, or over the cell's object.
func (s *setup) attach(at string, over *int32) {
	tree, empty := addr(&s.init.tree), s.before.text("")
	if over == nil {
		s.add(StepMount, "move_mount", unix.SYS_MOVE_MOUNT, tree, empty, addr(&s.init.root), s.rel(at),
			unix.MOVE_MOUNT_F_EMPTY_PATH).cells(0, 2)
	} else {
		s.add(StepMount, "move_mount", unix.SYS_MOVE_MOUNT, tree, empty, addr(over), empty,
			unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH).cells(0, 2)
		s.close(StepMount, over)
	}
	s.close(StepMount, &s.init.tree)
}

// find opens a name in a bound tree and proves that it is the held object: a symbolic link
// only if that is what is held.
func (s *setup) find(at string, fd int, into *int32, of held) error {
	var id identity
	if fd > 0 { // else a name of the own proc
		var err error
		if id, err = of(fd); err != nil {
			return err
		}
	}
	flags := uint64(0)
	if id.kind == unix.S_IFLNK {
		flags = unix.O_NOFOLLOW
	}
	s.inRoot("openat2", unix.SYS_OPENAT2, at, s.how(flags, plain|unix.RESOLVE_BENEATH), howSize).into(into)
	if fd > 0 {
		s.sameAs(StepMount, into, id)
	}
	return nil
}

// clone copies the mount of the cell's object, with the attributes of m.
func (s *setup) clone(m *Mount, of *int32) {
	recursive := uintptr(0)
	if m.Recursive {
		recursive = unix.AT_RECURSIVE
	}
	empty := s.before.text("")
	s.add(StepMount, "open_tree", unix.SYS_OPEN_TREE, addr(of), empty,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|recursive).cells(0).into(&s.init.tree)
	s.add(StepMount, "mount_setattr", unix.SYS_MOUNT_SETATTR, addr(&s.init.tree), empty, unix.AT_EMPTY_PATH|recursive,
		s.attr(m.attributes()), attrSize).cells(0)
}

// bind takes the source from the init's own copy of the host's mounts and proves that it
// is the held object. The held descriptor itself is of no use there: it leads to a mount
// of the caller's namespace, which open_tree(2) and mount(2) refuse to copy in another one
// (EINVAL, measured up to Linux 6.18; a caller with CAP_SYS_ADMIN could hand over a copy
// of the mount, an ordinary user cannot). Only the working directory is translated by the
// clone, and there is one of those.
func (s *setup) bind(m *Mount, own bool, of held) error {
	i, resolve := s.init, uint64(plain)
	if m.OneMount {
		resolve |= unix.RESOLVE_NO_XDEV
	}
	source := s.before.text(m.Source)
	s.add(StepMount, "openat2", unix.SYS_OPENAT2, atFDCWD, source, s.how(0, resolve), howSize).into(&i.source)
	if err := s.same(StepMount, &i.source, m.Held, of); err != nil {
		return err
	}
	s.clone(m, &i.source)
	s.close(StepMount, &i.source)
	if own {
		s.attach(m.Path, nil)
		return nil
	}
	if err := s.find(m.Path, m.Over, &i.target, of); err != nil {
		return err
	}
	s.attach(m.Path, &i.target)
	return nil
}

func (s *setup) self(m *Mount, of held) error {
	if err := s.find(m.Path, m.Held, &s.init.target, of); err != nil {
		return err
	}
	s.clone(m, &s.init.target)
	s.attach(m.Path, &s.init.target)
	return nil
}

// maskName is where the file behind a mask is made; the name is gone as soon as it is mounted.
const maskName = "/.mask"

// mask covers a directory by an empty file system and anything else by an empty file.
func (s *setup) mask(m *Mount, of held) error {
	i := s.init
	if m.Held == 0 {
		return s.maskInProc(m, of)
	}
	id, err := of(m.Held)
	if err != nil {
		return err
	}
	attrs := (&Mount{}).attributes()
	if id.kind == unix.S_IFDIR {
		mode := strconv.FormatUint(uint64(m.Mode), 8)
		options := []string{"mode=" + mode, "size=" + strconv.Itoa(os.Getpagesize()), "nr_inodes=1"}
		s.newFS(StepMount, "tmpfs", options, attrs, &i.tree)
	} else {
		s.maskFile(maskName, m.Mode)
	}
	if err := s.find(m.Path, m.Held, &i.target, of); err != nil {
		return err
	}
	s.attach(m.Path, &i.target)
	if id.kind != unix.S_IFDIR {
		s.inRoot("unlinkat", unix.SYS_UNLINKAT, maskName, 0)
	}
	return nil
}

// maskFile makes an empty file and clones the mount of it.
func (s *setup) maskFile(at string, mode uint32) {
	s.file(at, mode, nil)
	s.inRoot("open_tree", unix.SYS_OPEN_TREE, at, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC).into(&s.init.tree)
	s.add(StepMount, "mount_setattr", unix.SYS_MOUNT_SETATTR, addr(&s.init.tree), s.before.text(""), unix.AT_EMPTY_PATH,
		s.attr((&Mount{}).attributes()), attrSize).cells(0)
}

// procMaskName is where the file is that covers names of the own proc; its name is there until
// all are covered, since what has no name cannot be mounted again.
const procMaskName = "/.proc-mask"

// maskInProc covers a file of the own proc. There are several, so the mount of the first one
// is cloned: nothing of the host's is on the way to it.
func (s *setup) maskInProc(m *Mount, of held) error {
	if first := s.procMask; first != nil && first.Mode == m.Mode {
		s.inRoot("open_tree", unix.SYS_OPEN_TREE, first.Path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC).into(&s.init.tree)
	} else {
		s.unmask()
		s.maskFile(procMaskName, m.Mode)
		s.procMask = m
	}
	if err := s.find(m.Path, 0, &s.init.target, of); err != nil {
		return err
	}
	s.attach(m.Path, &s.init.target)
	return nil
}

// unmask takes the name away again.
func (s *setup) unmask() {
	if s.procMask != nil {
		s.inRoot("unlinkat", unix.SYS_UNLINKAT, procMaskName, 0)
	}
}

// grant adds a rule for what was made here. The cell is the rule's own descriptor field.
func (s *setup) grant(m *Mount, ruleset int) {
	rule := &unix.LandlockPathBeneathAttr{Allowed_access: m.Access}
	s.grants = append(s.grants, rule)
	s.inRoot("openat2", unix.SYS_OPENAT2, m.Path, s.how(0, plain|unix.RESOLVE_BENEATH), howSize).into(&rule.Parent_fd)
	s.add(StepMount, "landlock_add_rule", unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset),
		unix.LANDLOCK_RULE_PATH_BENEATH, addr(rule), 0)
	s.close(StepMount, &rule.Parent_fd)
}
