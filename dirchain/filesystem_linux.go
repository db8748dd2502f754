package dirchain

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// filesystems whose names and inode numbers identify a file: names are compared
// byte by byte (but for folding directories, which are looked for one by one),
// and the inode number of what is held open does not change. Overlay is here
// because a test holds it: a directory that is copied up keeps its number while
// it is held, and a file is never judged by the number of its lower layer.
var identifying = map[int64]string{
	unix.EXT4_SUPER_MAGIC:      "ext4", // ext2 and ext3 too
	unix.XFS_SUPER_MAGIC:       "xfs",
	unix.BTRFS_SUPER_MAGIC:     "btrfs",
	unix.F2FS_SUPER_MAGIC:      "f2fs",
	unix.TMPFS_MAGIC:           "tmpfs",
	unix.RAMFS_MAGIC:           "ramfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	0xca451a4e:                 "bcachefs",
	0x2fc12fc1:                 "zfs",
}

// others are known by name, for the message alone.
var others = map[int64]string{
	unix.MSDOS_SUPER_MAGIC: "vfat", unix.EXFAT_SUPER_MAGIC: "exfat", unix.V9FS_MAGIC: "9p",
	unix.NFS_SUPER_MAGIC: "nfs", unix.FUSE_SUPER_MAGIC: "fuse", unix.CIFS_SUPER_MAGIC: "cifs",
	unix.SMB2_SUPER_MAGIC: "smb2", unix.SMB_SUPER_MAGIC: "smb", 0x7366746e: "ntfs3", 0x5346544e: "ntfs",
	unix.ECRYPTFS_SUPER_MAGIC: "ecryptfs", unix.CEPH_SUPER_MAGIC: "ceph", 0x786f4256: "vboxsf",
	unix.PROC_SUPER_MAGIC: "proc", unix.SYSFS_MAGIC: "sysfs", unix.CGROUP2_SUPER_MAGIC: "cgroup2",
	unix.DEVPTS_SUPER_MAGIC: "devpts", unix.DEBUGFS_MAGIC: "debugfs", unix.TRACEFS_MAGIC: "tracefs",
	unix.SECURITYFS_MAGIC: "securityfs", unix.BPF_FS_MAGIC: "bpf",
}

// foldingInodes is FS_CASEFOLD_FL: names in this directory are compared without
// regard to case and Unicode form (ext4, f2fs, tmpfs; ioctl_iflags(2)).
const foldingInodes = 0x40000000

// writableKind judges a file system by its magic number. Pure.
func writableKind(magic int64) error {
	if _, ok := identifying[magic]; ok {
		return nil
	}
	name, ok := others[magic]
	if !ok {
		name = fmt.Sprintf("type 0x%x", magic)
	}
	return because(ErrFilesystem, name+": its names or inode numbers do not identify a file")
}

// magic is the type of the file system that fd lies on (statfs(2)).
func (c *calls) magic(fd int) (int64, error) {
	var st unix.Statfs_t
	err := c.do("fstatfs", func() error { return unix.Fstatfs(fd, &st) })
	return int64(uint32(st.Type)), err
}

// exactNames refuses a directory that folds names: what a protected name is
// there cannot be told by comparing bytes.
func (c *calls) exactNames(dir int) error {
	var flags int
	err := c.do("ioctl", func() (err error) { flags, err = unix.IoctlGetInt(dir, unix.FS_IOC_GETFLAGS); return err })
	switch {
	case errors.Is(err, unix.ENOTTY), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return nil // no flags here, so no folding either
	case err != nil:
		return err
	case flags&foldingInodes != 0:
		return because(ErrFilesystem, "the directory folds upper and lower case")
	}
	return nil
}
