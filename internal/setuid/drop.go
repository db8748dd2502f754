package setuid

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Drop is irreversible. It takes the target's ids and groups on all threads, and gives up
// every capability in all five sets on the calling one, to which it locks the goroutine; the
// others have none either, but keep an inheritable and a bounding set, and end at execve(2). Every call is
// checked, and what must hold afterwards is read back (contract brainkit §1.6, H5, P12).
func Drop(to Target) error {
	if to.UID == 0 || to.GID == 0 {
		return errors.New("internal error: root is nobody to drop to")
	}
	runtime.LockOSThread()
	stop, err := guard()
	if err != nil {
		return err
	}
	defer stop()
	if err := lower(to); err != nil {
		return err
	}
	return Dropped(to)
}

// dropTime is far more than the change takes, in seconds.
const dropTime = 20

// minPending is more than the threads of a small program, in signals.
const minPending = 64

// guard bounds the time that the change takes. The runtime makes a call on every thread by a
// real-time signal, and waits for ever if the kernel has no room for one: that room is the
// caller's RLIMIT_SIGPENDING, and he can fill it (getrlimit(2)). The alarm needs none, and ends
// the process.
func guard() (stop func(), err error) {
	var room unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_SIGPENDING, &room); err != nil || room.Cur < minPending {
		return nil, refuse("RLIMIT_SIGPENDING is too small for changing the identity", "it must be 64 or more")
	}
	var action [4]uint64 // struct kernel_sigaction: SIG_DFL
	if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGALRM),
		uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0); errno != 0 {
		return nil, os.NewSyscallError("rt_sigaction", errno)
	}
	alarm := unix.Sigset_t{}
	alarm.Val[0] = 1 << (unix.SIGALRM - 1)
	if err := unix.PthreadSigmask(unix.SIG_UNBLOCK, &alarm, nil); err != nil {
		return nil, os.NewSyscallError("rt_sigprocmask", err)
	}
	after := unix.Itimerval{Value: unix.Timeval{Sec: dropTime}}
	if _, err := unix.Setitimer(unix.ITIMER_REAL, after); err != nil {
		return nil, os.NewSyscallError("setitimer", err)
	}
	return func() { _, _ = unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{}) }, nil
}

func lower(to Target) error {
	groups := make([]int, 0, len(to.Groups))
	for _, g := range to.Groups {
		groups = append(groups, int(g))
	}
	uid, gid := int(to.UID), int(to.GID)
	for _, step := range [...]struct {
		name string
		do   func() error
	}{
		{"prctl", emptyBounding},
		{"prctl", func() error { return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) }},
		{"setgroups", func() error { return syscall.Setgroups(groups) }},
		{"setresgid", func() error { return syscall.Setresgid(gid, gid, gid) }},
		{"setresuid", func() error { return syscall.Setresuid(uid, uid, uid) }},
		{"capset", lose},
		// commit_creds() did this where fs.suid_dumpable is 0: the identity's other processes
		// must not trace this one either.
		{"prctl", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
	} {
		if err := os.NewSyscallError(step.name, step.do()); err != nil {
			r := &Refusal{Message: "drop to the identity: " + err.Error(), Err: err}
			if errors.Is(err, unix.EPERM) {
				r.Hint = "only root can: where the file was set-uid it has lost the bit, as by an upgrade"
			}
			return r
		}
	}
	return nil
}

func emptyBounding() error {
	for c := uintptr(0); c <= lastCap; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	return nil
}

// lastCap bounds the numbers of capabilities; above its own last the kernel answers EINVAL.
const lastCap = 63

// lose is [NoCapabilities] after the change of the user, without a call on other threads where
// the kernel has emptied their sets already: the room for the signal that makes one is the
// identity's from there on (guard), and a program of it that fills it with pending signals
// would keep brainbox-kill from ending it.
func lose() error {
	const fixup = 1 << 2 // SECBIT_NO_SETUID_FIXUP, capabilities(7)
	bits, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
	if err != nil || bits&(fixup|1<<4) != 0 { // SECBIT_KEEP_CAPS
		return NoCapabilities()
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&head, &none[0])
}

