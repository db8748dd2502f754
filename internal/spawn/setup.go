package spawn

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setup is a prepared start in namespaces: the init's list up to the command, the
// command's own list, and the init's list once the command runs.
type setup struct {
	before, command, after *job
	entry                  int16 // of the calls being added; see call
	init                   *initState
	places                 *places
	attrs                  []*unix.MountAttr
	hows                   []*unix.OpenHow
	idents                 []*identity
	grants                 []*unix.LandlockPathBeneathAttr
	ifreq                  *ifreq
	data                   [][]byte
	procMask               *Mount // the first mask in the own proc
}

// held is what is known of a held descriptor.
type held func(fd int) (identity, error)

// newSetup keeps apart what the calls point to, as newJob does.
//
//go:noinline
func newSetup() *setup {
	return &setup{before: newJob(), command: newJob(), after: newJob(), init: &initState{}}
}

// check refuses what cannot be meant. It makes no system call.
func (n *Namespaces) check(dirHeld bool) error {
	switch {
	case (n.Loopback || n.Network != nil) && !n.Net:
		return errors.New("spawn: loopback, or something to do in the network, without an own one")
	case len(n.Hostname) > 64: // __NEW_UTS_LEN
		return errors.New("spawn: host name of more than 64 bytes")
	case n.Dir != "" && !clean(n.Dir) || n.Dir == "" && dirHeld:
		return errors.New("spawn: the working directory is no clean path inside")
	}
	return checkMounts(n.Mounts)
}

func (s *setup) add(step Step, name string, nr uintptr, a ...uintptr) *call {
	c := s.before.add(step, name, nr, a...)
	c.entry = s.entry
	return c
}

// cells marks arguments whose value is only known when the list runs.
func (c *call) cells(args ...int) *call {
	for _, n := range args {
		c.cell |= 1 << n
	}
	return c
}

// upTo makes the call once for each value of argument n, from the one it has to 64.
func (c *call) upTo(n int) *call {
	c.run = uint8(n + 1)
	return c
}

// into keeps the result, a descriptor, for later calls.
func (c *call) into(cell *int32) {
	c.want, c.errs[0] = wantCell, addr(cell)
}

func (s *setup) close(step Step, cell *int32) {
	s.add(step, "close", unix.SYS_CLOSE, addr(cell)).cells(0)
}

// build writes the lists. wipe is the memory that holds the caller's arguments and
// environment, sock the init's end of the connection to the caller.
func (s *setup) build(r *Request, fdOf func(int) int, sock int, wipe []span, of held) error {
	n := r.Namespaces
	s.places = newPlaces(len(n.Mounts))
	s.before.calls = make([]call, 0, 64+callsFor(n.Mounts)) // what is not used is copied by the clone
	s.before.texts = make([]byte, 512+64*len(n.Mounts))
	s.before.strings = append(s.before.strings, &s.before.texts[0])
	need := s.needed(r, fdOf, sock)
	s.begin(need, sock, wipe)
	if err := s.root(n, fdOf(r.Ruleset), of); err != nil {
		return err
	}
	if r.trial {
		s.conclude(sock)
		return nil
	}
	if n.Hostname != "" {
		s.add(StepHostname, "sethostname", unix.SYS_SETHOSTNAME, s.before.text(n.Hostname), uintptr(len(n.Hostname)))
	}
	if n.Loopback {
		s.loopback()
	}
	s.pivot()
	if err := s.enter(n.Dir, r.Dir, of); err != nil {
		return err
	}
	s.giveUp()
	s.share(r, need, sock)
	// Above the numbers that the pidfd and the listener can get: the lowest free ones.
	s.finish(slices.Max(need)+3, sock, r.Listener)
	return s.command.build(r, fdOf, 0)
}

// callsFor is about how many calls the mounts take.
func callsFor(mounts []Mount) int {
	calls := 0
	for i := range mounts {
		switch m := &mounts[i]; m.Kind {
		case KindDir, KindSymlink, KindSeal:
			calls++
		case KindFile, KindGrant:
			calls += 3
		case KindFS:
			calls += 8 + len(m.Options)
		case KindBind, KindSelf:
			calls += 8
		case KindMask:
			calls += 14
		}
	}
	return calls
}

// needed lists the descriptors that the command's list uses, and sock.
func (s *setup) needed(r *Request, fdOf func(int) int, sock int) []int {
	need := []int{sock}
	if r.trial {
		return need
	}
	for _, fd := range r.Stdio {
		need = append(need, fdOf(fd))
	}
	for _, p := range r.Pass {
		need = append(need, fdOf(p.From))
	}
	if r.Ruleset > 0 {
		need = append(need, fdOf(r.Ruleset))
	}
	return need
}

