package spawn

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// refuse makes the calling thread's system call nr fail. Irreversible.
func refuse(t *testing.T, nr uint32, arg int, bits uint32, errno unix.Errno) {
	t.Helper()
	arch := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	load := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	p := []unix.SockFilter{
		load(4),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch, Jt: 1},
		ret(unix.SECCOMP_RET_ALLOW),
		load(0),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 2},
		load(16 + 8*uint32(arg)),
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: bits, Jt: 1},
		ret(unix.SECCOMP_RET_ALLOW), ret(unix.SECCOMP_RET_ERRNO | uint32(errno)),
	}
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := raw(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); err != nil {
		t.Fatal(err)
	}
}

// What says "not here" is told from what says that something is wrong.
func TestNotOffered(t *testing.T) {
	needs.Userns(t)
	needs.Seccomp(t)
	for _, c := range []struct {
		name  string
		nr    uint32
		arg   int
		bits  uint32
		errno unix.Errno
		step  Step
		want  bool
	}{
		{"no user namespace by a filter", unix.SYS_CLONE, 0, unix.CLONE_NEWUSER, unix.EPERM, StepNamespaces, true},
		{"no user namespace by the kernel", unix.SYS_CLONE, 0, unix.CLONE_NEWUSER, unix.ENOSYS, StepNamespaces, true},
		{"too many namespaces", unix.SYS_CLONE, 0, unix.CLONE_NEWUSER, unix.ENOSPC, StepNamespaces, true},
		{"too deep", unix.SYS_CLONE, 0, unix.CLONE_NEWUSER, unix.EUSERS, StepNamespaces, true},
		{"no memory", unix.SYS_CLONE, 0, unix.CLONE_NEWUSER, unix.ENOMEM, StepNamespaces, false},
		{"no rights in it, as AppArmor has it", unix.SYS_MOUNT, 3, unix.MS_PRIVATE, unix.EACCES, StepPrivate, true},
		{"no mounts by a filter", unix.SYS_MOUNT, 3, unix.MS_PRIVATE, unix.EPERM, StepPrivate, true},
		{"a broken mount", unix.SYS_MOUNT, 3, unix.MS_PRIVATE, unix.EINVAL, StepPrivate, false},
		{"no file system by a filter", unix.SYS_FSOPEN, 1, 1, unix.EPERM, StepRoot, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !needs.InChild(t) {
				return
			}
			runtime.LockOSThread()
			r := newRoom(t)
			refuse(t, c.nr, c.arg, c.bits, c.errno)
			_, err := Start(r.request("exit 0"))
			var e *Error
			if !errors.As(err, &e) || e.Step != c.step || e.Errno != c.errno || e.NotOffered() != c.want {
				t.Errorf("%v (step %v); want %v, %v, not offered %v", err, e.Step, c.step, c.errno, c.want)
			}
			noChild(t)
		})
	}
	for _, e := range []*Error{{Step: StepClone, Errno: unix.EPERM}, {Step: StepMount, Errno: unix.EPERM}, {Step: StepExec, Errno: unix.EACCES}} {
		if e.NotOffered() {
			t.Errorf("%v counts as not offered", e)
		}
	}
}

// An ordinary user may map nobody but himself.
func TestMapsOfOthersAreRefused(t *testing.T) {
	needs.User(t)
	r := newRoom(t)
	r.ns.UIDMap = []IDMap{{0, 0, 1000}}
	if _, err := Start(r.request("exit 0")); !isStep(err, StepMaps, unix.EPERM) {
		t.Errorf("%v, want EPERM", err)
	}
	r.ns.UIDMap = []IDMap{{Inside: 0, Outside: uint32(os.Getuid()), Count: 1}}
	if out, _ := r.run("id -u"); out != "0\n" { // positive control
		t.Errorf("uid inside: %q", out)
	}
	noChild(t)
}
