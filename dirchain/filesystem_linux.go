package dirchain

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// identifying are the file systems whose names and inode numbers identify a file:
// names are compared byte by byte (but for what exactNames and geometry refuse),
// no two files that are there at the same time have the same device and inode
// number, and neither changes while the file is held open. Each is here because
// TestFilesystems runs on it; what was never tried is not here.
//
// On overlay, a directory keeps its number while it is held, and a file that is
// copied up while it is held keeps the one of the lower layer, but gets another
// status change time (TestOverlayCopyUp). What type its layers have is not looked
// at: over a lower layer of a network, a file that was not copied up has the number
// that its server says.
//
// On btrfs, a subvolume has a device number of its own without being a mount point:
// it is walked into, and device and inode number together are unique. Only what was
// a subvolume and is an empty directory in a snapshot has the number 2 wherever it
// is; nothing can be made in it (TestBtrfsSubvolume).
//
// On tmpfs without the mount option inode64, numbers wrap around after 2³² files
// (Documentation/filesystems/tmpfs.rst): who makes that many while a [Target] is
// held can make a file that has the number of another.
var identifying = []kind{
	{unix.EXT4_SUPER_MAGIC, "ext4"}, // ext2 and ext3 too
	{unix.XFS_SUPER_MAGIC, "xfs"},
	{unix.BTRFS_SUPER_MAGIC, "btrfs"},
	{unix.TMPFS_MAGIC, "tmpfs"},
	{unix.OVERLAYFS_SUPER_MAGIC, "overlay"},
}

// others are known by name, for the message alone. Of those that one would expect
// above:
//   - ramfs: its inode numbers are of 32 bits and from one counter of the whole
//     system, which every pipe and socket moves on (get_next_ino in fs/inode.c).
//   - f2fs: never tried here, though it reports folding as ext4 does.
//   - bcachefs: a snapshot has the device and the inode numbers of what it was made
//     of; only stx_subvol of statx(2) differs (Linux 6.10).
//   - zfs: a dataset may compare names without regard to case or Unicode form
//     (casesensitivity and normalization, zfsprops(7)), which no call tells.
//   - fuse, 9p, nfs, cifs, ceph, vboxsf: names and numbers are what a server says.
//   - vfat, exfat, ntfs: names are folded, and numbers may be made up when an inode
//     is read.
var others = []kind{
	{unix.MSDOS_SUPER_MAGIC, "vfat"},
	{unix.EXFAT_SUPER_MAGIC, "exfat"},
	{unix.V9FS_MAGIC, "9p"},
	{unix.NFS_SUPER_MAGIC, "nfs"},
	{unix.FUSE_SUPER_MAGIC, "fuse"},
	{unix.CIFS_SUPER_MAGIC, "cifs"},
	{unix.SMB2_SUPER_MAGIC, "smb2"},
	{unix.SMB_SUPER_MAGIC, "smb"},
	{0x7366746e, "ntfs3"},
	{0x5346544e, "ntfs"},
	{unix.ECRYPTFS_SUPER_MAGIC, "ecryptfs"},
	{unix.CEPH_SUPER_MAGIC, "ceph"},
	{0x786f4256, "vboxsf"},
	{unix.PROC_SUPER_MAGIC, "proc"},
	{unix.SYSFS_MAGIC, "sysfs"},
	{unix.CGROUP2_SUPER_MAGIC, "cgroup2"},
	{unix.DEVPTS_SUPER_MAGIC, "devpts"},
	{unix.DEBUGFS_MAGIC, "debugfs"},
	{unix.TRACEFS_MAGIC, "tracefs"},
	{unix.SECURITYFS_MAGIC, "securityfs"},
	{unix.BPF_FS_MAGIC, "bpf"},
	{unix.SQUASHFS_MAGIC, "squashfs"},
	{unix.EROFS_SUPER_MAGIC_V1, "erofs"},
	{unix.ISOFS_SUPER_MAGIC, "iso9660"},
	{unix.RAMFS_MAGIC, "ramfs"},
	{unix.F2FS_SUPER_MAGIC, "f2fs"},
	{0xca451a4e, "bcachefs"},
	{0x2fc12fc1, "zfs"},
}

