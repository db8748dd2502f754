package spawn

// Step names one part of a start, in the order in which the child takes them.
type Step uint8

// The steps. StepPrepare and StepClone are the parent's.
const (
	StepPrepare      Step = iota
	StepClone             // clone(2), clone3(2)
	StepSession           // setsid(2)
	StepSignals           // rt_sigaction(2): every disposition back to default
	StepUmask             // umask(2)
	StepLimits            // prlimit64(2)
	StepDescriptors       // close_range(2), dup3(2)
	StepBounding          // prctl(2) PR_CAPBSET_DROP, PR_CAP_AMBIENT
	StepGroups            // setgroups(2)
	StepIdentity          // setresgid(2), setresuid(2)
	StepKeyring           // keyctl(2) KEYCTL_JOIN_SESSION_KEYRING
	StepCapabilities      // capset(2)
	StepDirectory         // fchdir(2)
	StepDeathSignal       // prctl(2) PR_SET_PDEATHSIG, getppid(2)
	StepNoNewPrivs        // prctl(2) PR_SET_NO_NEW_PRIVS
	StepLandlock          // landlock_restrict_self(2)
	StepSeccomp           // seccomp(2) SECCOMP_SET_MODE_FILTER
	StepSelfTest          // what the policy denies is denied
	StepMask              // rt_sigprocmask(2)
	StepExec              // execve(2)

	// Those of a start in namespaces. StepNamespaces, StepMaps and StepNetwork are the
	// parent's, the others come before StepSession, but for the last.
	StepNamespaces // clone(2)
	StepMaps       // /proc/PID/uid_map, gid_map and setgroups
	StepNetwork    // Namespaces.Network, and setns(2) of Sockets
	StepInit       // what the init needs to be one
	StepPrivate    // mount(2): changes of the host's mounts and our own do not meet
	StepNested     // /proc/sys/user/max_user_namespaces
	StepRoot       // the new root, and the end of the old one
	StepMount      // one of Namespaces.Mounts
	StepProc       // one of them that is a new proc
	StepHostname   // sethostname(2)
	StepLoopback   // ioctl(2) SIOCSIFFLAGS
	StepCommand    // clone(2), by the init
	StepReaper     // what the init gives up when the program runs

	StepTried // the calls of TryCalls, and the end in place of execve(2)
)

// Steps lists the child's steps, for tests that make each of them fail.
func Steps() []Step {
	var all []Step
	for s := StepSession; s <= StepExec; s++ {
		all = append(all, s)
	}
	return all
}

// NamespaceSteps lists the further steps of a start in namespaces, but for the clone.
func NamespaceSteps() []Step {
	var all []Step
	for s := StepMaps; s <= StepReaper; s++ {
		all = append(all, s)
	}
	return all
}

// String returns the name that messages use.
func (s Step) String() string {
	names := [...]string{
		"prepare", "clone", "session", "signals", "umask", "limits", "descriptors", "bounding set", "groups",
		"identity", "keyring", "capabilities", "directory", "death signal", "no_new_privs", "landlock", "seccomp",
		"self-test", "signal mask", "exec",
		"namespaces", "id maps", "network", "init", "private mounts", "nested namespaces", "root", "mount", "own /proc", "host name",
		"loopback", "command", "reaper", "trial",
	}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown step"
}
