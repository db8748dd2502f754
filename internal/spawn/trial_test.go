package spawn

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// zero ends a path.
func zero(s string) []byte { return append([]byte(s), 0) }

// opening is a trial that opens a file, reads nothing of it, and closes it.
func opening(path string, flags uintptr) Trial {
	cwd := unix.AT_FDCWD
	return Trial{
		{Nr: unix.SYS_OPENAT, Args: [6]uintptr{uintptr(cwd), 0, flags | unix.O_CLOEXEC}, Data: [6][]byte{1: zero(path)}},
		{Nr: unix.SYS_CLOSE, First: 1},
	}
}

// tryAll tries, and wants one answer for each call.
func tryAll(t *testing.T, r *Request, list ...Trial) [][]Answer {
	t.Helper()
	answers, err := TryCalls(r, list)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if len(answers[i]) != len(list[i]) {
			t.Fatalf("trial %d: %d answers to %d calls", i, len(answers[i]), len(list[i]))
		}
	}
	return answers
}

func wantErrno(t *testing.T, what string, a Answer, e unix.Errno) {
	t.Helper()
	if !a.Made || a.Errno != e {
		t.Errorf("%s: %+v, want made and %v", what, a, e)
	}
}

// What Landlock refuses is refused in a trial, what it grants is not, and no program runs.
func TestTryCallsInLandlock(t *testing.T) {
	needs.LandlockABI(t, 1)
	in, out := t.TempDir(), t.TempDir()
	for _, dir := range []string{in, out} {
		if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ran := in + "/ran"
	r := request(t, in, ": >"+ran)
	got := tryAll(t, r, opening(out+"/file", unix.O_WRONLY), opening(in+"/file", unix.O_WRONLY), opening(in+"/none", 0))
	wantErrno(t, "outside", got[0][0], unix.EACCES)
	wantErrno(t, "close of what was not opened", got[0][1], unix.EBADF)
	wantErrno(t, "inside", got[1][0], 0)
	wantErrno(t, "close", got[1][1], 0)
	wantErrno(t, "absent", got[2][0], unix.ENOENT)
	if _, err := os.Lstat(ran); err == nil {
		t.Error("the program ran")
	}
	if ws := wait(t, mustStart(t, r)); ws.ExitStatus() != 0 {
		t.Fatalf("control: %v", ws)
	}
	if _, err := os.Lstat(ran); err != nil {
		t.Errorf("control: the same request does not start the program: %v", err)
	}
}

func mustStart(t *testing.T, r *Request) *Child {
	t.Helper()
	c, err := Start(r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// In namespaces a trial sees what is mounted there, and what is not is not.
func TestTryCallsInNamespaces(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	for _, dir := range []string{in, out} {
		if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	room := newRoom(t, in)
	got := tryAll(t, room.request(": >"+in+"/ran"),
		opening(out+"/file", 0), opening(in+"/file", unix.O_WRONLY), opening("/null", unix.O_CREAT|unix.O_WRONLY))
	wantErrno(t, "not there", got[0][0], unix.ENOENT)
	wantErrno(t, "inside", got[1][0], 0)
	wantErrno(t, "a name in the sealed root", got[2][0], unix.EROFS)
	if _, err := os.Lstat(in + "/ran"); err == nil {
		t.Error("the program ran")
	}
}

// The kernel's own words come back too, and through the init.
func TestTryCallsTakesWhatTheKernelWrites(t *testing.T) {
	needs.LandlockABI(t, 1)
	in := t.TempDir()
	if err := os.WriteFile(in+"/file", []byte("seven b"), 0o644); err != nil {
		t.Fatal(err)
	}
	look := opening(in+"/file", 0)
	look = append(look[:1:1], TrialCall{Nr: unix.SYS_READ, First: 1, Out: 2, Args: [6]uintptr{2: OutSize}})
	for name, r := range map[string]*Request{"here": request(t, in, ":"), "namespaces": newRoom(t, in).request(":")} {
		got := tryAll(t, r, look)[0][1]
		if got.Value != 7 || len(got.Out) != OutSize || string(got.Out[:8]) != "seven b\x00" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// killing is a filter that kills who calls nr.
func killing(nr uint32) []unix.SockFilter {
	return []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
}

// A call that kills has no answer, nor have those after it; those before have.
func TestTryCallsOfWhatKills(t *testing.T) {
	needs.LandlockABI(t, 1)
	needs.Seccomp(t)
	list := []Trial{{{Nr: unix.SYS_GETPID}}, {{Nr: unix.SYS_GETPPID}}, {{Nr: unix.SYS_GETPID}}}
	requests := map[string]func(t *testing.T) *Request{
		"landlock":   func(t *testing.T) *Request { t.Helper(); return request(t, t.TempDir(), ":") },
		"namespaces": func(t *testing.T) *Request { t.Helper(); return newRoom(t).request(":") },
	}
	for name, make := range requests {
		t.Run(name, func(t *testing.T) {
			r := make(t)
			r.Filter = killing(unix.SYS_GETPPID)
			got := tryAll(t, r, list...)
			if !got[0][0].Made || got[0][0].Value <= 0 || got[1][0].Made || got[2][0].Made {
				t.Errorf("%+v", got)
			}
			r.Filter = allowAll()
			if got = tryAll(t, r, list...); !got[1][0].Made || !got[2][0].Made {
				t.Errorf("control: %+v", got)
			}
		})
	}
}

// A start that fails says so, and nothing was tried.
func TestTryCallsOfAFailedStart(t *testing.T) {
	needs.LandlockABI(t, 1)
	r := request(t, t.TempDir(), ":")
	r.inject = &injection{step: StepSeccomp}
	_, err := TryCalls(r, []Trial{{{Nr: unix.SYS_GETPID}}})
	var e *Error
	if !errors.As(err, &e) || e.Step != StepSeccomp {
		t.Errorf("%v", err)
	}
	if _, err := TryCalls(request(t, t.TempDir(), ":"), []Trial{{{Nr: unix.SYS_CLOSE, First: 1}}}); err == nil {
		t.Error("the first call of a trial took its own answer")
	}
	if _, err := TryCalls(request(t, filepath.Clean(t.TempDir()), ":"), nil); err != nil {
		t.Errorf("control: no trial at all: %v", err)
	}
}
