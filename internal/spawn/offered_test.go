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
		{"no such call in an older kernel", unix.SYS_FSOPEN, 1, 1, unix.ENOSYS, StepRoot, true},
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
	for _, e := range []*Error{
		{Step: StepClone, Errno: unix.EPERM},
		{Step: StepMount, Errno: unix.EPERM},
		{Step: StepExec, Errno: unix.EACCES},
		{Step: StepNested, Errno: unix.EIO},
		{Step: StepNested, Errno: unix.ENOENT},
		{Step: StepProc, Errno: unix.ENOSYS},
		{Step: StepProc, Errno: unix.EBUSY},
		{Step: StepPrivate, Errno: unix.EROFS},
	} {
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

// try refuses one call of this thread and tries.
func try(t *testing.T, n *Namespaces) *Error {
	t.Helper()
	err := Try(n)
	noChild(t)
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("not an Error: %v", err)
	}
	return e
}

// A trial finds what a start would, runs nothing, and leaves nothing.
func TestTry(t *testing.T) {
	needs.Userns(t)
	needs.Seccomp(t)
	before := state(t)
	for _, n := range []*Namespaces{{}, {Net: true}, {Userns: true}, newRoom(t).ns} {
		if e := try(t, n); e != nil {
			t.Errorf("%+v: %v", n, e)
		}
	}
	if after := state(t); after.mounts != before.mounts {
		t.Errorf("mounts changed:\n%s\nbefore\n%s", after.mounts, before.mounts)
	}
	for _, c := range []struct {
		name  string
		nr    uint32
		arg   int
		bits  uint32
		errno unix.Errno
		step  Step
		want  bool
	}{
		{"no user namespace", unix.SYS_CLONE, 0, unix.CLONE_NEWUSER, unix.EPERM, StepNamespaces, true},
		{"no network namespace", unix.SYS_CLONE, 0, unix.CLONE_NEWNET, unix.ENOSPC, StepNamespaces, true},
		{"no rights in it", unix.SYS_MOUNT, 3, unix.MS_PRIVATE, unix.EACCES, StepPrivate, true},
		{"no /proc", unix.SYS_FSMOUNT, 2, unix.MOUNT_ATTR_RDONLY, unix.EPERM, StepProc, true},
		{"a broken /proc", unix.SYS_FSMOUNT, 2, unix.MOUNT_ATTR_RDONLY, unix.EINVAL, StepProc, false},
		{"no file system", unix.SYS_FSOPEN, 1, 1, unix.EPERM, StepRoot, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !needs.InChild(t) {
				return
			}
			runtime.LockOSThread()
			refuse(t, c.nr, c.arg, c.bits, c.errno)
			e := try(t, &Namespaces{Net: true})
			if e == nil || e.Step != c.step || e.Errno != c.errno || e.NotOffered() != c.want {
				t.Errorf("%v; want %v, %v, not offered %v", e, c.step, c.errno, c.want)
			}
		})
	}
}

// A /proc that is covered in part is given to nobody as a whole: what containers do.
func TestTryWhereProcIsCovered(t *testing.T) {
	needs.Userns(t)
	for _, c := range []struct {
		name  string
		mount func() error
		step  Step
		errno unix.Errno
	}{
		{"whole", func() error { return nil }, 0, 0},
		{"a covered part", func() error { return unix.Mount("tmpfs", "/proc/irq", "tmpfs", 0, "") }, StepProc, unix.EPERM},
		{"a covered file", func() error { return unix.Mount("/dev/null", "/proc/version", "", unix.MS_BIND, "") }, StepProc, unix.EPERM},
		{"a read-only part", func() error {
			return errors.Join(unix.Mount("/proc/sys", "/proc/sys", "", unix.MS_BIND, ""),
				// With what a user namespace may not take off the host's /proc.
				unix.Mount("", "/proc/sys", "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""))
		}, StepNested, unix.EROFS},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !needs.InMounts(t) {
				return
			}
			if err := c.mount(); err != nil {
				t.Fatal(err)
			}
			e := try(t, &Namespaces{})
			switch {
			case c.step == 0 && e != nil:
				t.Error(e)
			case c.step != 0 && (e == nil || e.Step != c.step || e.Errno != c.errno || !e.NotOffered() || !e.Covered()):
				t.Errorf("%v, want %v: %v", e, c.step, c.errno)
			}
		})
	}
}

// What it takes, beside a start that does nothing.
func BenchmarkTry(b *testing.B) {
	needs.Userns(b)
	for b.Loop() {
		if err := Try(&Namespaces{Net: true}); err != nil {
			b.Fatal(err)
		}
	}
}
