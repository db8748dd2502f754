package launcher

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
	"brainbox/policy"
	"brainbox/seccomp"
)

// probes lists what the finished confinement must refuse before the program starts: a
// write outside every grant, a socket family, a system call. With a filter of the
// operator's own only what that filter refuses can be asked for.
func (p *Plan) probes(canary string, filter seccomp.Program) []spawn.Probe {
	var list []spawn.Probe
	owned := true
	if ok, _ := p.Allows(policy.RightWrite, canary); ok && p.Isolation == "namespaces" {
		canary, owned = "/canary", false // a grant holds the run's folder; the root is never one
	}
	if ok, _ := p.Allows(policy.RightWrite, canary); !ok {
		// The program's user may write there by the folder's mode, and by the file's where
		// it is another user, who could not make one. A folder, because making one takes no
		// descriptor: --nofile may have left none.
		probe := spawn.Probe{
			Name: "a write outside every grant", Nr: unix.SYS_MKDIRAT, PathArg: 1, Path: canary,
			Args:   [6]uintptr{^uintptr(99), 0, 0o700}, // AT_FDCWD
			Errnos: []syscall.Errno{unix.EACCES, unix.ENOENT, unix.EROFS},
		}
		if p.Identity != nil && owned {
			probe.Nr, probe.Args[2] = unix.SYS_OPENAT, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW
		}
		list = append(list, probe)
	}
	for _, c := range []spawn.Probe{
		{Name: "socket(AF_VSOCK)", Nr: unix.SYS_SOCKET, Args: [6]uintptr{unix.AF_VSOCK, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}},
		{Name: "io_uring_setup", Nr: unix.SYS_IO_URING_SETUP},
	} {
		if errno, refused := answer(filter, c); refused {
			c.Errnos = []syscall.Errno{errno}
			list = append(list, c)
		}
	}
	return list
}

// answer is what a filter says to one call.
func answer(filter seccomp.Program, c spawn.Probe) (syscall.Errno, bool) {
	if len(filter) == 0 {
		return 0, false
	}
	arch, err := seccomp.AuditArch(runtime.GOARCH)
	if err != nil {
		return 0, false
	}
	data := seccomp.Data{Nr: uint32(c.Nr), Arch: arch}
	for i, a := range c.Args {
		data.Args[i] = uint64(a)
	}
	act := filter.Eval(data)
	if errno, ok := act.Errno(); ok {
		return syscall.Errno(errno), true
	}
	return 0, false
}
