package launcher

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
	"brainbox/internal/notify"
)

// The kernel takes one listener, so what is below one is refused with a word about it.
func TestObserveBelowAListener(t *testing.T) {
	needs.Notify(t)
	if !needs.InChild(t) {
		return
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	dir := resolved(t.TempDir())
	f, p := planIn(t, "landlock", dir, "exit 6")
	w := newWatcher()
	if res, err := p.Run(f, Options{Observe: w.observe}); err != nil || res.Status != 6 { // positive control
		t.Fatalf("%+v, %v", res, err)
	}
	listen(t)
	f, p = planIn(t, "landlock", dir, "exit 6")
	if res, err := p.Run(f, Options{}); err != nil || res.Status != 6 { // and without an observer it works
		t.Fatalf("%+v, %v", res, err)
	}
	f, p = planIn(t, "landlock", dir, "exit 6")
	var r *Refusal
	if _, err := p.Run(f, Options{Observe: w.observe}); !errors.As(err, &r) || r.Status != StatusRefused || !strings.Contains(r.Message, "listener") {
		t.Errorf("%v", err)
	}
}

// listen loads a filter with a listener on this thread.
func listen(t *testing.T) {
	t.Helper()
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	prog := unix.SockFprog{Len: 1, Filter: &allow}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		t.Fatalf("seccomp: %v", e)
	}
}

func TestObserveIsRefused(t *testing.T) {
	dir := resolved(t.TempDir())
	f, p := planFor(t, dir, "exit 0")
	h := &Host{}
	var r *Refusal
	if _, err := h.Start(p, f, Options{Observe: newWatcher().observe}); !errors.As(err, &r) || !strings.Contains(r.Hint, "Plan.Run") {
		t.Errorf("a Host: %v", err)
	}
	for e, word := range map[syscall.Errno]string{unix.EINVAL: "5.19", unix.EACCES: "a filter around", unix.EBUSY: "start it outside"} {
		if r := noNotification(e); r.Status != StatusRefused || !strings.Contains(r.Hint, word) {
			t.Errorf("%v: %+v", e, r)
		}
	}
	failed := errors.New("no observer")
	ran := dir + "/ran"
	f, p = planFor(t, dir, ": >ran")
	needs.Notify(t)
	if _, err := p.Run(f, Options{Observe: func(*Plan, *Facts) (Observer, error) { return nil, failed }}); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program ran")
	}
}

type panics struct{}

func (panics) See(*notify.Call)                   { panic("a bug") }
func (panics) Refuse(*notify.Call, syscall.Errno) { panic("a bug") }

// An observer with a bug changes nothing but what is known of the run.
func TestAnObserverThatPanics(t *testing.T) {
	needs.Notify(t)
	secret, dir := secretIn(t), resolved(t.TempDir())
	f, p := planFor(t, dir, "cat "+secret+" 2>err; mkdir d && exit 3")
	res, err := p.Run(f, Options{Observe: func(*Plan, *Facts) (Observer, error) { return panics{}, nil }})
	if err != nil || res.Status != 3 || res.Watch.Panic != "a bug" {
		t.Errorf("%+v, %v", res, err)
	}
	if text := read(t, dir+"/err"); !strings.Contains(text, "Permission denied") {
		t.Errorf("cat said %q", text)
	}
}
