package spawn

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// withNamespaces calls f in the hook of a start.
func withNamespaces(t *testing.T, f func(user, net int)) {
	t.Helper()
	r := networked(t, func(u, n int) error { f(u, n); return nil })
	r.Argv[2] = "exit 0"
	c := startIn(t, r)
	ended(t, c)
}

var three = [][3]int{{unix.AF_INET, unix.SOCK_STREAM, 0}, {unix.AF_INET, unix.SOCK_DGRAM, 0}, {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}}

// Sockets are of the namespace, in order, close-on-exec, and no child is left or was seen.
func TestSockets(t *testing.T) {
	withNamespaces(t, func(user, net int) {
		before := len(openFDs(t))
		fds, err := Sockets(user, net, three)
		if err != nil || len(fds) != len(three) {
			t.Fatalf("%v, %v", fds, err)
		}
		if now := len(openFDs(t)); now > before+len(three) {
			t.Errorf("%d descriptors, want %d", now, before+len(three))
		}
		for i, fd := range fds {
			kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
			if err != nil || kind != three[i][1] {
				t.Errorf("type %d, %v; want %d", kind, err, three[i][1])
			}
			where, err := unix.IoctlRetInt(fd, unix.SIOCGSKNS)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := objectOf(t, where), objectOf(t, net); got != want {
				t.Errorf("a socket in namespace %v, want %v", got, want)
			}
			unix.Close(where)
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			status, err2 := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
			if err != nil || err2 != nil || flags&unix.FD_CLOEXEC == 0 || status&unix.O_NONBLOCK == 0 {
				t.Errorf("flags %#x, %#x", flags, status)
			}
			unix.Close(fd)
		}
		// The caller stayed what it was.
		dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		if err != nil || dumpable != 1 {
			t.Errorf("dumpable is %d, %v", dumpable, err)
		}
	})
}

// All or none, whichever call fails.
func TestSocketsFail(t *testing.T) {
	withNamespaces(t, func(user, net int) {
		before := len(openFDs(t))
		own, err := unix.Open("/proc/self/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(own)
		refusal, errno := "setns", unix.EINVAL // one's own
		if os.Geteuid() != 0 {
			refusal, errno = "ioctl NS_GET_OWNER_UID", unix.EPERM // root's
		}
		for _, c := range []struct {
			name      string
			user, net int
			want      [][3]int
			call      string
			errno     unix.Errno
		}{
			{"the last socket", user, net, append(slices.Clone(three), [3]int{9999, 1, 0}), "socket", unix.EAFNOSUPPORT},
			{"the first", user, net, [][3]int{{9999, 1, 0}}, "socket", unix.EAFNOSUPPORT},
			{"no network namespace", user, user, three, "setns", unix.EINVAL},
			{"no user namespace", net, net, three, "", 0},
			{"the caller's own", own, net, three, refusal, errno},
			{"no descriptor", -1, net, three, "ioctl NS_GET_OWNER_UID", unix.EBADF},
		} {
			fds, err := Sockets(c.user, c.net, c.want)
			var e *Error
			if !errors.As(err, &e) || e.Step != StepNetwork || c.call != "" && (e.Call != c.call || e.Errno != c.errno) || fds != nil {
				t.Errorf("%s: %v, %v", c.name, fds, err)
			}
		}
		if now := len(openFDs(t)); now > before+1 {
			t.Errorf("%d descriptors, want %d", now, before+1)
		}
		if fds, err := Sockets(user, net, nil); fds != nil || err != nil {
			t.Errorf("nothing: %v, %v", fds, err)
		}
	})
}

// The child that makes the sockets is seen by nobody who waits for any child: it has no
// exit signal (wait(2), __WCLONE).
func TestSocketsChildIsNobodyElses(t *testing.T) {
	withNamespaces(t, func(user, net int) {
		// The init is a child, and a live one: with it the wait has somebody to wait for.
		e := newErrand(0)
		e.add("getpid", unix.SYS_GETPID)
		pid, errno := forkErrand(e, errandFlags)
		if errno != 0 || e.at != 1 {
			t.Fatalf("%v, at %d", errno, e.at)
		}
		// The fork returns when the child leaves the memory, which is before it has ended.
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, int(pid), &info, unix.WALL|unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
		if got, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); got != 0 || err != nil {
			t.Errorf("a wait for any child: %d, %v", got, err)
		}
		info = unix.Siginfo{}
		if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil || info.Signo != 0 {
			t.Errorf("waitid: %v, %+v", err, info)
		}
		if got, err := unix.Wait4(int(pid), nil, unix.WALL|unix.WNOHANG, nil); got != int(pid) || err != nil { // positive control
			t.Errorf("its own wait: %d, %v", got, err)
		}
	})
}

// One that ends before it has made anything is no success, whoever ended it.
func TestSocketsChildThatEnds(t *testing.T) {
	needs.Kernel(t)
	e := newErrand(1)
	e.add("exit_group", unix.SYS_EXIT_GROUP)
	var failed *Error
	if err := e.run(); !errors.As(err, &failed) || failed.Step != StepNetwork || failed.Errno != unix.EINTR {
		t.Errorf("it ended early: %v", err)
	}
	e = newErrand(0)
	e.add("getpid", unix.SYS_GETPID)
	if err := e.run(); err != nil { // positive control
		t.Error(err)
	}
}

// Somebody who takes every child, of whatever kind, does not spoil it, and neither do
// threads that make sockets and programs meanwhile.
func TestSocketsAmongOthers(t *testing.T) {
	withNamespaces(t, func(user, net int) {
		ls := func() string { // what a program has, and what it inherits of ours
			out, err := exec.CommandContext(t.Context(), "/bin/ls", "/proc/self/fd").Output()
			if err != nil {
				t.Error(err)
			}
			return string(out)
		}
		want := ls()
		before := len(openFDs(t))
		var stop atomic.Bool
		var others, makers sync.WaitGroup
		others.Go(func() {
			for !stop.Load() {
				_, _ = unix.Wait4(-1, nil, unix.WCLONE|unix.WNOHANG, nil)
			}
		})
		for range 4 {
			makers.Go(func() {
				for range 25 {
					fds, err := Sockets(user, net, three)
					if err != nil {
						t.Error(err)
					}
					if got := ls(); got != want {
						t.Errorf("a program has %q, want %q", got, want)
					}
					for _, fd := range fds {
						unix.Close(fd)
					}
				}
			})
		}
		makers.Wait()
		stop.Store(true)
		others.Wait()
		if now := len(openFDs(t)); now > before {
			t.Errorf("%d descriptors, want %d", now, before)
		}
	})
}
