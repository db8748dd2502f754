package spawn

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Request says how one program starts. The zero value of every field is the
// narrow choice, except that Ruleset and Filter must be given: a Request without
// them is refused unless Unconfined names the wish.
type Request struct {
	Path string   // absolute; execve(2) gets it as it is
	Argv []string // argv[0] included
	Env  []string // NAME=VALUE; nil is an empty environment

	Ruleset    int // Landlock ruleset descriptor; 0 means none (see Unconfined)
	Filter     []unix.SockFilter
	Unconfined bool // allow a missing Ruleset or Filter

	// LogExec has the kernel's audit log have what the domain of Ruleset refuses after execve
	// too (LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON, Linux 6.15, Landlock ABI 7).
	LogExec bool

	// Listener makes a notification listener of Filter, which the caller gets as
	// Child.Listener, and without which every call that Filter notifies fails with ENOSYS
	// (seccomp_unotify(2)). Linux 5.19, for SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV: before,
	// a signal could take the answer of a call away whose effect had happened. Not with
	// Become.
	Listener bool

	// Mark, if not 0, is in the sixth register of every call that the start makes under Filter,
	// execve(2) and the self-test among them: by it a filter lets those pass that it notifies
	// else, which nobody could answer before the start is over. None of them takes a sixth
	// argument, and the program cannot know it (seccomp.Mark).
	Mark uint64

	Stdio  [3]int // descriptors that become 0, 1 and 2
	Pass   []Pass // further descriptors the program gets
	Dir    int    // descriptor of the working directory; 0 means stay
	Umask  int    // file mode bits that are cleared, as umask(2)
	Limits []Limit

	// FilesLast sets RLIMIT_NOFILE after the self-test, which needs a descriptor: for limits
	// that may be too small for it, and need no right that the start gives up. With a listener
	// it is so in any case.
	FilesLast bool

	Session bool // start in a new session (setsid(2)); false: stay in the caller's process group

	Identity *Identity // become this user; nil: stay
	Groups   bool      // keep supplementary groups; false clears them where the kernel lets us
	Bounding bool      // the caller has CAP_SETPCAP: drop the bounding set

	// Namespaces starts it in namespaces of its own; nil: in the caller's. Bounding is done
	// then in any case, and so is DieWithParent.
	Namespaces *Namespaces

	DieWithParent bool    // SIGKILL when the forking thread ends
	Thread        int     // the number of the thread that has to be the forking one (gettid(2)); 0: any
	Cgroup        int     // descriptor of a cgroup v2 directory to start in; 0: the caller's
	Probes        []Probe // the self-test, after everything is applied

	trial  bool       // see Try
	trials *trials    // see TryCalls
	inject *injection // tests only
}

// ErrMoved says that the caller's goroutine is not on Request.Thread. Nothing was started.
var ErrMoved = errors.New("spawn: the goroutine is on another thread")

// Identity is who the program runs as.
type Identity struct {
	UID, GID uint32
	Groups   []uint32
}

// Pass hands descriptor From of the caller to the program as number To (≥ 3).
type Pass struct{ From, To int }

// Limit is one setrlimit(2) of the program; RLIM_INFINITY is ^uint64(0).
type Limit struct {
	Resource int
	Cur, Max uint64
}

// Probe is one call that the finished confinement must refuse with one of Errnos.
// Name is what a message calls it. Path, if not empty, is the call's argument
// number PathArg.
type Probe struct {
	Name    string
	Nr      uintptr
	Args    [6]uintptr
	Path    string
	PathArg int
	Errnos  []syscall.Errno
}

// injection makes one step fail, or changes the lists in another way.
type injection struct {
	step Step
	edit func(lists []*[]call)
}

// Error says which step failed. Errno is 0 when a self-test call succeeded that
// had to be refused, and ESTALE when a path no longer leads to what was held.
type Error struct {
	Step  Step
	Call  string // the system call, or the self-test's name
	Errno syscall.Errno

	Mount int    // with StepMount: the index in Namespaces.Mounts
	Path  string // with StepMount: that one's Path
}

// Error describes the failure.
func (e *Error) Error() string {
	if e.Step == StepSelfTest {
		if e.Errno == 0 {
			return fmt.Sprintf("self-test: %s was not refused", e.Call)
		}
		return fmt.Sprintf("self-test: %s: unexpected answer: %v", e.Call, e.Errno)
	}
	if e.Path != "" {
		return fmt.Sprintf("%s: %s %q: %v", e.Step, e.Call, e.Path, e.Errno)
	}
	return fmt.Sprintf("%s: %s: %v", e.Step, e.Call, e.Errno)
}

// Unwrap gives the errno to errors.Is.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// check refuses what would start a program that is less confined than it looks.
func (r *Request) check() error {
	switch {
	case r.Path == "" || r.Path[0] != '/':
		return fmt.Errorf("spawn: program %q is not an absolute path", r.Path)
	case len(r.Argv) == 0:
		return fmt.Errorf("spawn: no argument vector for %q", r.Path)
	case !r.Unconfined && (r.Ruleset <= 0 || len(r.Filter) == 0):
		return fmt.Errorf("spawn: no Landlock ruleset or no seccomp filter for %q", r.Path)
	case r.Listener && len(r.Filter) == 0:
		return fmt.Errorf("spawn: no notification listener without a filter for %q", r.Path)
	case len(r.Filter) > unix.BPF_MAXINSNS:
		return fmt.Errorf("spawn: seccomp filter of %d instructions, the kernel takes %d", len(r.Filter), unix.BPF_MAXINSNS)
	}
	seen := make(map[int]bool, len(r.Pass))
	for _, p := range r.Pass {
		if p.To < 3 || p.To > maxPass || seen[p.To] {
			return fmt.Errorf("spawn: descriptor number %d cannot be passed (3 to %d, each once)", p.To, maxPass)
		}
		seen[p.To] = true
	}
	for _, p := range r.Probes {
		// It would wait for a listener that nobody can serve before the vfork is over.
		if r.Listener && p.Nr == unix.SYS_CONNECT {
			return fmt.Errorf("spawn: the self-test %q makes a call that is notified", p.Name)
		}
		if r.Mark != 0 && p.Args[5] != 0 {
			return fmt.Errorf("spawn: the self-test %q makes a call with six arguments, which cannot be marked", p.Name)
		}
	}
	if r.Namespaces != nil {
		return r.Namespaces.check(r.Dir > 0)
	}
	return nil
}

// maxPass bounds the descriptor numbers that a program may be handed.
const maxPass = 255