// NoCapabilities empties the inheritable, permitted and effective sets: with
// SECBIT_NO_SETUID_FIXUP, which is inherited, setresuid leaves them (capabilities(7)). It acts
// on all threads, and on the calling one alone in a program with cgo, as test programs are.
func NoCapabilities() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return err
	}
	return allThreadsCapset(&head, &none[0])
}

// Dropped reads back what [Drop] was to bring about, and that there is no way back.
func Dropped(to Target) error {
	failed := func(what string) error {
		return errors.New("internal error: " + what + " after the drop")
	}
	uid, gid := int(to.UID), int(to.GID)
	if r, e, s := unix.Getresuid(); r != uid || e != uid || s != uid {
		return failed("a user id is left")
	}
	if r, e, s := unix.Getresgid(); r != gid || e != gid || s != gid {
		return failed("a group id is left")
	}
	// setfsuid(2) answers the one before, and -1 is none.
	if r, _ := unix.SetfsuidRetUid(-1); r != uid {
		return failed("the user id for files is left")
	}
	if r, _ := unix.SetfsgidRetGid(-1); r != gid {
		return failed("the group id for files is left")
	}
	if have, err := unix.Getgroups(); err != nil || !sameGroups(have, to.Groups) {
		return failed("groups are left")
	}
	for c := uintptr(0); c <= lastCap; c++ {
		if in, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err == nil && in != 0 {
			return failed("the bounding set is left")
		}
		if in, err := unix.PrctlRetInt(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_IS_SET, c, 0, 0); err == nil && in != 0 {
			return failed("an ambient capability is left")
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&head, &have[0]); err != nil || have != [2]unix.CapUserData{} {
		return failed("capabilities are left")
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n == 1 {
		return failed("the process can be traced")
	}
	return noWayBack(failed)
}

// noWayBack tries what must fail, on the calling thread alone.
func noWayBack(failed func(string) error) error {
	const same = ^uintptr(0)
	for _, try := range [...]struct{ nr, a, b, c uintptr }{
		{unix.SYS_SETRESUID, 0, same, same},
		{unix.SYS_SETRESUID, same, 0, same},
		{unix.SYS_SETRESGID, 0, same, same},
		{unix.SYS_SETRESGID, same, 0, same},
		{unix.SYS_SETGROUPS, 0, 0, 0},
	} {
		if _, _, errno := syscall.RawSyscall(try.nr, try.a, try.b, try.c); errno != unix.EPERM {
			return failed("there is a way back")
		}
	}
	return nil
}

// sameGroups compares as sets: the kernel sorts them.
func sameGroups(have []int, want []uint32) bool {
	for _, g := range have {
		if !slices.Contains(want, uint32(g)) {
			return false
		}
	}
	for _, g := range want {
		if !slices.Contains(have, int(g)) {
			return false
		}
	}
	return true
}

// Relinquish is irreversible. It gives the calling thread, to which it locks the goroutine, the
// caller's own rights, where it has those of a set-uid start: whatever the caller made standard
// error, the kernel may ask at each write who writes. It makes no call on other threads, and so
// cannot wait; the process may then do nothing but write and exit.
func Relinquish() {
	uid, gid := uintptr(unix.Getuid()), uintptr(unix.Getgid())
	if unix.Geteuid() == int(uid) && unix.Getegid() == int(gid) {
		return
	}
	runtime.LockOSThread()
	_, _, _ = syscall.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid)
	_, _, _ = syscall.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid)
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_ = unix.Capset(&head, &none[0])
	// The change made it what fs.suid_dumpable says: with 1 what was read and opened as root
	// would be the caller's to look at.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if unix.Geteuid() != int(uid) || unix.Getegid() != int(gid) {
		_ = unix.Close(1) // then nothing is written at all
		_ = unix.Close(2)
	}
}
