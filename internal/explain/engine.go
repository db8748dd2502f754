package explain

import (
	"errors"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/internal/notify"
	"brainbox/launcher"
	"brainbox/seccomp"
)

// Judge says what a plan makes of an operation. It must be pure and quick, and must not keep
// the strings of the operation: of one that is allowed they are read into memory that is used
// again.
type Judge interface {
	Judge(op launcher.Operation) launcher.Judgement
}

// quickJudge is what a [Judge] may have besides: only whether an operation is allowed, without
// the words for it.
type quickJudge interface {
	Allows(op launcher.Operation) bool
}

// hiddenJudge is what a [Judge] may have besides: for what only the host has.
type hiddenJudge interface {
	Hidden(op launcher.Operation) launcher.Judgement
}

// Config says what is watched, and for whom.
type Config struct {
	Judge Judge
	Sink  Sink

	// Uses hands what is allowed to the sink, too. Without it an allowed operation is dropped
	// at once, which is quicker.
	Uses bool
	// Inside says that the program has a file system of its own (isolation namespaces): what
	// is absent there and present on the host is refused by the plan.
	Inside bool
	// Movable says that the filter lets the program change its root folder or its mounts, see
	// [Movable]: names are then found below the root of each caller, and only there.
	Movable bool
	// OtherUser says that the program runs as another user than this process: what the mode of
	// a file allows is reckoned then, and no better than [Likely].
	OtherUser bool
	// OwnNetwork says that the program has a network of its own, with a loopback of its own.
	OwnNetwork bool
	// Abstract says that the program reaches no abstract Unix socket outside of its domain
	// (LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, Linux 6.12).
	Abstract bool
	// NoNames says that the program has a network of its own in which nobody looks names up: a
	// lookup is told then, although it is no connection that the plan refuses.
	NoNames bool
}

// Engine tells a sink what a plan makes of each call. It implements [launcher.Observer].
type Engine struct {
	cfg    Config
	budget budget
	own    credentials

	allows func(launcher.Operation) bool
	judge  func(launcher.Operation) launcher.Judgement // the same as Config.Judge, each operation once
	hidden func(launcher.Operation) launcher.Judgement

	valid func(*notify.Call) bool

	mu     sync.Mutex
	root   int // of the program, if it cannot change it; -1: not known yet
	closed bool
	bound  map[string]bool // the abstract names of the program's own

	calls []call // by number
	pool  sync.Pool
}

// call is one observed system call.
type call struct {
	name string
	see  func(*look)
}

var _ launcher.Observer = (*Engine)(nil)

// New makes an engine. Linux 5.12 (RESOLVE_CACHED, openat2(2)); the listener asks for more.
func New(cfg Config) (*Engine, error) {
	if cfg.Judge == nil || cfg.Sink == nil {
		return nil, errors.New("explain: a judge and a sink are needed")
	}
	e := &Engine{
		cfg: cfg, root: -1, bound: map[string]bool{}, budget: newBudget(patience, allPatience),
		valid: (*notify.Call).Valid, judge: (&memo{ask: cfg.Judge.Judge}).judge,
	}
	e.allows = func(op launcher.Operation) bool { return cfg.Judge.Judge(op).Verdict == launcher.Allowed }
	if q, ok := cfg.Judge.(quickJudge); ok {
		e.allows = q.Allows
	}
	e.hidden = e.judge
	if h, ok := cfg.Judge.(hiddenJudge); ok {
		e.hidden = (&memo{ask: h.Hidden}).judge
	}
	e.pool.New = func() any { return newLook(e) }
	e.own, _ = readCredentials(unix.Gettid())
	if !cfg.Inside && !cfg.Movable {
		fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		e.root = fd
	}
	for name, see := range observed() {
		nr, ok := seccomp.Number(runtime.GOARCH, name)
		if !ok {
			continue // arm64 has only the newer ones
		}
		for len(e.calls) <= int(nr) {
			e.calls = append(e.calls, call{})
		}
		e.calls[nr] = call{name: name, see: see}
	}
	return e, nil
}

// Close gives the root of the program back. No call may be under way.
func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.root >= 0 {
		unix.Close(e.root)
		e.root = -1
	}
}

// observed are the calls that See understands.
func observed() map[string]func(*look) {
	return map[string]func(*look){
		"open": seeOpen, "openat": seeOpenat, "openat2": seeOpenat2, "creat": seeCreat,
		"execve": seeExecve, "execveat": seeExecveat,
		"connect": seeConnect, "bind": seeBind,
		"link": seeLink, "linkat": seeLinkat, "symlink": seeSymlink, "symlinkat": seeSymlinkat,
		"rename": seeRename, "renameat": seeRenameat, "renameat2": seeRenameat2,
		"mkdir": seeMkdir, "mkdirat": seeMkdirat, "mknod": seeMknod, "mknodat": seeMknodat,
		"unlink": seeUnlink, "unlinkat": seeUnlinkat, "rmdir": seeRmdir, "truncate": seeTruncate,
	}
}

// See implements [launcher.Observer].
func (e *Engine) See(c *notify.Call) {
	if uint(c.Nr) >= uint(len(e.calls)) || e.calls[c.Nr].see == nil {
		return
	}
	l := e.pool.Get().(*look)
	l.begin(c, e.calls[c.Nr].name)
	e.calls[c.Nr].see(l)
	l.end()
	e.pool.Put(l)
}

// Refuse implements [launcher.Observer].
func (e *Engine) Refuse(c *notify.Call, errno syscall.Errno) {
	name := seccomp.Name(runtime.GOARCH, uint32(c.Nr))
	if name == "" {
		name = "call " + itoa(c.Nr)
	}
	call := name
	if name == "socket" || name == "socketpair" {
		call = launcher.SocketCall(name, c.Args)
	}
	op := launcher.Operation{Op: launcher.OpSyscall, Call: call}
	j := e.judge(op)
	if j.Verdict == launcher.Undecided {
		j.Reason = "the filter refuses it with these arguments"
	}
	j.Verdict, j.Errno = launcher.Refused, errno // with these arguments, whatever others would give
	e.cfg.Sink.Saw(&Seen{Operation: op, Judgement: j, Certainty: Proven, Call: call, TID: c.TID})
}

// Movable reports whether a filter lets a program change its root folder or its mounts, or
// make the namespaces in which it may: chroot(2), pivot_root(2), mount(2) and what is like
// them, setns(2), unshare(2) and clone(2) with the flags for that.
func Movable(p seccomp.Program, arch uint32) bool {
	if len(p) == 0 {
		return true
	}
	const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	for name, arg := range map[string]uint64{
		"chroot": 0, "pivot_root": 0, "setns": unix.CLONE_NEWNS, "mount": 0, "move_mount": 0, "umount2": 0,
		"unshare": namespaces, "clone": namespaces, "clone3": 0,
	} {
		nr, ok := seccomp.Number(runtime.GOARCH, name)
		if !ok {
			continue
		}
		if passes(p.Eval(seccomp.Data{Nr: nr, Arch: arch, Args: [6]uint64{arg, arg}})) {
			return true
		}
	}
	return false
}

func passes(a seccomp.Action) bool {
	switch a {
	case seccomp.Allow, seccomp.Log, seccomp.Notify, seccomp.Trace:
		return true
	default:
		return false
	}
}
