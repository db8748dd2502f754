package needs

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// InMounts is [InChild] in a mount namespace of the child's own: what the child
// mounts, with the loop devices that mount(8) makes for it, ends with it. As an
// ordinary user the child is root of a user namespace in which it alone is mapped,
// and the test is skipped where there is none (see [Userns]). It is skipped too for a
// root who may not make a mount namespace, and fails then where "root" must run.
func InMounts(t *testing.T, env ...string) bool {
	t.Helper()
	if IsChild(t) {
		return true
	}
	if os.Geteuid() == 0 {
		need(t, wordRoot, func() error { return tryClone(0, unix.CLONE_NEWNS) })
	} else {
		Userns(t)
	}
	runChild(t, ownMounts(), env)
	return false
}

// ownMounts starts a program in a mount namespace of its own, as an ordinary user
// as root of an own user namespace. (*exec.Cmd).Start makes its root private.
func ownMounts() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		attr.Cloneflags = unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}
