package spawn

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// notifyUmask is a filter that notifies umask(2), which a shell makes on request.
func notifyUmask() []unix.SockFilter {
	return []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_UMASK, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
}

// listening is a start whose program asks for its umask and lists its descriptors.
func listening(t testing.TB, w string) *Request {
	t.Helper()
	needs.Notify(t)
	r := request(t, w, "umask >"+w+"/umask; ls /proc/self/fd >"+w+"/fds")
	r.Filter, r.Listener = notifyUmask(), true
	r.Limits = []Limit{{Resource: unix.RLIMIT_CORE}, {Resource: unix.RLIMIT_NOFILE, Cur: 16, Max: 16}}
	return r
}

// answerUmask answers one umask(2) with value.
func answerUmask(t testing.TB, listener int, value int64) {
	t.Helper()
	var req struct {
		id    uint64
		pid   uint32
		flags uint32
		data  [64]byte
	}
	for {
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&req)))
		if e == 0 {
			break
		}
		if e != unix.EINTR && e != unix.ENOENT {
			t.Fatalf("SECCOMP_IOCTL_NOTIF_RECV: %v", e)
		}
	}
	resp := struct {
		id    uint64
		val   int64
		errno int32
		flags uint32
	}{id: req.id, val: value}
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&resp))); e != 0 {
		t.Fatalf("SECCOMP_IOCTL_NOTIF_SEND: %v", e)
	}
}

func TestListenerIsTheCallersAlone(t *testing.T) {
	w := t.TempDir()
	high, err := unix.FcntlInt(0, unix.F_DUPFD, 900) // above the program's limit, not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(high)
	c := start(t, listening(t, w))
	if flags, err := unix.FcntlInt(uintptr(c.Listener), unix.F_GETFD, 0); err != nil || flags != unix.FD_CLOEXEC {
		t.Fatalf("listener %d: flags %d, %v; want close-on-exec", c.Listener, flags, err)
	}
	defer unix.Close(c.Listener)
	answerUmask(t, c.Listener, 0o123) // dash reads it by setting it,
	answerUmask(t, c.Listener, 0)     // and sets it back
	if ws := wait(t, c); ws.ExitStatus() != 0 {
		t.Errorf("status %d", ws.ExitStatus())
	}
	if got := strings.TrimSpace(read(t, w+"/umask")); got != "0123" {
		t.Errorf("umask in the program is %q, want the listener's 0123", got)
	}
	if got := strings.Fields(read(t, w+"/fds")); strings.Join(got, " ") != "0 1 2 3" {
		t.Errorf("descriptors of ls: %v, want 0 1 2 and its own", got)
	}
	// What the child did to its descriptors it did to its own.
	if flags, err := unix.FcntlInt(uintptr(high), unix.F_GETFD, 0); err != nil || flags != 0 {
		t.Errorf("the caller's descriptor %d: flags %d, %v; want as before", high, flags, err)
	}
}

// esc/SC-13: nobody listens any more, and the call is not made.
func TestNoListenerNoCall(t *testing.T) {
	w := t.TempDir()
	r := listening(t, w)
	r.Argv[2] = "umask 0077; : >" + w + "/made"
	c := start(t, r)
	unix.Close(c.Listener)
	wait(t, c)
	st, err := os.Stat(w + "/made")
	if err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("made: %v, %v; want 0644 as with the mask that the start set", st, err)
	}
	r = listening(t, w) // positive control: without the filter the mask is set
	r.Argv[2], r.Filter, r.Listener = "umask 0077; : >"+w+"/other", allowAll(), false
	wait(t, start(t, r))
	if st, err := os.Stat(w + "/other"); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("other: %v, %v; want 0600", st, err)
	}
}

func TestEveryStepWithAListenerCanFail(t *testing.T) {
	w := t.TempDir()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := listening(t, w)
	r.Session, r.Dir = true, dirFD(t, w)
	r.Probes = []Probe{{Name: "open", Nr: unix.SYS_OPENAT, Path: "/etc/passwd", PathArg: 1, Errnos: []syscall.Errno{unix.EACCES}}}
	before := state(t)
	var calls int
	r.inject = &injection{edit: func(l []*[]call) { calls = len(*l[0]); (*l[0])[0].fail() }}
	if _, err := Start(r); err == nil {
		t.Fatal("the start that fails did not")
	}
	for i := range calls {
		want := &Error{Errno: unix.ENOSYS}
		r.inject = &injection{edit: func(l []*[]call) {
			c := &(*l[0])[i]
			want.Step, want.Call = c.step, c.name
			c.fail()
		}}
		_, err := Start(r)
		var e *Error
		if !errors.As(err, &e) || *e != *want {
			t.Errorf("call %d: %v, want %v", i, err, want)
		}
	}
	noChild(t)
	if after := state(t); after.fds != before.fds {
		t.Errorf("%d descriptors after %d failed starts, %d before", after.fds, calls, before.fds)
	}
	if _, err := os.Stat(w + "/fds"); err == nil {
		t.Error("the program ran")
	}
}

func TestListenerIsRefused(t *testing.T) {
	good := Request{Path: "/bin/true", Argv: []string{"true"}, Ruleset: 5, Filter: notifyUmask(), Listener: true}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Request){
		"no filter":            func(r *Request) { r.Filter, r.Unconfined = nil, true },
		"a self-test with six": func(r *Request) { r.Mark, r.Probes = 1, []Probe{{Nr: unix.SYS_MMAP, Args: [6]uintptr{5: 4096}}} },
		"a notified self-test": func(r *Request) { r.Probes = []Probe{{Nr: unix.SYS_CONNECT}} },
	} {
		r := good
		if change(&r); r.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := Become(&good); !isStep(err, StepPrepare, unix.EINVAL) {
		t.Errorf("Become: %v", err)
	}
}
