package setuid

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"

	"brainbox/internal/setuid/early"
)

// Start is how the process was started. The zero Start is one by root.
type Start struct {
	RUID, EUID, SUID uint32
	RGID, EGID, SGID uint32
	Secure           bool   // AT_SECURE: the kernel raised something (getauxval(3))
	Mode             uint32 // of the program's own file, as stat(2)
	FileCaps         bool   // the file has capabilities, or nobody can say
	Permitted        uint64 // capabilities of the calling thread, a bit each
}

// Look asks the kernel. It acts on the process and changes nothing.
func Look() Start {
	r, e, s := unix.Getresuid()
	rg, eg, sg := unix.Getresgid()
	st := Start{
		RUID: uint32(r), EUID: uint32(e), SUID: uint32(s), RGID: uint32(rg), EGID: uint32(eg), SGID: uint32(sg),
		Secure: early.Secure(), Permitted: permitted(),
	}
	var file unix.Stat_t
	if unix.Stat(ownFile, &file) == nil {
		st.Mode = file.Mode
	}
	_, err := unix.Getxattr(ownFile, "security.capability", nil)
	st.FileCaps = st.Secure && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.EOPNOTSUPP)
	return st
}

const ownFile = "/proc/self/exe"

// needed are the capabilities without which a set-uid start cannot end in what it promises:
// ids, groups, and an empty bounding set. SYS_RESOURCE is used where it is there.
var needed = [...]struct {
	bit  uint
	name string
}{{unix.CAP_SETUID, "CAP_SETUID"}, {unix.CAP_SETGID, "CAP_SETGID"}, {unix.CAP_SETPCAP, "CAP_SETPCAP"}}

// Judge reports whether the file's set-uid bit made the process root's. It refuses every other
// way of being more than the caller is, and a bit without effect. It is pure.
func (s Start) Judge() (raised bool, err error) {
	setid := s.Mode & (unix.S_ISUID | unix.S_ISGID)
	switch {
	case s.RGID != s.EGID || s.RGID != s.SGID || setid&unix.S_ISGID != 0:
		return false, refuse("a set-gid start is not supported", "chmod g-s, and chown it to root with mode 4750")
	case s.RUID == 0 && s.EUID == 0 && s.SUID == 0 && !s.Secure:
		return false, nil // root is who he is, whatever the mode says
	case s.RUID == s.EUID && !s.Secure && setid == 0:
		return false, nil
	case s.RUID == s.EUID && setid != 0: // AT_SECURE is set where a tracer took the privilege away
		return false, refuse("the set-uid bit of this program gave no privilege",
			"the caller has no_new_privs, a tracer or a user namespace, or the file system is mounted nosuid")
	case s.FileCaps || s.RUID == s.EUID:
		return false, refuse("a start with file capabilities is not supported", "setcap -r, and chown it to root with mode 4750")
	case s.EUID != 0 || s.SUID != 0:
		return false, refuse("a set-uid start by another owner than root is not supported", "chown it to root")
	}
	for _, c := range needed {
		if s.Permitted&(1<<c.bit) == 0 {
			return false, refuse("the set-uid start has no "+c.name, "the container or a securebit of the caller keeps it away")
		}
	}
	return true, nil
}

// Refusal is an error with something that can be done about it.
type Refusal struct {
	Message string
	Hint    string // may be empty
	Err     error  // what it answers to, or nil
}

func (r *Refusal) Error() string { return r.Message }

func (r *Refusal) Unwrap() error { return r.Err }

func refuse(message, hint string) error { return &Refusal{Message: message, Hint: hint} }

func permitted() uint64 {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&head, &data[0]) != nil {
		return 0
	}
	return uint64(data[0].Permitted) | uint64(data[1].Permitted)<<32
}

func id(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