// kind is a type of file system: its magic number (statfs(2)) and its name. The lists are
// short and rarely looked at: a map would be built at every start of every program.
type kind struct {
	magic int64
	name  string
}

// nameOf returns the name of a type; "" if it is not in the list.
func nameOf(list []kind, magic int64) string {
	for _, k := range list {
		if k.magic == magic {
			return k.name
		}
	}
	return ""
}

// foldingInodes is FS_CASEFOLD_FL: names in this directory are compared without
// regard to case and Unicode form (ext4 since Linux 5.2, tmpfs since 6.13, overlay
// over such directories since 6.18; ioctl_iflags(2)).
const foldingInodes = 0x40000000

var (
	errFoldingDirectory = because(ErrFilesystem, "the directory folds upper and lower case")
	errFoldingXFS       = because(ErrFilesystem, "xfs that folds upper and lower case")
)

// writableKind judges a file system by its magic number. Pure.
func writableKind(magic int64) error {
	if nameOf(identifying, magic) != "" {
		return nil
	}
	name := nameOf(others, magic)
	if name == "" {
		name = fmt.Sprintf("type 0x%x", magic)
	}
	return because(ErrFilesystem, name+": its names and inode numbers are not known to identify a file")
}

// writable judges the file system that fd lies on.
func (c *calls) writable(fd int) (refusal, err error) {
	var st unix.Statfs_t
	if err = c.do("fstatfs", func() error { return unix.Fstatfs(fd, &st) }); err != nil {
		return nil, err
	}
	magic := int64(uint32(st.Type))
	if refusal = writableKind(magic); refusal != nil || magic != unix.XFS_SUPER_MAGIC {
		return refusal, nil
	}
	g, err := c.geometry(fd)
	return g.exact(), err
}

// geometry is struct xfs_fsop_geom_v1 (xfs/xfs_fs.h, ioctl_xfs_fsgeometry(2)).
type geometry struct {
	_       [8]uint32
	_       [4]uint64
	_       [16]byte // uuid
	_       [2]uint32
	version int32
	flags   uint32
	_       [3]uint32
}

const (
	geometryCall = 0x80705864 // XFS_IOC_FSGEOMETRY_V1: _IOR('X', 100, struct xfs_fsop_geom_v1)
	geometryFold = 1 << 12    // XFS_FSOP_GEOM_FLAGS_DIRV2CI
)

// exact refuses an xfs that was made with "mkfs.xfs -n version=ci": all its
// directories fold ASCII letters, which their flags do not tell (Linux 6.18). Pure.
func (g geometry) exact() error {
	if g.flags&geometryFold != 0 {
		return errFoldingXFS
	}
	return nil
}

func (c *calls) geometry(fd int) (g geometry, err error) {
	err = c.do("ioctl", func() error {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), geometryCall, uintptr(unsafe.Pointer(&g)))
		if errno != 0 {
			return errno
		}
		return nil
	})
	return g, err
}

// exactNames refuses a directory that folds names: what a protected name is
// there cannot be told by comparing bytes.
func (c *calls) exactNames(dir int) error {
	var flags uint32
	err := c.do("ioctl", func() (err error) { flags, err = unix.IoctlGetUint32(dir, unix.FS_IOC_GETFLAGS); return err })
	return exactFlags(flags, err)
}

// exactFlags judges what FS_IOC_GETFLAGS answered. Pure.
func exactFlags(flags uint32, err error) error {
	switch {
	case errors.Is(err, unix.ENOTTY), errors.Is(err, unix.EOPNOTSUPP):
		return nil // no flags here, so no folding either; ENOSYS would be an outer filter's
	case err != nil:
		return err
	case flags&foldingInodes != 0:
		return errFoldingDirectory
	}
	return nil
}
