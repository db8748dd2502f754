package launcher

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// unstaged says why the trial of an operation cannot be prepared.
type unstaged struct{ text string }

func (u *unstaged) Error() string { return u.text }

// stagePrefix begins the names of what a trial makes and removes again.
const stagePrefix = ".brainbox-"

// stage is what lies beside the paths of an operation while it is tried.
type stage struct {
	folders []int // O_PATH
	laid    []laid
}

// laid is one name that is removed at the end, whoever made it.
type laid struct {
	folder int
	name   string
}

// staged tries an operation, or what stands for it.
func staged(op *Operation, try func(Operation) ([]Tried, error)) (t Tried, err error) {
	s := &stage{}
	defer func() { err = errors.Join(err, s.remove()) }()
	stand, err := s.prepare(*op)
	if err != nil {
		return Tried{}, err
	}
	list, err := try(stand)
	if err != nil {
		return Tried{}, err
	}
	return list[0], nil
}

// prepare gives the operation that stands for op: itself where it changes nothing, else the
// same on names of ours in the same folders.
func (s *stage) prepare(op Operation) (Operation, error) {
	switch op.Op {
	case OpRead, OpWrite:
		return op, mayOpen(op.Path)
	case OpExec, OpConnect, OpBind, OpUnix, OpSyscall:
		return op, nil
	case OpTruncate:
		op.Kind = KindRegular
		return op, s.lay(&op.Path, op.Kind)
	case OpCreate:
		return op, s.lay(&op.Path, KindAbsent)
	case OpRemove:
		return op, s.lay(&op.Path, op.Kind)
	case OpRename, OpLink:
		if err := s.lay(&op.Path, op.Kind); err != nil {
			return op, err
		}
		return op, s.lay(&op.Dest, op.Over)
	}
	return op, &unstaged{"nobody knows how to try it"}
}

// mayOpen refuses what somebody would notice being opened: a device may do something, and
// whoever waits at the other end of a FIFO goes on (fifo(7)).
func mayOpen(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nil //nolint:nilerror // the trial itself says so
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return &unstaged{"opening a FIFO is noticed at its other end"}
	case unix.S_IFBLK:
		return &unstaged{"opening a device may do something to it"}
	case unix.S_IFCHR:
		if !harmless(path) {
			return &unstaged{"opening a device may do something to it"}
		}
	}
	return nil
}

func harmless(path string) bool {
	for _, name := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		if path == name {
			return true
		}
	}
	return false
}

// lay puts something of a kind beside path, under a name of ours, and makes that the path.
// For KindAbsent it only keeps the name, for the trial to make.
func (s *stage) lay(path *string, kind FileKind) error {
	dir := filepath.Dir(*path)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, dir, &how)
	if err != nil {
		return &unstaged{quotePath(dir) + ": " + err.Error()}
	}
	s.folders = append(s.folders, fd)
	id, err := newRunName()
	if err != nil {
		return err
	}
	name := stagePrefix + id
	if err := layAt(fd, name, kind); err != nil {
		return &unstaged{"nothing can be laid in " + quotePath(dir) + " to try it on: " + err.Error()}
	}
	s.laid = append(s.laid, laid{fd, name})
	*path = beside(*path, name)
	return nil
}

// layAt never follows or replaces anything: each of these calls wants the name to be free.
func layAt(dir int, name string, kind FileKind) error {
	switch kind {
	case KindAbsent:
		return nil
	case KindRegular:
		return unix.Mknodat(dir, name, unix.S_IFREG|0o600, 0)
	case KindFolder:
		return unix.Mkdirat(dir, name, 0o700)
	case KindLink:
		return unix.Symlinkat("nowhere", dir, name)
	case KindSocket:
		return unix.Mknodat(dir, name, unix.S_IFSOCK|0o600, 0)
	case KindFIFO:
		return unix.Mknodat(dir, name, unix.S_IFIFO|0o600, 0)
	case KindChar, KindBlock:
	}
	return errors.New("a device cannot be made")
}

// remove takes away what is left of what was laid, or was made by the trial.
func (s *stage) remove() error {
	var all error
	for _, l := range s.laid {
		err := unix.Unlinkat(l.folder, l.name, 0)
		if errors.Is(err, unix.EISDIR) {
			err = unix.Unlinkat(l.folder, l.name, unix.AT_REMOVEDIR)
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			all = errors.Join(all, errors.New("what was laid for the trial stays, "+quotePath(l.name)+": "+err.Error()))
		}
	}
	for _, fd := range s.folders {
		unix.Close(fd)
	}
	return all
}
