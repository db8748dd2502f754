package profile

import (
	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Modes (linux/stat.h) and open flags (asm-generic/fcntl.h); these flags have
// the same value on amd64 and arm64.
const (
	sISUID  = 0o4000
	setID   = 0o6000
	sIFMT   = 0o170000
	sIFREG  = 0o100000
	sIFIFO  = 0o010000
	sIFSOCK = 0o140000

	renameWhiteout = 4 // RENAME_WHITEOUT (linux/fs.h)

	oCreat   = 0x40
	oTmpfile = 0x400000 // without the O_DIRECTORY that O_TMPFILE includes
)

// refusedIoctls are the requests that type into a terminal, take it over, or set
// flags on files that Landlock does not rule. The values of those with a size
// are the 64-bit ones.
var refusedIoctls = []uint32{
	0x5412,     // TIOCSTI
	0x541c,     // TIOCLINUX
	0x541d,     // TIOCCONS
	0x5423,     // TIOCSETD
	0x5437,     // TIOCVHANGUP
	0x40086602, // FS_IOC_SETFLAGS
	0x401c5820, // FS_IOC_FSSETXATTR
	0x40806685, // FS_IOC_ENABLE_VERITY
	0xc0046686, // FS_IOC_MEASURE_VERITY
	0xc0286687, // FS_IOC_READ_VERITY_METADATA
	0x800c6613, // FS_IOC_SET_ENCRYPTION_POLICY
	0x40106614, // FS_IOC_GET_ENCRYPTION_PWSALT
	0x400c6615, // FS_IOC_GET_ENCRYPTION_POLICY
	0xc0096616, // FS_IOC_GET_ENCRYPTION_POLICY_EX
	0xc0506617, // FS_IOC_ADD_ENCRYPTION_KEY
	0xc0406618, // FS_IOC_REMOVE_ENCRYPTION_KEY
	0xc0406619, // FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS
	0xc080661a, // FS_IOC_GET_ENCRYPTION_KEY_STATUS
	0x8010661b, // FS_IOC_GET_ENCRYPTION_NONCE
}

func fileGroups() []Group {
	return []Group{{
		Name: "handles", Calls: []string{"name_to_handle_at"}, Does: "ENOSYS", rules: always(enosys),
		Why: "file handles go round every path",
	}, {
		Name: "open by handle", Calls: []string{"open_by_handle_at"}, Does: "EPERM", rules: always(eperm), Why: "as above",
	}, {
		Name: "fanotify", Calls: []string{"fanotify_init", "fanotify_mark"}, Does: "EPERM", rules: always(eperm),
		Why: "listening to files works without privilege under Landlock",
	}, {
		Name: "terminal and file requests", Calls: []string{"ioctl"}, rules: ioctlRules,
		Does: "EPERM for TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCVHANGUP, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, " +
			"fs-verity and fscrypt",
		Why: "typing into the caller's shell; immutable and project flags on files",
	}, {
		Name: "file flags", Calls: []string{"file_setattr"}, Does: "EPERM", rules: always(eperm),
		Why: "the call form of FS_IOC_FSSETXATTR",
	}, {
		Name: "extended attributes", Does: "EOPNOTSUPP; allowed with Namespaces", rules: unless(namespaces, eopnotsupp),
		Calls: []string{
			"setxattr", "lsetxattr", "fsetxattr", "setxattrat",
			"removexattr", "lremovexattr", "fremovexattr", "removexattrat",
		},
		Why: "Landlock does not rule them; cp, tar and rsync accept this answer",
	}, {
		Name: "set-user-id bit", Calls: []string{"chmod", "fchmod"}, rules: anyBit(1, sISUID),
		Does: "EPERM with mode & 04000", Why: "leaves a set-user-id file for others; 02000 is needed on folders",
	}, {
		Name: "set-user-id bit by folder", Calls: []string{"fchmodat", "fchmodat2"}, rules: anyBit(2, sISUID),
		Does: "EPERM with mode & 04000", Why: "as chmod",
	}, {
		Name: "device nodes", Calls: []string{"mknod"}, rules: mknodRules(1),
		Does: "allowed for files, fifos and sockets without 06000, else EPERM", Why: "devices, as root",
	}, {
		Name: "device nodes by folder", Calls: []string{"mknodat"}, rules: mknodRules(2),
		Does: "as mknod", Why: "as mknod",
	}, {
		Name: "white-outs", Calls: []string{"renameat2"}, rules: anyBit(4, renameWhiteout),
		Does: "EPERM with RENAME_WHITEOUT",
		Why:  "it leaves a device node without any privilege, past the rules for mknod and for Landlock's device rights",
	}, {
		Name: "open of root", Calls: []string{"open"}, rules: openRules(1, 2),
		Does: "allowed; with KeepsRoot EPERM when O_CREAT or O_TMPFILE meets mode & 06000",
		Why:  "root would leave set-id files; for others the rule would cost the kernel's allow bitmap",
	}, {
		Name: "open of root by folder", Calls: []string{"openat"}, rules: openRules(2, 3),
		Does: "as open", Why: "as open",
	}, {
		Name: "creat of root", Calls: []string{"creat"}, rules: creatRules,
		Does: "allowed; with KeepsRoot EPERM with mode & 06000", Why: "as open",
	}, {
		Name: "openat2 of root", Calls: []string{"openat2"}, rules: openat2Rules,
		Does: "allowed; with KeepsRoot ENOSYS", Why: "its mode lies in memory, where a filter can not look",
	}, {
		Name: "leases of root", Calls: []string{"fcntl"}, rules: leaseRules,
		Does: "allowed; with KeepsRoot EPERM for F_SETLEASE and F_NOTIFY",
		Why:  "a lease on a file of the system, which root may take by reading it, holds up whoever writes there",
	}}
}

// anyBit is the ruler of [bitRules] that answers EPERM.
func anyBit(arg uint, mask uint32) ruler {
	return func(calls []string, _ seccomp.Options) []specs.LinuxSyscall {
		return bitRules(calls, arg, mask, eperm)
	}
}

// values allows the listed values of an int argument and gives v for the others.
func values(arg uint, v verdict, allowed ...uint32) ruler {
	return func(calls []string, _ seccomp.Options) []specs.LinuxSyscall {
		return valueRules(calls, arg, 1<<32-1, allowed, allow, v)
	}
}

func ioctlRules(calls []string, _ seccomp.Options) []specs.LinuxSyscall {
	return valueRules(calls, 1, 1<<32-1, refusedIoctls, eperm, allow)
}

func prctlRules(calls []string, o seccomp.Options) []specs.LinuxSyscall {
	refused := []uint32{prMCEKill, prSetMM}
	if !o.Debug {
		refused = append(refused, prSetTracer)
	}
	return valueRules(calls, 0, 1<<32-1, refused, eperm, allow)
}

// mknodRules looks at the type and the set-id bits together, so that every mode
// meets one rule.
func mknodRules(arg uint) ruler {
	return func(calls []string, _ seccomp.Options) []specs.LinuxSyscall {
		plain := []uint32{0, sIFREG, sIFIFO, sIFSOCK}
		return valueRules(calls, arg, sIFMT|setID, plain, allow, eperm)
	}
}

// openRules looks at the mode only when the flags create a file: without them
// open(2) takes no mode, and the register holds whatever was in it.
func openRules(flags, mode uint) ruler {
	return func(calls []string, o seccomp.Options) []specs.LinuxSyscall {
		if !o.KeepsRoot {
			return always(allow)(calls, o)
		}
		rules := []specs.LinuxSyscall{
			rule(calls, allow, masked(flags, oCreat|oTmpfile, 0)),
			rule(calls, allow, masked(mode, setID, 0)),
		}
		for _, flag := range []uint32{oCreat, oTmpfile} {
			for _, bit := range eachBit(setID) {
				rules = append(rules, rule(calls, eperm, masked(flags, flag, flag), masked(mode, bit, bit)))
			}
		}
		return rules
	}
}

func creatRules(calls []string, o seccomp.Options) []specs.LinuxSyscall {
	if !o.KeepsRoot {
		return always(allow)(calls, o)
	}
	return bitRules(calls, 1, setID, eperm)
}

// The commands of fcntl(2) that reach past the program's own descriptors.
const (
	setLease  = 1024
	dirNotify = 1026
)

func leaseRules(calls []string, o seccomp.Options) []specs.LinuxSyscall {
	if !o.KeepsRoot {
		return always(allow)(calls, o)
	}
	return valueRules(calls, 1, 1<<32-1, []uint32{setLease, dirNotify}, eperm, allow)
}

func openat2Rules(calls []string, o seccomp.Options) []specs.LinuxSyscall {
	if !o.KeepsRoot {
		return always(allow)(calls, o)
	}
	return always(enosys)(calls, o)
}
