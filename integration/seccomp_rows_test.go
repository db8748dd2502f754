package integration

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// Numbers of system calls that package unix does not name on every architecture:
// above 424 all architectures have the same.
const (
	sysOpenTree       = 428
	sysMoveMount      = 429
	sysFsopen         = 430
	sysFsconfig       = 431
	sysFsmount        = 432
	sysFspick         = 433
	sysMountSetattr   = 442
	sysQuotactlFD     = 443
	sysFchmodat2      = 452
	sysStatmount      = 457
	sysListmount      = 458
	sysLsmSetSelfAttr = 460
	sysSetxattrat     = 463
	sysRemovexattrat  = 466
	sysOpenTreeAttr   = 467
	sysFileGetattr    = 468
	sysFileSetattr    = 469
)

// refusedCall is what a call that no program needs is answered with.
var refusedCall = errnos("EPERM", "ENOSYS")

func TestMatrixSystemCalls(t *testing.T) {
	rows := append(append(metadataCalls(), abiRows()...), namespaceRows()...)
	runRows(t, append(append(rows, adminRows()...), argumentRows()...))
}

// metadataCalls are the parts of area B that seccomp holds.
func metadataCalls() []row {
	return slices.Concat(attributeCalls(), modeCalls(), otherCalls())
}

// attributeCalls are extended attributes and the flags of files.
func attributeCalls() []row {
	xattr := errnos("EOPNOTSUPP", "EACCES")
	attr := "s:user.brainbox hex:31 1 0"
	setx := func(nr int, path string) string { return fmt.Sprint(nr, " s:", path, " ", attr) }
	// The flag of a file with extents, which an ext4 file has anyway.
	flags := func(nr int, path, argument string) string {
		return then(openat(path, unix.O_RDONLY), call(unix.SYS_IOCTL, "$1", nr, argument))
	}
	const extents = "u32:0x80000"
	return []row{
		{id: "MD-04", name: "setxattr outside", attempt: setx(unix.SYS_SETXATTR, "{O}/f"), want: xattr},
		{id: "MD-04", name: "lsetxattr in W", attempt: setx(unix.SYS_LSETXATTR, "{W}/f"), want: xattr, ns: []string{"ok"}},
		{
			id: "MD-04", name: "fsetxattr of a readable file",
			attempt: then(openat("{R}/f", 0), call(unix.SYS_FSETXATTR, "$1", attr)), want: last(1, "EOPNOTSUPP"),
		},
		{
			id: "MD-04", name: "removexattr",
			attempt: call(unix.SYS_REMOVEXATTR, "s:{O}/f", "s:user.brainbox"), want: xattr,
			control: then(setx(unix.SYS_SETXATTR, "{O}/f"), call(unix.SYS_REMOVEXATTR, "s:{O}/f", "s:user.brainbox")),
		},
		{
			id: "MD-05", name: "setxattrat by number",
			attempt: call(sysSetxattrat, cwd, "s:{O}/f", 0, "s:user.x", "u64:0,0", 16),
			want:    errnos("ENOSYS", "EOPNOTSUPP"),
		},
		{
			id: "MD-05", name: "removexattrat by number",
			attempt: call(sysRemovexattrat, cwd, "s:{O}/f", 0, "s:user.x"), want: errnos("ENOSYS", "EOPNOTSUPP"),
			differs: true,
		},
		{
			id: "MD-06", name: "file_setattr by number",
			attempt: call(sysFileSetattr, cwd, "s:{O}/f", "buf:24", 24, 0), want: refusedCall,
		},
		{id: "MD-06", name: "FS_IOC_SETFLAGS outside", attempt: flags(0x40086602, "{R}/f", extents), want: last(1, "EPERM")},
		{id: "MD-06", name: "FS_IOC_SETFLAGS in W", attempt: flags(0x40086602, "{W}/f", extents), want: last(1, "EPERM")},
	}
}

