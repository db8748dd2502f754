package launcher

import (
	"golang.org/x/sys/unix"
)

// keepNull gives root's program another descriptor for the host's /dev/null: its owner is
// root, so that one fchmod(2) of standard input would take it from everybody else. A
// descriptor that was opened through a read-only mount refuses that and hinders no write
// (mount_setattr(2), Linux 5.12). Where no mount can be made the caller is not root enough
// to lose anything. The caller closes what is new.
func keepNull(fds [3]int) (out [3]int, opened []int) {
	out = fds
	for i, fd := range fds {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != unix.Mkdev(1, 3) {
			continue
		}
		if n, err := throughReadOnly(fd); err == nil {
			out[i], opened = n, append(opened, n)
		}
	}
	return out, opened
}

// keptFlags are those of a descriptor that one in its place has too.
const keptFlags = unix.O_ACCMODE | unix.O_APPEND | unix.O_NONBLOCK

// throughReadOnly opens what fd shows once more, through a read-only mount that is nowhere
// in the file system.
func throughReadOnly(fd int) (int, error) {
	how, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return -1, err
	}
	tree, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, err
	}
	defer unix.Close(tree)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		return -1, err
	}
	return unix.Open("/proc/self/fd/"+itoa(tree), how&keptFlags|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
}
