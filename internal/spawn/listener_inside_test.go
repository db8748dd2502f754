package spawn

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

const testMark = 0x1122334455667789

// The listener of a program in namespaces comes to the caller, and to nobody else.
func TestListenerInside(t *testing.T) {
	needs.Notify(t)
	f, err := os.Open("/etc/hostname")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	q := newRoom(t).request("umask; echo $(ls /proc/self/fd); cat <&3; read a; exit 4")
	q.Filter, q.Listener = notifyUmask(), true
	// The kernel gives the pidfd and the listener the lowest free numbers.
	q.Pass = []Pass{{From: int(f.Fd()), To: 3}, {From: int(f.Fd()), To: 5}}
	q.Limits = []Limit{{Resource: unix.RLIMIT_NOFILE, Cur: 16, Max: 16}}
	k := talkTo(t, q)
	if flags, err := unix.FcntlInt(uintptr(k.Listener), unix.F_GETFD, 0); err != nil || flags != unix.FD_CLOEXEC {
		t.Fatalf("listener %d: flags %d, %v; want close-on-exec", k.Listener, flags, err)
	}
	answerUmask(t, k.Listener, 0o123) // dash reads it by setting it,
	answerUmask(t, k.Listener, 0)     // and sets it back
	for _, want := range []string{"0123", "0 1 2 3 4 5", strings.TrimSpace(read(t, "/etc/hostname"))} {
		if got := k.line(t); got != want {
			t.Errorf("the program says %q, want %q", got, want)
		}
	}
	if os.Geteuid() == 0 { // may look; the init is waiting for the program by now
		links, err := filepath.Glob(procOf(k.Init.PID, "fd/*"))
		if err != nil || len(links) != 1 {
			t.Errorf("descriptors of the init: %q, %v; want one", links, err)
		}
	}
	_ = k.in.Close()
	if e := ended(t, k.Child); e != (Event{Exited, 4}) {
		t.Errorf("%+v", e)
	}
}

// Without anybody who listens the call is not made in there, either.
func TestNoListenerNoCallInside(t *testing.T) {
	needs.Notify(t)
	w := t.TempDir()
	script := "read a; umask 0077; : >" + w + "/made"
	for filter, want := range map[string]os.FileMode{"notified": 0o644, "allowed": 0o600} { // the latter is the positive control
		q := newRoom(t, w).request(script)
		q.Filter, q.Listener = allowAll(), true
		if filter == "notified" {
			q.Filter = notifyUmask()
		}
		k := talkTo(t, q)
		unix.Close(k.Listener)
		k.Listener = -1
		_ = k.in.Close()
		ended(t, k.Child)
		st, err := os.Stat(w + "/made")
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", filter, st, err, want)
		}
		_ = os.Remove(w + "/made")
	}
}

// notifyUnmarked notifies a call unless it has the test's mark, and allows all others.
func notifyUnmarked(nrs ...uint32) []unix.SockFilter {
	stmt := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	const load, equal, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	p := []unix.SockFilter{stmt(load, 0)}
	for i, nr := range nrs {
		p = append(p, unix.SockFilter{Code: equal, K: nr, Jt: uint8(len(nrs) - i)})
	}
	return append(p, stmt(ret, unix.SECCOMP_RET_ALLOW),
		stmt(load, 56), unix.SockFilter{Code: equal, K: testMark & (1<<32 - 1), Jf: 2},
		stmt(load, 60), unix.SockFilter{Code: equal, K: testMark >> 32, Jt: 1},
		stmt(ret, unix.SECCOMP_RET_USER_NOTIF), stmt(ret, unix.SECCOMP_RET_ALLOW))
}

// What the start does under the filter is not notified: it would wait for ever. What the
// program does is.
func TestMarkedCallsAreTheStartsAlone(t *testing.T) {
	needs.Notify(t)
	for _, inside := range []string{"", "inside"} {
		w := t.TempDir()
		q := request(t, w, "exec /bin/true") // fails: nobody answers
		if inside != "" {
			room := newRoom(t, w).request("exec /bin/true")
			room.Ruleset, q = q.Ruleset, room
			q.Namespaces.Reopen[0] = Reopen{Path: "/dev/null"}
		}
		q.Filter, q.Listener, q.Mark = notifyUnmarked(unix.SYS_EXECVE, unix.SYS_OPENAT, unix.SYS_SOCKET), true, testMark
		q.Probes = []Probe{
			{Name: "open", Nr: unix.SYS_OPENAT, Path: w + "/none", PathArg: 1, Args: [6]uintptr{0, 0, unix.O_CREAT | unix.O_EXCL | unix.O_DIRECTORY}, Errnos: []syscall.Errno{unix.EACCES, unix.EINVAL, unix.ENOTDIR}},
			{Name: "socket", Nr: unix.SYS_SOCKET, Args: [6]uintptr{1 << 20}, Errnos: []syscall.Errno{unix.EAFNOSUPPORT}},
		}
		var status int
		if inside != "" {
			c := startIn(t, q)
			unix.Close(c.Listener)
			c.Listener = -1
			status = int(ended(t, c).Status)
		} else {
			c := start(t, q)
			unix.Close(c.Listener)
			status = wait(t, c).ExitStatus()
		}
		if status == 0 {
			t.Error(inside + ": the program's own execve was not notified")
		}
	}
}

// Two starts in one process do not meet: each init has a table of its own.
func TestListenersInsideAreApart(t *testing.T) {
	needs.Notify(t)
	var all []*talk
	for i := range 3 {
		q := newRoom(t).request("umask; read a; exit " + strconv.Itoa(i))
		q.Filter, q.Listener = notifyUmask(), true
		all = append(all, talkTo(t, q))
	}
	for i, k := range all {
		answerUmask(t, k.Listener, int64(i+1))
		answerUmask(t, k.Listener, 0)
		if got, want := k.line(t), "000"+strconv.Itoa(i+1); got != want {
			t.Errorf("program %d says %q, want %q", i, got, want)
		}
		_ = k.in.Close()
		if e := ended(t, k.Child); e != (Event{Exited, int32(i)}) {
			t.Errorf("%+v", e)
		}
	}
}