// modeCalls are set-id bits, MD-08.
func modeCalls() []row {
	// The flag of a file with extents, which an ext4 file has anyway.
	flags := func(nr int, path, argument string) string {
		return then(openat(path, unix.O_RDONLY), call(unix.SYS_IOCTL, "$1", nr, argument))
	}
	return []row{
		{id: "MD-06", name: "FS_IOC_FSSETXATTR in W", attempt: flags(0x401c5820, "{W}/f", "buf:28"), want: last(1, "EPERM")},
		{
			id: "MD-08", name: "chmod u+s",
			attempt: call(unix.SYS_FCHMODAT, cwd, "s:{W}/f", 0o4755), want: errnos("EPERM"),
		},
		{
			id: "MD-08", name: "fchmod u+s",
			attempt: then(openat("{W}/f", 0), call(unix.SYS_FCHMOD, "$1", 0o4755)), want: last(1, "EPERM"),
		},
		{
			id: "MD-08", name: "fchmodat2 u+s",
			attempt: call(sysFchmodat2, cwd, "s:{W}/f", 0o4755, 0), want: errnos("EPERM", "ENOSYS"),
		},
		{
			id: "MD-08", name: "mknod u+s",
			attempt: call(unix.SYS_MKNODAT, cwd, "s:{W}/n", unix.S_IFREG|0o4755, 0), want: errnos("EPERM"),
		},
		{
			id: "MD-08", name: "mknod g+s",
			attempt: call(unix.SYS_MKNODAT, cwd, "s:{W}/n2", unix.S_IFREG|0o2755, 0), want: errnos("EPERM"),
		},
		{
			id: "MD-08", name: "create u+s as root",
			attempt: call(unix.SYS_OPENAT, cwd, "s:{W}/s", unix.O_CREAT|unix.O_WRONLY, 0o4755),
			want:    errnos("EPERM"), root: true,
		},
	}
}

// otherCalls are watching, handles and quotas.
func otherCalls() []row {
	return []row{
		{
			id: "MD-08", name: "openat2 u+s as root",
			attempt: call(unix.SYS_OPENAT2, cwd, "s:{W}/s2", "u64:0x41,0x9ed,0", 24),
			want:    errnos("ENOSYS", "EPERM"), root: true,
		},
		{id: "MD-13", name: "fanotify_init", attempt: call(unix.SYS_FANOTIFY_INIT, 0x200, 0), want: refusedCall},
		{
			id: "MD-14", name: "name_to_handle_at",
			attempt: call(unix.SYS_NAME_TO_HANDLE_AT, cwd, "s:{R}/f", "u32:128,0,"+zeros(32), "buf:4", 0),
			want:    refusedCall,
		},
		{
			id: "MD-14", name: "open_by_handle_at",
			attempt: call(unix.SYS_OPEN_BY_HANDLE_AT, 3, "buf:8", 0), want: refusedCall, differs: true, root: true,
		},
		{id: "MD-15", name: "quotactl", attempt: call(unix.SYS_QUOTACTL, 0x800001<<8, 0, 0, 0), want: refusedCall},
		{
			id: "MD-15", name: "quotactl_fd",
			attempt: call(sysQuotactlFD, 9999, 0, 0, 0), want: refusedCall, differs: true,
		},
		{
			id: "MD-15", name: "statmount",
			attempt: call(sysStatmount, "buf:24", "buf:64", 64, 0), want: refusedCall, differs: true,
		},
		{
			id: "MD-15", name: "listmount",
			attempt: call(sysListmount, "buf:24", "buf:64", 8, 0), want: refusedCall, differs: true,
		},
	}
}

func zeros(n int) string {
	s := "0"
	for range n - 1 {
		s += ",0"
	}
	return s
}

// namespaceRows is area F, as far as one attempt shows it.
func namespaceRows() []row {
	return slices.Concat(newNamespaceRows(), mountRows(), kernelFileRows())
}

// newNamespaceRows is NS-01 to NS-03.
func newNamespaceRows() []row {
	eperm := errnos("EPERM")
	var rows []row
	for _, ns := range []struct {
		name string
		flag int
	}{
		{"user", unix.CLONE_NEWUSER},
		{"mount", unix.CLONE_NEWNS},
		{"pid", unix.CLONE_NEWPID},
		{"net", unix.CLONE_NEWNET},
		{"ipc", unix.CLONE_NEWIPC},
		{"uts", unix.CLONE_NEWUTS},
		{"cgroup", unix.CLONE_NEWCGROUP},
	} {
		with := ns.flag | unix.CLONE_NEWUSER
		rows = append(rows,
			row{
				id: "NS-01", name: "unshare " + ns.name,
				attempt: fork(call(unix.SYS_UNSHARE, ns.flag)), want: eperm,
				control: fork(call(unix.SYS_UNSHARE, with)),
			},
			row{
				id: "NS-02", name: "clone " + ns.name,
				attempt: fmt.Sprint("clone ", ns.flag), want: eperm, control: fmt.Sprint("clone ", with),
			})
	}
	return append(rows, []row{
		{
			id: "NS-02", name: "unshare time",
			attempt: fork(call(unix.SYS_UNSHARE, unix.CLONE_NEWTIME)), want: eperm,
			control: fork(call(unix.SYS_UNSHARE, unix.CLONE_NEWTIME|unix.CLONE_NEWUSER)),
		},
		{
			id: "NS-02", name: "unshare mount with a high bit",
			attempt: fork(call(unix.SYS_UNSHARE, 1<<40|unix.CLONE_NEWNS)), want: errnos("EPERM"),
			control: fork(call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)),
		},
		{id: "NS-03", name: "clone3", attempt: call(unix.SYS_CLONE3, 0, 0), want: errnos("ENOSYS"), differs: true},
	}...)
}

