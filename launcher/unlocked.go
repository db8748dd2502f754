package launcher

import (
	"golang.org/x/sys/unix"
)

// unlocked are the folders whose modes were changed to let something in them be found or
// moved.
type unlocked []openedUp

type openedUp struct {
	fd   int
	mode uint32
}

// unlock lets the owner of a folder read, write and search it, until restore. It reports
// whether that is new.
func (u *unlocked) unlock(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Mode&0o700 == 0o700 {
		return false
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return false
	}
	if unix.Chmod("/proc/self/fd/"+itoa(own), st.Mode&0o7777|0o700) != nil {
		unix.Close(own)
		return false
	}
	*u = append(*u, openedUp{own, st.Mode & 0o7777})
	return true
}

// restore gives the folders their modes back.
func (u *unlocked) restore() {
	for _, o := range *u {
		_ = unix.Chmod("/proc/self/fd/"+itoa(o.fd), o.mode)
		unix.Close(o.fd)
	}
	*u = nil
}