// begin is what makes the child an init: it dies with the caller's thread, holds none of
// the caller's descriptors, ignores every signal from inside (a pid 1 without handlers,
// pid_namespaces(7)), and shows nothing of the caller. The caller gives the word to go on
// only when it knows that the death signal is set: before that, its end is the end of the
// connection, and getppid(2) tells nothing here, where the parent is in another namespace.
func (s *setup) begin(need []int, sock int, wipe []span) {
	s.add(StepInit, "prctl", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	s.init.sock, s.init.ready.kind = uintptr(sock), msgReady
	const size = unsafe.Sizeof(message{})
	s.add(StepInit, "write", unix.SYS_WRITE, uintptr(sock), addr(&s.init.ready), size).orValue(size)
	for _, g := range gaps(need) {
		s.add(StepInit, "close_range", unix.SYS_CLOSE_RANGE, g[0], g[1], 0)
	}
	// Every signal: for SIGKILL and SIGSTOP the answer is EINVAL (sigaction(2)).
	s.add(StepSignals, "rt_sigaction", unix.SYS_RT_SIGACTION, 1, addr(&s.before.action), 0, 8).upTo(0).
		orErrno(unix.EINVAL)
	s.add(StepInit, "umask", unix.SYS_UMASK, 0)
	s.add(StepInit, "read", unix.SYS_READ, uintptr(sock), addr(&s.init.word), 1).orValue(1)
	// Not before the word: the maps belong to root in an undumpable process (proc(5)).
	s.add(StepInit, "prctl", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0)
	for _, w := range wipe {
		s.add(StepInit, "wipe", 0, w.at, w.size).want = wantWipe
	}
	s.add(StepInit, "prctl", unix.SYS_PRCTL, unix.PR_SET_NAME, s.before.text("brainbox-init"))
}

// lastUserns lets nobody inside make a user namespace. The file is of the init's own user
// namespace, whose limit only a capability there could raise again.
func (s *setup) lastUserns() {
	f := &s.init.source
	name := s.before.text("/proc/sys/user/max_user_namespaces")
	s.add(StepNested, "openat", unix.SYS_OPENAT, atFDCWD, name, unix.O_WRONLY|unix.O_CLOEXEC).into(f)
	s.add(StepNested, "write", unix.SYS_WRITE, addr(f), s.before.text("0"), 1).cells(0).orValue(1)
	s.close(StepNested, f)
}

// gaps lists the ranges of descriptor numbers that are not in need.
func gaps(need []int) [][2]uintptr {
	need = slices.Compact(slices.Sorted(slices.Values(need)))
	var all [][2]uintptr
	from := 0
	for _, fd := range need {
		if fd > from {
			all = append(all, [2]uintptr{uintptr(from), uintptr(fd - 1)})
		}
		from = fd + 1
	}
	return append(all, [2]uintptr{uintptr(from), uintptr(^uint32(0))})
}

// ifreq is struct ifreq with flags (netdevice(7)).
type ifreq struct {
	name  [16]byte
	flags int16
	_     [22]byte
}

// loopback gives lo its addresses: the kernel does when it comes up.
func (s *setup) loopback() {
	s.ifreq = &ifreq{flags: unix.IFF_UP | unix.IFF_RUNNING}
	copy(s.ifreq.name[:], "lo")
	fd := &s.init.tree
	s.add(StepLoopback, "socket", unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0).into(fd)
	s.add(StepLoopback, "ioctl", unix.SYS_IOCTL, addr(fd), unix.SIOCSIFFLAGS, addr(s.ifreq)).cells(0)
	s.close(StepLoopback, fd)
}

// enter makes dir the working directory, which the command inherits. It may not go there
// by the caller's descriptor: that one leads to the caller's mount, and by ".." out of the
// new root (CVE-2024-21626).
func (s *setup) enter(dir string, fd int, of held) error {
	if dir == "" || dir == "/" && fd <= 0 {
		return nil
	}
	in := &s.init.source
	how := s.how(unix.O_DIRECTORY, plain)
	s.add(StepDirectory, "openat2", unix.SYS_OPENAT2, atFDCWD, s.before.text(dir), how, howSize).into(in)
	if fd > 0 {
		if err := s.same(StepDirectory, in, fd, of); err != nil {
			return err
		}
	}
	s.add(StepDirectory, "fchdir", unix.SYS_FCHDIR, addr(in)).cells(0)
	s.close(StepDirectory, in)
	return nil
}

func (c *call) orValue(v uintptr) { c.want, c.errs[0] = wantValue, v }

// span is a part of the caller's memory.
type span struct{ at, size uintptr }

// argumentBlock finds where the kernel put the arguments and the environment at execve(2),
// which is what /proc/PID/cmdline and environ show: fields 48 to 51 of proc_pid_stat(5).
func argumentBlock(stat string) ([]span, error) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 49 {
		return nil, errors.New("spawn: /proc/self/stat is too short")
	}
	var at [4]uintptr
	for i := range at {
		n, err := strconv.ParseUint(f[45+i], 10, 64)
		if err != nil {
			return nil, errors.New("spawn: /proc/self/stat without addresses")
		}
		at[i] = uintptr(n)
	}
	if at[0] == 0 || at[1] < at[0] || at[2] == 0 || at[3] < at[2] {
		return nil, errors.New("spawn: /proc/self/stat shows no addresses")
	}
	return []span{{at[0], at[1] - at[0]}, {at[2], at[3] - at[2]}}, nil
}