// mountRows is NS-04 to NS-07.
func mountRows() []row {
	eperm := errnos("EPERM")
	own := func(c string) string { return fork(call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWNS), c) }
	mount := call(unix.SYS_MOUNT, "s:none", "s:/tmp", "s:tmpfs", 0, 0)
	clone := call(sysOpenTree, cwd, "s:/", 1|0x8000)
	root := call(unix.SYS_CHROOT, "s:/")
	dummy := func(name string, nr int, args ...any) row {
		return row{id: "NS-06", name: name, attempt: call(nr, args...), want: refusedCall, differs: true, root: true}
	}
	return []row{
		{id: "NS-04", name: "setns", attempt: call(unix.SYS_SETNS, 9999, 0), want: eperm, differs: true},
		{id: "NS-05", name: "mount", attempt: fork(mount), want: eperm, control: own(mount)},
		dummy("umount2", unix.SYS_UMOUNT2, "s:/nothing", 0),
		dummy("pivot_root", unix.SYS_PIVOT_ROOT, "s:/nothing", "s:/nothing"),
		{id: "NS-06", name: "open_tree clone", attempt: fork(clone), want: refusedCall, control: own(clone)},
		{
			id: "NS-06", name: "fsopen",
			attempt: fork(call(sysFsopen, "s:tmpfs", 0)), want: refusedCall, control: own(call(sysFsopen, "s:tmpfs", 0)),
		},
		dummy("open_tree_attr", sysOpenTreeAttr, 9999, "s:", 0, 0, 0),
		dummy("fsmount", sysFsmount, 9999, 0, 0),
		dummy("fspick", sysFspick, 9999, "s:x", 0),
		dummy("fsconfig", sysFsconfig, 9999, 0, 0, 0, 0),
		dummy("move_mount", sysMoveMount, 9999, "s:", 9999, "s:", 4),
		dummy("mount_setattr", sysMountSetattr, 9999, "s:x", 0, "buf:32", 32),
		{id: "NS-07", name: "chroot", attempt: fork(root), want: eperm, control: own(root)},
	}
}

// kernelFileRows is NS-14 to NS-17, NS-23 and NS-24.
func kernelFileRows() []row {
	const group = "/sys/fs/cgroup/brainbox-escape"
	access := errnos("EACCES")
	allow := func(n int, calls ...string) string { // an allow-all ruleset; n calls are made before
		ruleset, root := fmt.Sprint("$", n+1), fmt.Sprint("$", n+2)
		return self(then(append(calls, call(unix.SYS_LANDLOCK_CREATE_RULESET, "u64:4", 8, 0), openat("/", unix.O_PATH),
			call(unix.SYS_LANDLOCK_ADD_RULE, ruleset, 1, "u64:4,"+root, 0),
			call(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0), openat("{O}/f", 0))...))
	}
	nnp := func(on int) string { return call(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, on, 0, 0, 0) }
	return []row{
		{id: "NS-14", name: "write own uid_map", attempt: openat("/proc/self/uid_map", unix.O_WRONLY), want: access},
		{
			id: "NS-15", name: "write core_pattern",
			attempt: openat("/proc/sys/kernel/core_pattern", unix.O_WRONLY), want: access, root: true,
		},
		{
			id: "NS-15", name: "write sysrq-trigger",
			attempt: openat("/proc/sysrq-trigger", unix.O_WRONLY), want: access, root: true,
		},
		{
			id: "NS-16", name: "make a cgroup", want: last(0, "EACCES"), root: true,
			attempt: then(call(unix.SYS_MKDIRAT, cwd, "s:"+group, 0o755), unlinkat(group, unix.AT_REMOVEDIR)),
		},
		{id: "NS-17", name: "read debugfs", attempt: "list /sys/kernel/debug", want: errnos("EACCES", "ENOENT"), root: true},
		{id: "NS-17", name: "read the kernel's own files", attempt: openat("/sys/kernel/uevent_seqnum", 0), want: access},
		{id: "NS-23", name: "take no_new_privs back", attempt: nnp(0), want: errnos("EINVAL"), inside: nnp(1)},
		{id: "NS-24", name: "an allow all ruleset", attempt: allow(0), control: allow(1, nnp(1)), want: last(4, "EACCES")},
	}
}
