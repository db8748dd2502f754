package broker

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Identity is whom the program runs as.
type Identity struct {
	UID, GID uint32
	Groups   []uint32
}

// identity gives one thread the program's identity, for as long as it acts for the program.
// Only the effective ids change: it is they that a server and the file system see, and
// the real ones keep a program of that user from sending the thread signals (kill(2)).
type identity struct {
	want       *Identity // nil: the user of this process
	keepGroups bool

	other bool // another effective uid than this process has
	uid   uintptr
	own   uintptr
	caps  capabilities
}

// capabilities of a thread.
type capabilities struct {
	head unix.CapUserHeader
	data [2]unix.CapUserData
}

func (c *capabilities) none() bool { return c.data[0].Effective == 0 && c.data[1].Effective == 0 }

func (c *capabilities) get() error {
	c.head = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return os.NewSyscallError("capget", unix.Capget(&c.head, &c.data[0]))
}

// set changes the effective capabilities only.
func (c *capabilities) set(effective bool) error {
	data := c.data
	if !effective {
		data[0].Effective, data[1].Effective = 0, 0
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return os.NewSyscallError("capset", unix.Capset(&head, &data[0]))
}

// same is the id argument that changes nothing (setresuid(2)).
const same = uintptr(^uint32(0))

// prepare gives the calling thread the program's group and groups for good, and shows that
// it can take the program's user and come back. The thread must be locked and never be used
// for anything else.
func (i *identity) prepare() error {
	i.own = uintptr(unix.Geteuid())
	i.uid = i.own
	gid := unix.Getegid()
	switch {
	case i.want != nil:
		if err := setgroups(i.want.Groups); err != nil {
			return err
		}
		i.uid, gid = uintptr(i.want.UID), int(i.want.GID)
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, same, uintptr(gid), same); e != 0 {
			return os.NewSyscallError("setresgid", e)
		}
	case !i.keepGroups:
		// As in the start: an ordinary user may not, and his groups stay.
		if err := setgroups(nil); err != nil && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	i.other = i.uid != i.own
	if err := i.caps.get(); err != nil {
		return err
	}
	return i.rehearse(gid)
}

func (i *identity) rehearse(gid int) error {
	if err := i.enter(); err != nil {
		return err
	}
	var now capabilities
	if err := now.get(); err != nil {
		return err
	}
	if unix.Geteuid() != int(i.uid) || unix.Getegid() != gid || !now.none() {
		return fmt.Errorf("broker: the thread did not become user %d, group %d without capabilities", i.uid, gid)
	}
	if err := i.leave(); err != nil {
		return err
	}
	if err := now.get(); err != nil {
		return err
	}
	if unix.Geteuid() != int(i.own) || now.data != i.caps.data {
		return errors.New("broker: the thread did not come back from the program's identity")
	}
	return nil
}

func setgroups(list []uint32) error {
	var at unsafe.Pointer
	if len(list) > 0 {
		at = unsafe.Pointer(&list[0])
	}
	_, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(list)), uintptr(at), 0)
	return newSyscallError("setgroups", e)
}

// enter makes the calling thread act as the program: its user, no capability.
func (i *identity) enter() error {
	if i.other {
		if err := seteuid(i.uid); err != nil {
			return err
		}
	}
	if i.byHand() {
		return i.caps.set(false)
	}
	return nil
}

// leave undoes enter.
func (i *identity) leave() error {
	if i.other {
		if err := seteuid(i.own); err != nil {
			return err
		}
	}
	if i.byHand() {
		return i.caps.set(true)
	}
	return nil
}

// byHand reports whether the capabilities do not follow the effective user by themselves:
// they do from root to another user and back, if root had all that it may have
// (capabilities(7), "Effect of user ID changes on capabilities"). What is permitted stays,
// since the real user does.
func (i *identity) byHand() bool {
	d := &i.caps.data
	all := d[0].Effective == d[0].Permitted && d[1].Effective == d[1].Permitted
	return !i.caps.none() && (!i.other || i.own != 0 || !all)
}

func seteuid(uid uintptr) error {
	_, _, e := unix.RawSyscall(unix.SYS_SETRESUID, same, uid, same)
	return newSyscallError("setresuid", e)
}

func newSyscallError(name string, e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return os.NewSyscallError(name, e)
}
