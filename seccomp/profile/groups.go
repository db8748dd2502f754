package profile

import "brainbox/seccomp"

// Group is a set of calls that the default profile treats apart from the base
// list, and why.
type Group struct {
	Name  string
	Calls []string // names; one that an architecture lacks is passed over there
	Does  string   // the action, for the table in docs/seccomp.md
	Why   string
	rules ruler
}

// Groups returns the groups in the order of docs/seccomp.md.
func Groups() []Group {
	groups := kernelGroups()
	groups = append(groups, processGroups()...)
	groups = append(groups, socketGroups()...)
	return append(groups, fileGroups()...)
}

func debug(o seccomp.Options) bool      { return o.Debug }
func namespaces(o seccomp.Options) bool { return o.Namespaces }

// newNamespaces are the CLONE_NEW flags. Time is missing from what clone reads:
// the bit is part of the exit signal there (clone(2)).
const (
	newNamespaces = 0x7e020000
	newTime       = 0x80

	// cloneParent makes the caller's parent the parent of the new process.
	cloneParent = 0x8000
)

// kernelGroups is what only an administrator needs, and what opens kernel code
// that a filter can not see into.
func kernelGroups() []Group {
	return []Group{{
		Name: "new clone", Calls: []string{"clone3"}, Does: "ENOSYS", rules: always(enosys),
		Why: "its flags lie in memory, where a filter can not look; libraries fall back to clone",
	}, {
		Name: "new namespaces by clone", Calls: []string{"clone"}, rules: anyBit(0, newNamespaces|cloneParent),
		Does: "EPERM with any CLONE_NEW flag, and with CLONE_PARENT",
		Why: "a user namespace opens mounts, chroot and netfilter, which Landlock does not stop; " +
			"children of the supervisor, or of a wrapper's host, would not be the program's",
	}, {
		Name: "new namespaces by unshare", Calls: []string{"unshare"}, rules: anyBit(0, newNamespaces|newTime),
		Does: "EPERM with any CLONE_NEW flag", Why: "as clone; CLONE_FS and CLONE_FILES stay",
	}, {
		Name: "other namespaces", Calls: []string{"setns"}, Does: "EPERM", rules: always(eperm), Why: "as clone",
	}, {
		Name: "mounts", Does: "EPERM", rules: always(eperm),
		Calls: []string{
			"mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount",
			"fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
		},
		Why: "Landlock stops neither chroot nor a cloned open_tree",
	}, {
		Name: "mount and namespace lists", Calls: []string{"statmount", "listmount", "listns"}, Does: "ENOSYS",
		rules: always(enosys), Why: "they show the layout of the host",
	}, {
		Name: "asynchronous engines", Calls: []string{"io_uring_setup", "io_uring_enter", "io_uring_register"},
		Does: "ENOSYS", rules: always(enosys),
		Why: "they run operations that no filter sees; libraries fall back",
	}, {
		Name: "kernel tracing", Calls: []string{"bpf", "perf_event_open", "userfaultfd", "lookup_dcookie"},
		Does: "EPERM", rules: always(eperm), Why: "much kernel code, no use for a tool",
	}, {
		Name: "administration", Does: "EPERM", rules: always(eperm),
		Calls: []string{
			"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
			"swapon", "swapoff", "acct", "iopl", "ioperm", "modify_ldt", "settimeofday", "clock_settime",
			"clock_adjtime", "adjtimex", "sethostname", "setdomainname", "syslog", "vhangup", "nfsservctl",
			"quotactl", "quotactl_fd", "uselib", "ustat", "sysfs", "_sysctl", "lsm_set_self_attr",
		},
		Why: "no developer's tool needs them",
	}, {
		Name: "secret memory", Calls: []string{"memfd_secret"}, Does: "ENOSYS", rules: always(enosys),
		Why: "it hides memory from whoever watches the run",
	}}
}

// personalities are the ones that change no protection: Linux, UNAME26 and
// their 32-bit forms, ADDR_NO_RANDOMIZE for debuggers, and asking.
var personalities = []uint32{0, 8, 0x20000, 0x20008, 0x40000, 0xffffffff}

// The prctl options that are refused (linux/prctl.h).
const (
	prMCEKill   = 33
	prSetMM     = 35
	prSetTracer = 0x59616d61
)

// processGroups is what reaches other processes or what they share.
func processGroups() []Group {
	return []Group{{
		Name:  "debuggers",
		Calls: []string{"ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd"},
		Does:  "EPERM; allowed with Debug", rules: unless(debug, eperm),
		Why: "memory and descriptors of other processes; Landlock keeps them inside the domain",
	}, {
		Name:  "other processes",
		Calls: []string{"process_madvise", "process_mrelease", "move_pages", "migrate_pages"},
		Does:  "EPERM", rules: always(eperm), Why: "memory of other processes",
	}, {
		Name: "limits and locks of others", Calls: []string{"prlimit64", "get_robust_list"},
		Does: "EPERM unless the process number is 0", rules: values(0, eperm, 0),
		Why: "prlimit64 works on the processes of the host under Landlock",
	}, {
		Name: "keys", Calls: []string{"keyctl", "add_key", "request_key"}, Does: "EPERM", rules: always(eperm),
		Why: "the user's keyring outlives the run",
	}, {
		Name: "System V IPC and POSIX queues", Does: "EPERM; allowed with Namespaces", rules: unless(namespaces, eperm),
		Calls: []string{
			"shmget", "shmat", "shmctl", "shmdt", "msgget", "msgsnd", "msgrcv", "msgctl",
			"semget", "semop", "semctl", "semtimedop",
			"mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
		},
		Why: "shared with the host by user id when there is no IPC namespace",
	}, {
		Name: "personality", Calls: []string{"personality"}, rules: values(0, eperm, personalities...),
		Does: "EPERM unless 0, 8, 0x20000, 0x20008, 0x40000 or 0xffffffff",
		Why:  "READ_IMPLIES_EXEC makes data executable",
	}, {
		Name: "process options", Calls: []string{"prctl"}, rules: prctlRules,
		Does: "EPERM for PR_SET_MM, PR_MCE_KILL and, without Debug, PR_SET_PTRACER",
		Why:  "they change the memory map, machine checks and who may trace",
	}, {
		Name: "memory policy", Does: "allowed",
		Calls: []string{"get_mempolicy", "set_mempolicy", "mbind", "set_mempolicy_home_node"},
		rules: always(allow), Why: "numerical libraries and the JVM; the base list asks for CAP_SYS_NICE",
	}}
}
