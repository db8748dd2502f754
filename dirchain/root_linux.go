package dirchain

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Options of a root. The zero value protects nothing, and is else the strictest.
type Options struct {
	// Protect names places beneath the root that no operation may change, create,
	// move or remove, nor anything in them: relative paths as [SplitPath] takes
	// them, existing or not. They are compared by name and by identity: that of what
	// was there when the root was opened, or else when an operation first saw it, and
	// that of what was seen there last. What came and was moved away, with a directory
	// above it, between two operations is known by its name alone. A link is a place
	// as itself, and a path through one protects nothing: name what it leads to
	// too ([Root.Resolve]). Each place costs an operation six system calls or more.
	Protect []string
	// MaxFile is the most bytes of a file that is written, or read to know its
	// hash. 0 means [DefaultMaxFile].
	MaxFile int64
	// SkipSync leaves out fsync: after a power cut a write that was reported as
	// done may be lost, or the file empty.
	SkipSync bool
	// NoOpenat2 walks with openat(2) as on kernels before Linux 5.6. It is not weaker.
	NoOpenat2 bool
	// Trace, when not nil, is told each system call by its name before it is made,
	// and the points "fill", "publish" and "published" of a write. An error fails the
	// call with it. It is a seam for diagnostics and for tests, which count calls
	// or let one fail; it is called by any number of goroutines.
	Trace func(call string) error
}

// DefaultMaxFile is the limit of a file in bytes when [Options] names none.
const DefaultMaxFile = 64 << 20

// Root is one directory, opened once. Use [OpenRoot] or [NewRoot]; the zero value
// is closed.
type Root struct {
	calls
	fd      int
	id      Identity
	path    string // "" when only a descriptor is known
	opts    Options
	old     bool  // without openat2
	kind    error // why nothing may be written here
	protect []*place

	publish chan struct{} // full while there is a publication: see Root.lock
	mu      sync.Mutex
	users   int // operations and held targets; the root itself is one
	closed  bool
}

// OpenRoot opens the directory path, following links this once, and remembers
// where it is: an operation fails with [ErrChanged] once something else is there.
// The empty path is fs.ErrNotExist, as for open(2).
func OpenRoot(path string, opts Options) (*Root, error) {
	if path == "" { // which filepath.Abs takes for the working directory
		return nil, named("open", path, unix.ENOENT)
	}
	real, err := filepath.Abs(path)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return nil, named("open", path, err)
	}
	fd, err := unix.Open(real, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, named("open", path, os.NewSyscallError("open", err))
	}
	return newRoot(fd, real, path, opts)
}

// NewRoot takes a directory that the caller holds, and opens it once more: a
// duplicate would share the lock of the directory. Where the directory is visible
// is not known and not compared; what is beneath it is.
func NewRoot(dir *os.File, opts Options) (*Root, error) {
	if dir == nil {
		return nil, named("open", "", fs.ErrInvalid)
	}
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, named("open", dir.Name(), os.NewSyscallError("openat", err))
	}
	return newRoot(fd, "", dir.Name(), opts)
}

func newRoot(fd int, real, name string, opts Options) (*Root, error) {
	if opts.MaxFile <= 0 {
		opts.MaxFile = DefaultMaxFile
	}
	r := &Root{calls: calls{hook: opts.Trace}, fd: fd, path: real, opts: opts, users: 1, publish: make(chan struct{}, 1)}
	if err := r.look(); err != nil {
		_ = r.Close()
		return nil, named("open", name, err)
	}
	return r, nil
}

// look learns what the root is.
func (r *Root) look() error {
	st, err := r.statAt(r.fd, "")
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return ErrNotDirectory
	}
	r.id = st.ID
	if err = r.visible(); err != nil {
		return err
	}
	if r.kind, err = r.writable(r.fd); err != nil {
		return err
	}
	if r.old, err = r.withoutOpenat2(); err != nil {
		return err
	}
	return r.openProtected()
}

// withoutOpenat2 tries it by doing. Anything but "there is no such call" (ENOSYS,
// or EPERM of an outer filter, which the call itself does not answer for a
// directory that is open) is an error: guessing would be a way to be talked
// into the older walk, though that one is as strong.
func (r *Root) withoutOpenat2() (bool, error) {
	if r.opts.NoOpenat2 {
		return true, nil
	}
	fd, err := r.openat2(r.fd, ".", unix.O_PATH|unix.O_DIRECTORY, 0)
	switch {
	case err == nil:
		r.close(fd)
		return false, nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return true, nil
	}
	return false, err
}

// visible compares what is at the root's path with what is held.
func (r *Root) visible() error {
	if r.path == "" {
		return nil
	}
	st, err := r.statAt(unix.AT_FDCWD, r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return because(ErrChanged, "the root is no longer where it was")
	case err != nil:
		return err
	case st.ID != r.id:
		return because(ErrChanged, "something else is where the root was")
	}
	return nil
}

// Identity is that of the root directory.
func (r *Root) Identity() Identity { return r.id }

// Path is the resolved path that the root was opened at, or empty.
func (r *Root) Path() string { return r.path }

// Writable says why nothing may be written beneath this root, or nil.
func (r *Root) Writable() error { return r.kind }

// acquire keeps the descriptor open until the matching release.
func (r *Root) acquire() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.users == 0 { // nobody uses the zero value, whose descriptor would be the standard input
		return fs.ErrClosed
	}
	r.users++
	return nil
}

func (r *Root) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users--; r.users == 0 {
		r.close(r.fd)
		r.closeProtected()
	}
}

// Close ends the use of the root. Running operations and held targets finish
// first; new ones are fs.ErrClosed. A second Close is fs.ErrClosed too.
func (r *Root) Close() error {
	r.mu.Lock()
	if r.closed || r.users == 0 {
		r.mu.Unlock()
		return named("close", r.path, fs.ErrClosed)
	}
	r.closed = true
	r.mu.Unlock()
	r.release()
	return nil
}
