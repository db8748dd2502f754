package dirchain

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Identity is what tells one file from every other while somebody holds it open:
// device and inode number, and the mount it is seen through.
type Identity struct {
	Dev   uint64 `json:"dev"`
	Ino   uint64 `json:"ino"`
	Mount uint64 `json:"mount"`
}

// Stat is what one look at a file gave.
type Stat struct {
	ID       Identity
	Mode     uint32 // type and permission bits as in stat(2), inode(7)
	Links    uint32
	UID, GID uint32
	Size     int64 // bytes
	Blocks   int64 // of 512 bytes
	Modified time.Time
	Changed  time.Time // status change: cannot be set back by a program
}

// Type is the file's type in the terms of io/fs.
func (s Stat) Type() fs.FileMode {
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}

// same reports whether nothing that a writer would change is different.
func (s Stat) same(o Stat) bool {
	return s.ID == o.ID && s.Size == o.Size && s.Modified.Equal(o.Modified) && s.Changed.Equal(o.Changed)
}

const statMask = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID

// statAt looks at name in dir and follows no link; with an empty name, at dir itself.
func (c *calls) statAt(dir int, name string) (Stat, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	var x unix.Statx_t
	err := c.do("statx", func() error { return unix.Statx(dir, name, flags, statMask, &x) })
	if err == nil && x.Mask&unix.STATX_MNT_ID != 0 {
		return fromStatx(&x), nil
	}
	if err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return Stat{}, err
	}
	return c.statOld(dir, name) // before Linux 5.8, or an outer filter (EPERM is no answer of statx itself)
}

// statOld is statAt with fstat and the mount id that /proc tells.
func (c *calls) statOld(dir int, name string) (Stat, error) {
	fd := dir
	if name != "" {
		var err error
		if fd, err = c.openat(dir, name, unix.O_PATH, 0); err != nil {
			return Stat{}, err
		}
		defer c.close(fd)
	}
	var st unix.Stat_t
	if err := c.do("fstat", func() error { return unix.Fstat(fd, &st) }); err != nil {
		return Stat{}, err
	}
	mount, err := mountOf(fd)
	if err != nil {
		return Stat{}, err
	}
	return Stat{
		ID:   Identity{Dev: st.Dev, Ino: st.Ino, Mount: mount},
		Mode: st.Mode, Links: uint32(st.Nlink), UID: st.Uid, GID: st.Gid, Size: st.Size, Blocks: st.Blocks,
		Modified: time.Unix(st.Mtim.Unix()), Changed: time.Unix(st.Ctim.Unix()),
	}, nil
}

// mountOf reads the mount id of a descriptor (proc(5), since Linux 3.15).
func mountOf(fd int) (uint64, error) {
	text, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, because(ErrFilesystem, "neither statx nor /proc tells the mount: "+err.Error())
	}
	if err != nil {
		return 0, err // there may be no descriptor for it
	}
	for line := range bytes.Lines(text) {
		if id, ok := bytes.CutPrefix(line, []byte("mnt_id:")); ok {
			return strconv.ParseUint(string(bytes.TrimSpace(id)), 10, 64)
		}
	}
	return 0, because(ErrFilesystem, "neither statx nor /proc tells the mount")
}

func fromStatx(x *unix.Statx_t) Stat {
	return Stat{
		ID:   Identity{Dev: unix.Mkdev(x.Dev_major, x.Dev_minor), Ino: x.Ino, Mount: x.Mnt_id},
		Mode: uint32(x.Mode), Links: x.Nlink, UID: x.Uid, GID: x.Gid, Size: int64(x.Size), Blocks: int64(x.Blocks),
		Modified: time.Unix(x.Mtime.Sec, int64(x.Mtime.Nsec)), Changed: time.Unix(x.Ctime.Sec, int64(x.Ctime.Nsec)),
	}
}
