package spawn

import (
	"golang.org/x/sys/unix"

	"brainbox/internal/mutation"
)

// Namespaces starts the program in namespaces of its own: user, mount, pid, ipc, uts and
// cgroup always, net if asked. The program's file system is a new, empty one that Mounts
// fills; its root is read-only. Pid 1 in there is no program but an init of this package,
// which reports to the caller and takes everything with it when it ends.
//
// All of it works for an ordinary user where the kernel lets one make a user namespace.
// It needs Linux 5.12 (mount_setattr(2)); without a /proc of the caller's own it fails.
type Namespaces struct {
	Net      bool   // an own, empty network namespace; false: the caller's
	Loopback bool   // bring its lo up; needs Net
	Hostname string // empty: the caller's

	// Network, if set, is called by the caller's thread when the namespaces and their ids
	// are there, before anything but the init is in them: with descriptors of the user and
	// the network namespace, which are closed when it has returned. An error of it ends the
	// start. It needs Net. Lo is down still: Loopback comes after it, and changes nothing
	// if it is up by then. Start waits for it as long as it takes, and the init is as open
	// to its user as the caller is until then.
	Network func(user, net int) error

	// Userns lets the program make user namespaces of its own, in which it would have every
	// capability again: the kernel's largest surface for an attack. Otherwise none can be
	// made (ENOSPC), whatever a filter says; that needs /proc/sys to be writable, which it
	// is not in most containers (Linux 4.9, namespaces(7)).
	Userns bool

	// UIDMap and GIDMap say which ids exist inside (user_namespaces(7)); nil maps the
	// caller's effective id on itself, and nothing else. Only a caller with CAP_SETUID and
	// CAP_SETGID may map more. The caller's own ids have to be mapped: the init has them.
	UIDMap, GIDMap []IDMap

	// Mounts are carried out in order.
	Mounts []Mount

	// Dir is the working directory inside, absolute; empty is "/". If Request.Dir is
	// given, it has to be that very directory.
	Dir string

	// Reopen are devices inside that take the place of what Request.Stdio hands over: what
	// is opened through a read-only mount can be used, and not be changed (fchmod(2)).
	Reopen [3]Reopen
}

// Reopen is one device, opened with Flags (open(2)) when the file system is there; an empty
// Path is none.
type Reopen struct {
	Path  string
	Flags int
}

// IDMap maps Count ids from Outside on to those from Inside on.
type IDMap struct{ Inside, Outside, Count uint32 }

// MountKind is what one [Mount] does.
type MountKind uint8

// The kinds. "Own" is a place in the file system that is made here, as opposed to one in
// a tree that was bound into it.
const (
	// KindDir makes an own directory with Mode.
	KindDir MountKind = iota + 1
	// KindFile makes an own file with Mode and Data. An empty one is a place to bind to.
	KindFile
	// KindSymlink makes an own symbolic link with the text Source.
	KindSymlink
	// KindFS mounts a new file system of type FSType with Options at an own, empty
	// directory. If it is a tmpfs, what is in it is own too.
	KindFS
	// KindBind binds the file or tree Source, which has to be the one behind Held.
	KindBind
	// KindSelf binds Path, which has to be what is behind Held, on itself: it can be
	// neither renamed nor replaced then, and may be less open than what it lies in. A
	// symbolic link is itself here, not what it leads to.
	KindSelf
	// KindMask hides Path, which has to be what is behind Held, behind an empty directory
	// or file with Mode. In a proc that was mounted here nothing can be held before the
	// start: there Held is 0, and Path is a file.
	KindMask
	// KindSeal makes the KindFS at Path read-only.
	KindSeal
	// KindGrant adds the rights Access beneath the own place Path to Request.Ruleset: what
	// does not exist before the start can be in no ruleset that was made before it.
	KindGrant
)

// Mount is one step in the making of the program's file system. Zero is the narrow
// choice: read-only, no programs, no device nodes. Set-user-id bits never count.
type Mount struct {
	Kind MountKind
	Path string // inside: absolute and clean

	// Source is the host's path of what is bound, without symbolic links: the one under
	// which the caller found what Held is.
	Source string
	// Held is an open descriptor (O_PATH will do) of what is bound or covered.
	Held int
	// Over is the same for the place that a KindBind covers; only needed, and then
	// required, where Path is not an own place.
	Over int

	Writable bool // not read-only
	Exec     bool // programs may be run
	Devices  bool // device nodes work

	// Recursive takes what is mounted below Source along; the attributes hold for it too.
	// The kernel refuses a bind without it (EINVAL) that would uncover something.
	Recursive bool
	// OneMount refuses a Source whose path crosses a mount point (RESOLVE_NO_XDEV).
	OneMount bool

	Mode    uint32   // of KindDir, KindFile and KindMask; the caller's umask does not count
	Data    []byte   // of KindFile
	FSType  string   // of KindFS
	Options []string // of KindFS: "name=value" or "name" (fsconfig(2))
	Access  uint64   // of KindGrant: LANDLOCK_ACCESS_FS_*
}

// attributes are the ones of mount_setattr(2) that hold for m. They are only ever added:
// what a mount of the host forbids stays forbidden, since the kernel locks it in a user
// namespace (mount_namespaces(7)).
func (m *Mount) attributes() uint64 {
	a := uint64(unix.MOUNT_ATTR_NOSUID)
	if mutation.On("suid") {
		a = 0
	}
	for _, x := range []struct {
		open bool
		attr uint64
	}{{m.Writable, unix.MOUNT_ATTR_RDONLY}, {m.Exec, unix.MOUNT_ATTR_NOEXEC}, {m.Devices, unix.MOUNT_ATTR_NODEV}} {
		if !x.open {
			a |= x.attr
		}
	}
	return a
}
