package spawn

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// want says which answer of a call lets the list go on.
type want uint8

const (
	wantZero    want = iota // no error
	wantZeroOr              // no error, or one of errs
	wantRefused             // one of errs; success is the failure
	wantValue               // result equal to errs[0]
	wantCell                // no error; the result goes to the cell at errs[0]

	// Only in the init's lists.
	wantSame // no error; the object at errs[0] is the one at errs[1], else ESTALE
	wantWipe // no call at all: a[1] bytes at a[0] become zero

	// Only in a trial's list; see TryCalls.
	wantAnswer // any; it goes to the cell at errs[0]
	wantEnd    // no call at all: the list ends here, as if it had failed
)

// call is one raw system call of the child. It holds no pointer that the garbage
// collector must see: what its arguments point to is kept alive by job.
type call struct {
	nr    uintptr
	a     [6]uintptr
	errs  [4]uintptr
	step  Step
	want  want
	cell  uint8  // bit n: a[n] is the address of a cell; only in the init's lists and in a trial's
	run   uint8  // n+1: once more for every a[n] up to maxRun; only in the init's lists
	entry int16  // 1 + the index in Namespaces.Mounts; 0: none
	name  string // for messages; the child never reads it
}

// job is a prepared start: the list and all that its addresses point into.
type job struct {
	calls     []call
	path      *byte
	argv, env []*byte
	strings   []*byte
	texts     []byte // what is left of a block for short texts
	limits    [][]unix.Rlimit
	groups    []uint32
	prog      unix.SockFprog
	action    [4]uint64 // struct kernel_sigaction, all zero: SIG_DFL, no flags, empty mask
	mask      uint64
	capHdr    unix.CapUserHeader
	capData   [2]unix.CapUserData
	pidfd     int32
	listener  int32 // the child's, in the table of descriptors that it shares until then
	clone     cloneArgs
}

// newJob puts a job on the heap: its parts are reached by number, and only the heap
// stays where it is. Not inlined, so that the compiler cannot decide otherwise.
//
//go:noinline
func newJob() *job { return &job{pidfd: -1, listener: -1} }

func (j *job) add(step Step, name string, nr uintptr, a ...uintptr) *call {
	c := call{nr: nr, step: step, name: name}
	copy(c.a[:], a)
	j.calls = append(j.calls, c)
	return &j.calls[len(j.calls)-1]
}

func (c *call) orErrno(errs ...syscall.Errno) {
	c.want = wantZeroOr
	for i, e := range errs {
		c.errs[i] = uintptr(e)
	}
}

