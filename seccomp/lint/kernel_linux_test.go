//go:build cgo

package lint

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/seccomp"
	"brainbox/seccomp/compile"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// shown is a fault that opens a way out, with a call that takes it. The kernel is asked with
// the faulty profile loaded, and with the sound one, which has to refuse.
type shown struct {
	name, rule, fault, sound string
	call                     string
	args                     [6]uintptr
	passes                   []syscall.Errno // what the kernel says once the filter has let it by; 0 is success
	refuses                  syscall.Errno
}

const (
	noDescriptor = ^uintptr(0)
	high         = 1 << 32
	// killed stands for the end by SIGSYS; no errno is so large.
	killed = syscall.Errno(200)
)

// shows are deny lists: the test's own runtime needs more than the quiet profile.
func shows() []shown {
	masked := denyList(deny("ioctl", low(1, unix.TIOCSTI)), deny("ioctl", low(1, 0x541c)))
	return []shown{
		{
			"TIOCSTI with a high bit", "arg-64bit", denyList(deny("ioctl", arg(1, "EQ", unix.TIOCSTI, 0))), masked,
			"ioctl",
			[6]uintptr{noDescriptor, unix.TIOCSTI | high},
			[]syscall.Errno{unix.EBADF},
			unix.EPERM,
		},
		{
			"TIOCLINUX with a high bit", "arg-64bit", denyList(deny("ioctl", arg(1, "EQ", 0x541c, 0))), masked,
			"ioctl",
			[6]uintptr{noDescriptor, 0x541c | high},
			[]syscall.Errno{unix.EBADF},
			unix.EPERM,
		},
		{
			"TIOCSTI not named", "tiocsti", denyList(deny("ioctl", low(1, 0x541c))), masked,
			"ioctl",
			[6]uintptr{noDescriptor, unix.TIOCSTI},
			[]syscall.Errno{unix.EBADF},
			unix.EPERM,
		},
		{
			"a family with a high bit", "arg-64bit", denyList(deny("socket", arg(0, "EQ", unix.AF_UNIX, 0))),
			denyList(deny("socket", low(0, unix.AF_UNIX))),
			"socket",
			[6]uintptr{unix.AF_UNIX | high, unix.SOCK_STREAM},
			[]syscall.Errno{0},
			unix.EPERM,
		},
		{
			"io_uring", "io-uring", denyList(deny("ptrace")), denyList(missing("io_uring_setup"), missing("io_uring_enter"), missing("io_uring_register")),
			"io_uring_setup",
			[6]uintptr{1, noDescriptor},
			[]syscall.Errno{unix.EFAULT, unix.EPERM},
			unix.ENOSYS,
		},
		{
			// clone3 with the size of its first form and no structure: the kernel looks at it.
			"clone3", "clone3", denyList(deny("unshare")), denyList(missing("clone3")),
			"clone3",
			[6]uintptr{noDescriptor, 64},
			[]syscall.Errno{unix.EFAULT},
			unix.ENOSYS,
		},
		{
			// The kernel may have no x32: what counts is that the number gets to it.
			"x32", "arch-x32", top(`"defaultAction":"SCMP_ACT_ALLOW","architectures":["SCMP_ARCH_X86_64","SCMP_ARCH_X32"]`, deny("ptrace")),
			denyList(deny("ptrace")),
			"getpid",
			[6]uintptr{},
			[]syscall.Errno{0, unix.ENOSYS},
			killed,
		},
	}
}

const showVar = "BRAINBOX_TEST_LINT_SHOW" // a file: in, what to do; out, what came of it

// trial is what a child is to do, and what came of it.
type trial struct {
	Profile string
	Call    string
	Args    [6]uintptr
	X32     bool
	Errno   syscall.Errno
	Done    bool
}

// TestFaultsInTheKernel shows that what is called an error is one, and that the sound profile
// refuses the same call.
func TestFaultsInTheKernel(t *testing.T) {
	needs.Seccomp(t)
	e := env(t)
	for _, s := range shows() {
		if s.rule == "arch-x32" && runtime.GOARCH != "amd64" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			if needs.IsChild(t) {
				try(t, os.Getenv(showVar))
				return
			}
			if len(find(Lint([]byte(s.fault), e), s.rule)) == 0 || len(find(Lint([]byte(s.sound), e), s.rule)) != 0 {
				t.Fatalf("rule %s does not tell the two profiles apart", s.rule)
			}
			if got := inKernel(t, s.fault, s); !slices.Contains(s.passes, got) {
				t.Errorf("with the fault the call gives %v, want %v: the way is not open", got, s.passes)
			}
			if got := inKernel(t, s.sound, s); got != s.refuses {
				t.Errorf("without the fault the call gives %v, want %v", got, s.refuses)
			}
		})
	}
}

// inKernel makes the call in a child under a profile.
func inKernel(t *testing.T, profile string, s shown) syscall.Errno {
	t.Helper()
	file := t.TempDir() + "/trial.json"
	text, err := json.Marshal(trial{Profile: profile, Call: s.call, Args: s.args, X32: s.rule == "arch-x32"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	needs.RunChild(t, showVar+"="+file)
	var out trial
	if text, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil || !out.Done {
		t.Fatalf("the child did nothing: %s, %v", text, err)
	}
	return out.Errno
}

// try is the child.
func try(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var do trial
	if err := json.Unmarshal(text, &do); err != nil {
		t.Fatal(err)
	}
	var p specs.LinuxSeccomp
	if err := json.Unmarshal([]byte(do.Profile), &p); err != nil {
		t.Fatal(err)
	}
	program, err := compile.Runtime(&p) // what brainbox refuses can be loaded by others
	if err == nil && len(p.Architectures) == 0 {
		var r compile.Result
		r, err = compile.Compile(&p)
		program = r.Program
	}
	if err != nil {
		t.Fatal(err)
	}
	nr, ok := seccomp.Number(runtime.GOARCH, do.Call)
	if !ok {
		t.Fatalf("no call %s", do.Call)
	}
	if do.X32 {
		nr |= x32Bit
	}
	load(t, program)
	do.Errno, do.Done = inFork(t, uintptr(nr), do.Args), true
	if text, err = json.Marshal(do); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// inFork makes a call in a fork, which may be killed for it. The fork does nothing that
// needs Go's runtime.
func inFork(t *testing.T, nr uintptr, a [6]uintptr) syscall.Errno {
	t.Helper()
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 && e == 0 {
		_, _, e = unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(e), 0, 0)
	}
	if e != 0 {
		t.Fatal(e)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(int(pid), &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	if status.Signaled() && status.Signal() == unix.SIGSYS {
		return killed
	}
	return syscall.Errno(status.ExitStatus())
}

// load loads a filter on every thread. Irreversible: only in a child.
func load(t *testing.T, p seccomp.Program) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	fprog := struct {
		n      uint16
		filter *seccomp.Insn
	}{uint16(len(p)), &p[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	if e != 0 {
		t.Fatal(e)
	}
}
