package spawn

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// network calls the hook, if there is one. The init is dumpable still, and waits for the
// word, so that /proc leads to its namespaces (proc(5)).
func (l *launch) network() error {
	hook := l.request.Namespaces.Network
	if hook == nil {
		return nil
	}
	user, err := l.namespace("user")
	if err != nil {
		return err
	}
	defer unix.Close(user)
	net, err := l.namespace("net")
	if err != nil {
		return err
	}
	defer unix.Close(net)
	if err := hook(user, net); err != nil {
		return fmt.Errorf("%s: %w", StepNetwork, err)
	}
	return nil
}

// namespace opens one of the init's.
func (l *launch) namespace(kind string) (int, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(l.child.Init.PID)+"/ns/"+kind, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if in := l.request.injected(); err == nil && in != nil && in.step == StepNetwork {
		unix.Close(fd)
		fd, err = -1, unix.ENOSYS
	}
	if err != nil {
		return -1, &Error{Step: StepNetwork, Call: "open ns/" + kind, Errno: errnoOf(err)}
	}
	return fd, nil
}

// errand is what a child made by Sockets leaves behind, in the memory that it shares with
// the caller until it ends.
type errand struct {
	calls []call
	made  []int32
	at    int
	errno syscall.Errno
}

// newErrand puts an errand on the heap, as newJob does a job.
//
//go:noinline
func newErrand(made int) *errand {
	e := &errand{made: make([]int32, made)}
	for i := range e.made {
		e.made[i] = -1
	}
	return e
}

func (e *errand) add(name string, nr uintptr, a ...uintptr) *call {
	c := call{nr: nr, name: name, step: StepNetwork}
	copy(c.a[:], a)
	e.calls = append(e.calls, c)
	return &e.calls[len(e.calls)-1]
}

// Sockets makes sockets in the network namespace net, which the user namespace user owns:
// of each in want, its domain, type and protocol (socket(2)). They are close-on-exec and do
// not block, and are the caller's, in that order. On an error there are none.
//
// A child of the calling thread makes them, which shares the caller's table of descriptors,
// enters the namespaces and ends: nothing of it is left, and no thread of the caller is
// ever in there. It shares the caller's memory as well, so the caller has to be the owner of
// user: for anybody else the kernel makes that memory undumpable (commit_creds), and he is
// refused. The child sends no signal when it ends, and only a wait with __WALL or __WCLONE
// sees it (wait(2)).
func Sockets(user, net int, want [][3]int) ([]int, error) {
	if len(want) == 0 {
		return nil, nil
	}
	owner, err := ownerOf(user)
	if err != nil {
		return nil, err
	}
	if owner != uint32(os.Geteuid()) {
		return nil, &Error{Step: StepNetwork, Call: "ioctl NS_GET_OWNER_UID", Errno: unix.EPERM}
	}
	e := newErrand(len(want))
	e.add("setns", unix.SYS_SETNS, uintptr(user), unix.CLONE_NEWUSER)
	e.add("setns", unix.SYS_SETNS, uintptr(net), unix.CLONE_NEWNET)
	for i, s := range want {
		const flags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
		e.add("socket", unix.SYS_SOCKET, uintptr(s[0]), uintptr(s[1]|flags), uintptr(s[2])).into(&e.made[i])
	}
	err = e.run()
	made := make([]int, 0, len(want))
	for _, fd := range e.made {
		if fd >= 0 {
			made = append(made, int(fd))
		}
	}
	runtime.KeepAlive(e)
	if err != nil {
		for _, fd := range slices.Backward(made) {
			unix.Close(fd)
		}
		return nil, err
	}
	return made, nil
}

// ownerOf is the uid that owns a user namespace (ioctl_nsfs(2), Linux 4.11).
func ownerOf(user int) (uint32, error) {
	var uid uint32
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(user), unix.NS_GET_OWNER_UID, addr(&uid))
	runtime.KeepAlive(&uid)
	if errno != 0 {
		return 0, &Error{Step: StepNetwork, Call: "ioctl NS_GET_OWNER_UID", Errno: errno}
	}
	return uid, nil
}

// errandFlags have no exit signal, in the lowest byte: whoever waits for any child does not
// get this one (clone(2)).
const errandFlags = unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_FILES

// run makes the child, and waits for its end.
func (e *errand) run() error {
	e.at = -1
	pid, errno := forkErrand(e, errandFlags)
	if errno != 0 {
		return &Error{Step: StepNetwork, Call: "clone", Errno: errno}
	}
	for {
		// Whoever waits for everything, with __WALL, may have been faster: ECHILD.
		if _, err := unix.Wait4(int(pid), nil, unix.WALL, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	switch {
	case e.at < 0: // it was killed
		return &Error{Step: StepNetwork, Call: "clone", Errno: unix.EINTR}
	case e.at < len(e.calls):
		return &Error{Step: StepNetwork, Call: e.calls[e.at].name, Errno: e.errno}
	}
	return nil
}

// forkErrand is fork for a child that executes nothing.
//
//go:norace
//go:nosplit
//go:nocheckptr
//go:noinline
func forkErrand(e *errand, flags uintptr) (pid uintptr, errno syscall.Errno) {
	beforeFork()
	pid, failed := vforkCall(unix.SYS_CLONE, flags, 0, 0)
	if failed != 0 || pid != 0 {
		afterFork()
		return pid, syscall.Errno(failed)
	}
	e.at, e.errno = walk(e.calls)
	exit()
	return 0, 0 // never reached
}