// build writes the list for r. fdOf maps a descriptor of the caller to the number
// it has in the child while the list runs; parent is the process that must still be
// the child's parent. It makes no system call.
func (j *job) build(r *Request, fdOf func(int) int, parent int) error {
	if err := j.blocks(r); err != nil {
		return err
	}
	if r.Session {
		j.add(StepSession, "setsid", unix.SYS_SETSID)
	}
	if r.Namespaces == nil { // else the init has done it, and handed it down
		j.signals()
	}
	j.add(StepUmask, "umask", unix.SYS_UMASK, uintptr(r.Umask))
	switch {
	case !r.Listener && !r.FilesLast:
		j.setLimits(r.Limits)
		j.descriptors(r, fdOf, 0)
	case !r.Listener || r.Namespaces != nil:
		// With both in the init's table of descriptors: it keeps the listener, and needs nothing
		// that is put in place here. execve(2) gives the command its own.
		j.setLimits(r.limits(false))
		j.descriptors(r, fdOf, 0)
	default:
		j.setLimits(r.limits(false))
	}
	j.identity(r)
	switch {
	case r.Namespaces != nil:
		// The init is there already; whether this identity may be, the kernel looks here.
		j.add(StepDirectory, "chdir", unix.SYS_CHDIR, j.text("."))
	case r.Dir > 0:
		j.add(StepDirectory, "fchdir", unix.SYS_FCHDIR, uintptr(fdOf(r.Dir)))
	}
	if r.DieWithParent && r.Namespaces == nil {
		j.add(StepDeathSignal, "prctl", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
		c := j.add(StepDeathSignal, "getppid", unix.SYS_GETPPID)
		c.want, c.errs[0] = wantValue, uintptr(parent)
	}
	j.confine(r, fdOf)
	confined := len(j.calls)
	if r.Listener {
		// The number of the listener had to be free under the caller's limit.
		j.setLimits(r.limits(true))
	}
	if r.Listener && r.Namespaces == nil {
		// Now that the caller has the listener, the table of descriptors is the child's own
		// (close_range(2), CLOSE_RANGE_UNSHARE).
		j.descriptors(r, fdOf, unix.CLOSE_RANGE_UNSHARE)
	}
	j.probes(r)
	if r.trials != nil {
		return j.trial(r.trials)
	}
	if r.FilesLast && !r.Listener {
		j.setLimits(r.limits(true))
	}
	j.add(StepMask, "rt_sigprocmask", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, addr(&j.mask), 0, 8)
	j.add(StepExec, "execve", unix.SYS_EXECVE, addr(j.path), addr(&j.argv[0]), addr(&j.env[0]))
	for i := range j.calls[confined:] {
		j.calls[confined+i].a[5] = uintptr(r.Mark)
	}
	return nil
}

// blocks turns the strings into what execve(2) and the probes point to.
func (j *job) blocks(r *Request) (err error) {
	if j.path, err = syscall.BytePtrFromString(r.Path); err != nil {
		return err
	}
	if j.argv, err = syscall.SlicePtrFromStrings(r.Argv); err != nil {
		return err
	}
	j.env, err = syscall.SlicePtrFromStrings(r.Env)
	return err
}

// signals resets every disposition: execve(2) keeps SIG_IGN, and a caller that
// ignores SIGPIPE or SIGCHLD would hand that to the program (signal(7)). It sets
// the handler of the child only; the caller's threads have their own copy.
func (j *job) signals() {
	for sig := 1; sig <= 64; sig++ {
		if sig == int(unix.SIGKILL) || sig == int(unix.SIGSTOP) {
			continue
		}
		j.add(StepSignals, "rt_sigaction", unix.SYS_RT_SIGACTION, uintptr(sig), addr(&j.action), 0, 8)
	}
}

// descriptors marks everything above 2 close-on-exec, whatever its number and
// whatever RLIMIT_NOFILE says now (close_range(2), Linux 5.9; CLOSE_RANGE_CLOEXEC
// 5.11), and then puts the wanted ones in place. A kernel or an outer filter
// without it ends the start: guessing which descriptors are open fails open.
func (j *job) descriptors(r *Request, fdOf func(int) int, flags uintptr) {
	j.add(StepDescriptors, "close_range", unix.SYS_CLOSE_RANGE, 3, uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC|flags)
	for to, from := range r.Stdio {
		if fdOf(from) == to {
			j.add(StepDescriptors, "fcntl", unix.SYS_FCNTL, uintptr(to), unix.F_SETFD, 0)
			continue
		}
		j.add(StepDescriptors, "dup3", unix.SYS_DUP3, uintptr(fdOf(from)), uintptr(to), 0)
	}
	if r.Namespaces != nil {
		j.reopen(&r.Namespaces.Reopen)
	}
	for _, p := range r.Pass {
		j.add(StepDescriptors, "dup3", unix.SYS_DUP3, uintptr(fdOf(p.From)), uintptr(p.To), 0)
	}
}

// reopen replaces standard descriptors. All three are open here, so a new one gets the
// number that was just closed: it is the lowest.
func (j *job) reopen(list *[3]Reopen) {
	for fd, dev := range list {
		if dev.Path == "" {
			continue
		}
		j.add(StepDescriptors, "close", unix.SYS_CLOSE, uintptr(fd))
		cwd := unix.AT_FDCWD
		c := j.add(StepDescriptors, "openat", unix.SYS_OPENAT, uintptr(cwd), j.text(dev.Path), uintptr(dev.Flags|unix.O_NOCTTY), 0)
		c.want, c.errs[0] = wantValue, uintptr(fd)
	}
}

// lastCap bounds the capability numbers that are dropped from the bounding set; the
// kernel answers EINVAL above its own last one (capabilities(7)).
const lastCap = 63

func (j *job) bounding() {
	for c := uintptr(0); c <= lastCap; c++ {
		j.add(StepBounding, "prctl", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c).orErrno(unix.EINVAL)
	}
}

func (j *job) identity(r *Request) {
	if r.Bounding && r.Namespaces == nil {
		j.bounding()
	}
	j.add(StepBounding, "prctl", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	if id := r.Identity; id != nil {
		j.groups = append([]uint32{}, id.Groups...)
		j.add(StepGroups, "setgroups", unix.SYS_SETGROUPS, uintptr(len(j.groups)), addrOf(j.groups))
		gid, uid := uintptr(id.GID), uintptr(id.UID)
		j.add(StepIdentity, "setresgid", unix.SYS_SETRESGID, gid, gid, gid)
		j.add(StepIdentity, "setresuid", unix.SYS_SETRESUID, uid, uid, uid)
	} else if !r.Groups {
		// An ordinary user may not change his groups: EPERM leaves them, which the
		// plan declares.
		j.add(StepGroups, "setgroups", unix.SYS_SETGROUPS, 0, 0).orErrno(unix.EPERM)
	}
	// A kernel or an outer filter without keyrings has nothing to protect (keyctl(2)).
	j.add(StepKeyring, "keyctl", unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0).orErrno(unix.EPERM, unix.ENOSYS)
	j.capHdr = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	j.add(StepCapabilities, "capset", unix.SYS_CAPSET, addr(&j.capHdr), addr(&j.capData[0]))
}

// confine is the irreversible part; Landlock first, because the filter may refuse
// its calls.
func (j *job) confine(r *Request, fdOf func(int) int) {
	j.add(StepNoNewPrivs, "prctl", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	if r.Ruleset > 0 {
		flags := uintptr(0)
		if r.LogExec {
			// Not what the start itself is refused: its self-test.
			flags = unix.LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON | unix.LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF
		}
		j.add(StepLandlock, "landlock_restrict_self", unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fdOf(r.Ruleset)), flags)
	}
	if len(r.Filter) > 0 {
		j.prog = unix.SockFprog{Len: uint16(len(r.Filter)), Filter: &r.Filter[0]}
		c := j.add(StepSeccomp, "seccomp", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, addr(&j.prog))
		if r.Listener {
			c.a[1] = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
			c.into(&j.listener)
		}
	}
}

func (j *job) probes(r *Request) {
	for _, p := range r.Probes {
		c := j.add(StepSelfTest, p.Name, p.Nr, p.Args[:]...)
		c.want = wantRefused
		for i, e := range p.Errnos {
			c.errs[i] = uintptr(e)
		}
		if p.Path == "" {
			continue
		}
		c.a[p.PathArg] = j.text(p.Path)
	}
}

// text keeps s for the child and gives its address. A block for many texts saves the
// allocations.
func (j *job) text(s string) uintptr {
	if len(s) >= len(j.texts) {
		j.texts = make([]byte, max(textBlock, len(s)+1))
		j.strings = append(j.strings, &j.texts[0]) // keeps the whole block
	}
	at := addr(&j.texts[0])
	n := copy(j.texts, s)
	j.texts = j.texts[n+1:] // a fresh block is zero: the text ends there
	return at
}

// textBlock is as much as the self-test of a usual start needs, in bytes.
const textBlock = 256

// addr gives the address of something that job keeps alive. Heap objects do not
// move, so the number stays right; the child has the same memory at the same place.
func addr[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func addrOf[T any](s []T) uintptr {
	if len(s) == 0 {
		return 0
	}
	return addr(&s[0])
}
