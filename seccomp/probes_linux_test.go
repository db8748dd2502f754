package seccomp

import (
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// The names of outcomes that are not errors.
const (
	done   = "ok"
	asFree = "" // whatever the call gives without a filter
)

// probe is one call with harmless arguments, by its number so that nothing
// stands between it and the filter. Without a filter it must not give what the
// filter is to give.
type probe struct {
	id   string // row of the escape matrix
	name string
	args []uintptr
	want func(Options) string
}

func refused(errno string) func(Options) string { return func(Options) string { return errno } }

func free(Options) string { return asFree }

// unlessOpen refuses but for options that allow.
func unlessOpen(errno string, open func(Options) bool) func(Options) string {
	return func(o Options) string {
		if open(o) {
			return asFree
		}
		return errno
	}
}

func hasDebug(o Options) bool      { return o.Debug }
func hasNamespaces(o Options) bool { return o.Namespaces }
func hasUnix(o Options) bool       { return o.UnixSockets || o.Namespaces }
func hasBroker(o Options) bool     { return o.UnixBroker && !hasUnix(o) }
func isHost(o Options) bool        { return o.Network == NetHost }
func hasUDP(o Options) bool        { return o.Network >= NetPortsDNS }
func hasTCP(o Options) bool        { return o.Network >= NetPorts }

const (
	bad  = ^uintptr(0) // no descriptor, no address
	high = 1 << 32     // what a comparison of 64 bits would stumble over
)

func probes() []probe {
	return slices.Concat(kernelProbes(), processProbes(), socketProbes(), fileProbes())
}

func kernelProbes() []probe {
	eperm, enosys := refused("EPERM"), refused("ENOSYS")
	return []probe{
		{"NS-01", "unshare", []uintptr{unix.CLONE_NEWUTS}, eperm},
		{"NS-02", "unshare", []uintptr{unix.CLONE_NEWTIME}, eperm},
		{"NS-02", "unshare", []uintptr{unix.CLONE_NEWUTS | high}, eperm},
		{"NS-02", "unshare", []uintptr{unix.CLONE_SYSVSEM}, free}, // CLONE_FILES would hurt the Go runtime
		{"NS-02", "clone", []uintptr{unix.CLONE_NEWPID | unix.CLONE_THREAD}, eperm},
		{"CLONE_PARENT", "clone", []uintptr{unix.CLONE_PARENT | unix.CLONE_THREAD}, eperm},
		{"NS-03", "clone3", []uintptr{0, 0}, enosys},
		{"NS-04", "setns", []uintptr{bad, 0}, eperm},
		{"NS-05", "mount", []uintptr{1, 1, 1, 0, 0}, eperm},
		{"NS-05", "umount2", []uintptr{1, bad}, eperm},
		{"NS-05", "pivot_root", []uintptr{1, 1}, eperm},
		{"NS-06", "open_tree", []uintptr{bad, 1, bad}, eperm},
		{"NS-06", "open_tree_attr", []uintptr{bad, 1, bad, 0, 0}, eperm},
		{"NS-06", "fsopen", []uintptr{1, bad}, eperm},
		{"NS-06", "fsmount", []uintptr{bad, bad, 0}, eperm},
		{"NS-06", "fspick", []uintptr{bad, 1, bad}, eperm},
		{"NS-06", "fsconfig", []uintptr{bad, 99, 0, 0, 0}, eperm},
		{"NS-06", "move_mount", []uintptr{bad, 1, bad, 1, bad}, eperm},
		{"NS-06", "mount_setattr", []uintptr{bad, 1, 0, 0, 0}, eperm},
		{"NS-07", "chroot", []uintptr{1}, eperm},
		{"NS-18", "bpf", []uintptr{999, 0, 0}, eperm},
		{"NS-18", "perf_event_open", []uintptr{1, 0, 0, bad, 0}, eperm},
		{"NS-18", "userfaultfd", []uintptr{0x4000}, eperm},
		{"NS-18", "keyctl", []uintptr{9999}, eperm},
		{"NS-19", "add_key", []uintptr{1, 1, 0, 0, 0}, eperm},
		{"NS-18", "request_key", []uintptr{1, 1, 0, 0}, eperm},
		{"NS-20", "init_module", []uintptr{1, 1, 1}, eperm},
		{"NS-20", "finit_module", []uintptr{bad, 1, 0}, eperm},
		{"NS-20", "delete_module", []uintptr{1, 0}, eperm},
		{"NS-20", "reboot", []uintptr{0, 0, 0, 0}, eperm},
		{"NS-20", "swapon", []uintptr{1, 0}, eperm},
		{"NS-20", "acct", []uintptr{1}, eperm},
		{"NS-20", "settimeofday", []uintptr{1, 0}, eperm},
		{"NS-20", "clock_settime", []uintptr{99, 1}, eperm},
		{"NS-20", "adjtimex", []uintptr{1}, eperm},
		{"NS-20", "sethostname", []uintptr{1, 99999}, eperm},
		{"NS-20", "syslog", []uintptr{99, 0, 0}, eperm},
		{"NS-21", "personality", []uintptr{0x0400000}, eperm},
		{"NS-21", "personality", []uintptr{0xffffffff}, free},
		{"NS-24", "landlock_create_ruleset", []uintptr{0, 0, 1}, free},
		{"NS-23", "prctl", []uintptr{unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0}, free},
		{"SC-05", "io_uring_setup", []uintptr{0, 1}, enosys},
		{"SC-05", "io_uring_enter", []uintptr{bad, 0, 0, 0, 0, 0}, enosys},
		{"SC-05", "io_uring_register", []uintptr{bad, 0, 0, 0}, enosys},
		{"MD-13", "fanotify_init", []uintptr{bad, 0}, eperm},
		{"MD-15", "statmount", []uintptr{1, 1, 1, 0}, enosys},
		{"MD-15", "listmount", []uintptr{1, 1, 1, 0}, enosys},
		{"MD-15", "quotactl", []uintptr{bad, 1, 0, 0}, eperm},
		{"SC-06", "memfd_secret", []uintptr{bad}, enosys},
	}
}

func processProbes() []probe {
	debug := unlessOpen("EPERM", hasDebug)
	eperm := refused("EPERM")
	sysv := unlessOpen("EPERM", hasNamespaces)
	return []probe{
		{"PR-01", "ptrace", []uintptr{16, bad, 0, 0}, debug},
		{"PR-02", "process_vm_readv", []uintptr{bad, 0, 0, 0, 0, 0}, debug},
		{"PR-02", "process_vm_writev", []uintptr{bad, 0, 0, 0, 0, 0}, debug},
		{"PR-03", "pidfd_getfd", []uintptr{bad, 0, 0}, debug},
		{"PR-13", "kcmp", []uintptr{bad, bad, 99, 0, 0}, debug},
		{"PR-13", "process_madvise", []uintptr{bad, 0, 0, 0, 0}, eperm},
		{"PR-13", "process_mrelease", []uintptr{bad, 0}, eperm},
		{"PR-13", "move_pages", []uintptr{0, 0, 0, 0, 0, 0x8000}, eperm},
		{"PR-13", "get_robust_list", []uintptr{bad, 1, 1}, eperm},
		{"PR-13", "get_robust_list", []uintptr{0, 1, 1}, free},
		{"PR-11", "prlimit64", []uintptr{1, unix.RLIMIT_NOFILE, 0, 0}, eperm},
		{"PR-11", "prlimit64", []uintptr{0, unix.RLIMIT_NOFILE, 0, 0}, free},
		{"PR-11", "prlimit64", []uintptr{high, unix.RLIMIT_NOFILE, 0, 0}, free},
		{"IP-15", "shmget", []uintptr{0, 0, 0}, sysv},
		{"IP-15", "msgget", []uintptr{0x7fff1234, 0}, sysv},
		{"IP-15", "semget", []uintptr{0x7fff1234, 0, 0}, sysv},
		{"IP-16", "mq_open", []uintptr{1, 0, 0, 0}, sysv},
		{"NS-23", "prctl", []uintptr{unix.PR_SET_MM, 99, 0, 0, 0}, eperm},
		{"NS-23", "prctl", []uintptr{unix.PR_MCE_KILL, 99, 0, 0, 0}, eperm},
		{"NS-23", "prctl", []uintptr{unix.PR_SET_PTRACER, 0, 0, 0, 0}, debug},
		{"NS-23", "prctl", []uintptr{unix.PR_GET_DUMPABLE, 0, 0, 0, 0}, free},
	}
}

func socketProbes() []probe {
	tcp, udp, host := unlessOpen("EPERM", hasTCP), unlessOpen("EPERM", hasUDP), unlessOpen("EPERM", isHost)
	unixOnly := unlessOpen("EPERM", hasUnix)
	brokered := unlessOpen("EPERM", func(o Options) bool { return hasUnix(o) || hasBroker(o) })
	notified := unlessOpen("ENOSYS", func(o Options) bool { return !hasBroker(o) })
	eperm, family := refused("EPERM"), refused("EAFNOSUPPORT")
	route := unlessOpen("EPERM", func(o Options) bool { return isHost(o) || o.Network == NetNone && o.Namespaces })
	listen := unlessOpen("EPERM", func(o Options) bool {
		return isHost(o) || o.Network == NetNone && (hasUnix(o) || hasBroker(o)) || o.Network != NetNone && o.Listen
	})
	const flags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	all := []probe{
		{"SC-04", "socket", []uintptr{unix.AF_VSOCK | high, unix.SOCK_STREAM, 0}, family},
		{"NW-01", "socket", []uintptr{unix.AF_INET, unix.SOCK_STREAM | flags, 0}, tcp},
		{"NW-01", "socket", []uintptr{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP}, tcp},
		{"NW-03", "socket", []uintptr{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, eperm},
		{"NW-03", "socket", []uintptr{unix.AF_INET | high, unix.SOCK_STREAM | high, unix.IPPROTO_MPTCP | high}, eperm},
		{"NW-06", "socket", []uintptr{unix.AF_INET, unix.SOCK_DGRAM, 0}, udp},
		{"NW-06", "socket", []uintptr{unix.AF_INET6, unix.SOCK_DGRAM | flags, unix.IPPROTO_UDP}, udp},
		{"NW-12", "socket", []uintptr{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, eperm},
		{"NW-12", "socket", []uintptr{unix.AF_INET, 10 /* SOCK_PACKET */, 0}, eperm},
		{"NW-13", "socket", []uintptr{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, eperm},
		{"NW-13", "socket", []uintptr{unix.AF_INET, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP}, eperm},
		{"NW-10", "listen", []uintptr{bad, 1}, listen},
		{"NW-04", "sendto", []uintptr{bad, 0, 0, unix.MSG_FASTOPEN, 0, 0}, host},
		{"NW-04", "sendto", []uintptr{bad, 0, 0, unix.MSG_FASTOPEN | high, 0, 0}, host},
		{"NW-04", "sendto", []uintptr{bad, 0, 0, unix.MSG_NOSIGNAL, 0, 0}, free},
		{"NW-04", "sendmsg", []uintptr{bad, 0, unix.MSG_FASTOPEN}, host},
		{"NW-04", "sendmmsg", []uintptr{bad, 0, 0, unix.MSG_FASTOPEN}, host},
		{"IP-03", "socket", []uintptr{unix.AF_UNIX, unix.SOCK_STREAM | flags, 0}, brokered},
		{"IP-03", "socket", []uintptr{unix.AF_UNIX, unix.SOCK_RAW, 0}, unixOnly},
		{"IP-03", "connect", []uintptr{bad, 0, 0}, notified},
		{"IP-04", "socket", []uintptr{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}, brokered},
		{"IP-04", "socket", []uintptr{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, unixOnly},
		{"IP-19", "socket", []uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, route},
		{"IP-21", "socketpair", []uintptr{unix.AF_UNIX, unix.SOCK_DGRAM, 0, 0}, unixOnly},
		{"IP-21", "socketpair", []uintptr{unix.AF_UNIX, unix.SOCK_RAW, 0, 0}, unixOnly},
		{"IP-21", "socketpair", []uintptr{unix.AF_UNIX | high, unix.SOCK_DGRAM | flags | high, 0, 0}, unixOnly},
		{"IP-17", "socketpair", []uintptr{unix.AF_UNIX, unix.SOCK_STREAM | flags, 0, 0}, free},
		{"IP-17", "socketpair", []uintptr{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0, 0}, free},
		{"IP-18", "socketpair", []uintptr{unix.AF_TIPC, unix.SOCK_STREAM, 0, 0}, refused("EAFNOSUPPORT")},
	}
	for _, proto := range []uintptr{
		unix.NETLINK_AUDIT, unix.NETLINK_KOBJECT_UEVENT, unix.NETLINK_SOCK_DIAG,
		unix.NETLINK_NETFILTER, unix.NETLINK_GENERIC,
	} {
		all = append(all, probe{"IP-19", "socket", []uintptr{unix.AF_NETLINK, unix.SOCK_RAW, proto}, eperm})
	}
	for _, af := range []uintptr{
		unix.AF_VSOCK, unix.AF_ALG, unix.AF_PACKET, unix.AF_KEY, unix.AF_XDP, unix.AF_CAN,
		unix.AF_BLUETOOTH, unix.AF_RDS, unix.AF_TIPC, unix.AF_SMC, unix.AF_QIPCRTR,
	} {
		all = append(all, probe{"IP-18", "socket", []uintptr{af, unix.SOCK_STREAM, 0}, family})
		all = append(all, probe{"IP-18", "socket", []uintptr{af, unix.SOCK_RAW, 0}, family})
	}
	return all
}

func fileProbes() []probe {
	eperm := refused("EPERM")
	xattr := unlessOpen("EOPNOTSUPP", hasNamespaces)
	all := []probe{
		{"MD-14", "name_to_handle_at", []uintptr{bad, 1, 1, 1, 0}, refused("ENOSYS")},
		{"MD-14", "open_by_handle_at", []uintptr{bad, 1, 0}, eperm},
		{"MD-04", "setxattr", []uintptr{1, 1, 0, 0, 0}, xattr},
		{"MD-04", "fsetxattr", []uintptr{bad, 1, 0, 0, 0}, xattr},
		{"MD-04", "lremovexattr", []uintptr{1, 1}, xattr},
		{"MD-05", "setxattrat", []uintptr{bad, 1, 0, 1, 0, 0}, xattr},
		{"MD-05", "removexattrat", []uintptr{bad, 1, 0, 1}, xattr},
		{"MD-06", "file_setattr", []uintptr{bad, 1, 0, 0, 0}, eperm},
		{"MD-06", "file_getattr", []uintptr{bad, 1, 0, 0, 0}, refused("ENOSYS")}, // not in the base list
		{"MD-06", "ioctl", []uintptr{bad, unix.FS_IOC_SETFLAGS, 0}, eperm},
		{"MD-06", "ioctl", []uintptr{bad, 0x401c5820, 0}, eperm},
		{"MD-08", "fchmod", []uintptr{bad, 0o4755}, eperm},
		{"MD-08", "fchmod", []uintptr{bad, 0o4755 | high}, eperm},
		{"MD-08", "fchmod", []uintptr{bad, 0o2755}, free},
		{"MD-08", "fchmodat", []uintptr{bad, 1, 0o6000}, eperm},
		{"MD-08", "fchmodat2", []uintptr{bad, 1, 0o4000, 0}, eperm},
		{"MD-08", "fchmodat2", []uintptr{bad, 1, 0o755, 0}, free},
		{"MD-08", "mknodat", []uintptr{bad, 1, 0o2644, 0}, eperm},
		{"FS-11", "mknodat", []uintptr{bad, 1, unix.S_IFCHR | 0o600, 0}, eperm},
		{"FS-11", "mknodat", []uintptr{bad, 1, unix.S_IFBLK | 0o600, 0}, eperm},
		{"FS-11", "mknodat", []uintptr{bad, 1, unix.S_IFIFO | 0o600, 0}, free},
		{"FS-15", "renameat2", []uintptr{bad, 1, bad, 1, unix.RENAME_WHITEOUT}, eperm},
		{"FS-15", "renameat2", []uintptr{bad, 1, bad, 1, unix.RENAME_WHITEOUT | unix.RENAME_NOREPLACE | high}, eperm},
		{"FS-15", "renameat2", []uintptr{bad, 1, bad, 1, unix.RENAME_EXCHANGE}, free},
		{"TT-01", "ioctl", []uintptr{bad, unix.TIOCSTI, 0}, eperm},
		{"SC-03", "ioctl", []uintptr{bad, unix.TIOCSTI | high, 0}, eperm},
		{"TT-02", "ioctl", []uintptr{bad, 0x541c, 0}, eperm},
		{"TT-03", "ioctl", []uintptr{bad, unix.TIOCSETD, 0}, eperm},
		{"TT-03", "ioctl", []uintptr{bad, unix.TIOCCONS, 0}, eperm},
		{"TT-03", "ioctl", []uintptr{bad, unix.TIOCVHANGUP, 0}, eperm},
		{"TT-03", "ioctl", []uintptr{bad, unix.TIOCGWINSZ, 0}, free},
		{"MD-08", "openat", []uintptr{bad, 1, unix.O_CREAT, 0o4644}, unlessOpen("EPERM", userOnly)},
		{"MD-08", "openat", []uintptr{bad, 1, unix.O_TMPFILE | unix.O_RDWR, 0o2644}, unlessOpen("EPERM", userOnly)},
		{"MD-08", "openat", []uintptr{bad, 1, unix.O_CREAT, 0o644}, free},
		{"MD-08", "openat", []uintptr{bad, 1, unix.O_RDWR, 0o6644}, free},
		{"MD-08", "openat2", []uintptr{bad, 1, 1, 24}, unlessOpen("ENOSYS", userOnly)},
	}
	if runtime.GOARCH != "amd64" {
		return all
	}
	return append(all,
		probe{"MD-08", "chmod", []uintptr{1, 0o4755}, eperm},
		probe{"MD-08", "mknod", []uintptr{1, 0o4644, 0}, eperm},
		probe{"MD-08", "open", []uintptr{1, unix.O_CREAT, 0o4644}, unlessOpen("EPERM", userOnly)},
		probe{"MD-08", "creat", []uintptr{1, 0o4644}, unlessOpen("EPERM", userOnly)},
		probe{"NS-20", "modify_ldt", []uintptr{0x99, 0, 0}, eperm},
		probe{"NS-20", "ioperm", []uintptr{bad, bad, 1}, eperm},
	)
}

func userOnly(o Options) bool { return !o.KeepsRoot }
