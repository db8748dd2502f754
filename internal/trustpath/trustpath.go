package trustpath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is the kernel's own limit of symbolic links in one lookup
// (path_resolution(7)).
const maxLinks = 40

// Rule says who may be able to change a path's components. The zero Rule trusts
// no owner and so refuses every path.
type Rule struct {
	// Owners are the users that may own a component. An owner can always change
	// the mode, so the write bits of an owner do not matter.
	Owners []uint32
	// Groups are the groups for which a group write bit refuses.
	Groups []uint32
	// AnyGroup makes every group write bit refuse, whatever the group.
	AnyGroup bool
	// Sticky lets others write to a directory with the sticky bit: what it holds is judged by
	// its owner, and nobody else can replace that (unlink(2), EPERM). Where the party that is
	// not trusted may be of the same user, its directories belong into Trees.
	Sticky bool
	// Trees are what that party can write to whatever the modes say, with everything below: a
	// walk that comes to one refuses.
	Trees []ID
}

// ID is which file or directory it is, under any name (inode(7)).
type ID struct{ Dev, Ino uint64 }

// Identify says what path names now. Links are followed; errors are *fs.PathError.
func Identify(path string) (ID, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return ID{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return ID{Dev: st.Dev, Ino: st.Ino}, nil
}

// IdentifyFile says which file is open.
func IdentifyFile(f *os.File) (ID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return ID{}, &fs.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return ID{Dev: st.Dev, Ino: st.Ino}, nil
}

// Error is a refusal. It names the component at which the walk ended, which may
// lie behind a symbolic link, and answers to fs.ErrPermission.
type Error struct {
	Component string // absolute
	Reason    string // a phrase without a subject: "is writable by others (mode 0777)"
}

// Error returns the component, quoted, and the reason.
func (e *Error) Error() string { return strconv.Quote(e.Component) + " " + e.Reason }

// Unwrap makes the refusal answer to errors.Is(err, fs.ErrPermission).
func (e *Error) Unwrap() error { return fs.ErrPermission }

// meta is what the judgement needs of one component.
type meta struct {
	id       ID
	uid, gid uint32
	mode     uint32 // file type and permission bits, as stat(2)
	acl      bool   // an access control list beyond the mode is set
}

// judge decides about one component. It is pure. An empty string accepts.
func (r Rule) judge(m meta) string {
	if slices.Contains(r.Trees, m.id) {
		return "is writable from inside a sandbox"
	}
	if !slices.Contains(r.Owners, m.uid) {
		return "is owned by uid " + strconv.FormatUint(uint64(m.uid), 10)
	}
	if m.mode&unix.S_IFMT == unix.S_IFLNK {
		return "" // a link's mode is always 0777 and means nothing (symlink(7))
	}
	mode := " (mode 0" + strconv.FormatUint(uint64(m.mode&0o7777), 8) + ")"
	if m.mode&unix.S_IFMT == unix.S_IFDIR && m.mode&unix.S_ISVTX != 0 && r.Sticky {
		return "" // it is for what it holds to be owned by somebody who is trusted
	}
	if m.mode&0o002 != 0 {
		return "is writable by others" + mode
	}
	if m.mode&0o020 == 0 {
		return "" // with an access control list this bit is its mask (acl(5))
	}
	if r.AnyGroup || slices.Contains(r.Groups, m.gid) {
		return "is writable by gid " + strconv.FormatUint(uint64(m.gid), 10) + mode
	}
	if m.acl {
		return "has an access control list that lets others than its owner write" + mode
	}
	return ""
}

// Open walks the absolute path from the root directory and returns an O_PATH
// descriptor of what it names. Symbolic links are followed, and what they lead
// through is judged too. A refusal is an *Error, a failing call an
// *fs.PathError with the component at which it failed.
func Open(path string, rule Rule) (*os.File, error) {
	root, err := openat(unix.AT_FDCWD, "/", "/")
	if err != nil {
		return nil, err
	}
	defer closeFD(root)
	return openBelow(root, path, rule)
}

// openBelow is Open with another root directory, which is judged as well.
func openBelow(root int, path string, rule Rule) (*os.File, error) {
	if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	w := walk{root: root, cur: -1, rule: rule, todo: components(path)}
	defer func() { closeFD(w.cur) }()
	if err := w.restart(); err != nil {
		return nil, err
	}
	for len(w.todo) > 0 {
		if err := w.step(); err != nil {
			return nil, err
		}
	}
	file := os.NewFile(uintptr(w.cur), path)
	w.cur = -1
	return file, nil
}

// ReadFile opens path as Open does and reads it, at most limit bytes; a longer
// file, or one that is not regular, is an error. It needs /proc.
func ReadFile(path string, rule Rule, limit int64) ([]byte, error) {
	handle, err := Open(path, rule)
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(handle.Fd()), &st); err != nil {
		return nil, os.NewSyscallError("fstat", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &Error{Component: path, Reason: "is not a regular file"}
	}
	file, err := os.Open(procPath(int(handle.Fd())))
	if err != nil {
		return nil, errors.Join(errors.New("open "+strconv.Quote(path)), err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, &Error{Component: path, Reason: "is longer than " + strconv.FormatInt(limit, 10) + " bytes"}
	}
	return text, nil
}
