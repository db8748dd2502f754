package explain

import (
	"strings"

	"golang.org/x/sys/unix"
)

// onHost is what the host has under a name.
type onHost struct {
	path    string
	status  status
	fd      int
	parent  bool // only the folder is there, in which the name is to be made
	unknown bool // it could not be looked up without asking others
}

// lookOnHost finds a name from the host's root, following every link as a user would. The name
// is the program's choice, and would not leave its sandbox: so nothing is mounted for it, and
// no server is asked for it, of the network or of a user (autofs, fuse(4), nfs(5)).
func lookOnHost(path string, make bool, local func(fd int) bool) onHost {
	none := onHost{fd: -1}
	at := path
	if make {
		at = parentOf(path)
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return none
	}
	defer closeFD(root)
	w := &walker{tid: unix.Gettid(), text: at, how: follow, root: root, fd: -1, local: local}
	got := w.run()
	closeFD(w.fd)
	closeFD(got.parent)
	// Below /proc it would be this process that is looked at.
	if got.state != found || strings.HasPrefix(got.path, "/proc/") {
		closeFD(got.fd)
		none.unknown = got.state == unknown
		return none
	}
	s, ok := statusOf(got.fd)
	if !ok {
		closeFD(got.fd)
		return none
	}
	h := onHost{path: got.path, status: s, fd: got.fd, parent: make}
	if make {
		h.path = strings.TrimSuffix(h.path, "/") + path[strings.LastIndexByte(path, '/'):]
	}
	return h
}

// isLocal reports whether a folder is of a file system that the kernel itself has on its disks
// or in its memory. What is not known is not.
func isLocal(fd int) bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil {
		return false
	}
	switch fs.Type {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.SQUASHFS_MAGIC,
		unix.EROFS_SUPER_MAGIC_V1, unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC, unix.ISOFS_SUPER_MAGIC,
		unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.CGROUP_SUPER_MAGIC,
		unix.DEVPTS_SUPER_MAGIC, zfsMagic, bcachefsMagic:
		return true
	}
	return false
}

// The file systems of statfs(2) that have no name in package unix.
const (
	zfsMagic      = 0x2fc12fc1
	bcachefsMagic = 0xca451a4e
)
