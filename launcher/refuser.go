package launcher

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

// surroundings is what can be seen of those who may refuse namespaces. Each text is as the
// file has it, "" if there is none.
type surroundings struct {
	uid       int
	limits    map[string]string // user.max_*_namespaces by name (namespaces(7))
	clone     string            // kernel.unprivileged_userns_clone: Debian's and Arch's kernels
	apparmor  string            // kernel.apparmor_restrict_unprivileged_userns: Ubuntu's
	label     string            // this process's AppArmor profile
	status    string            // /proc/thread-self/status: of the thread that tried
	uidMap    string
	mountinfo string
	init      string // the name of pid 1
}

// The routes, in the words of the README and the manual page.
const (
	routeAppArmor = "install the AppArmor profile contrib/apparmor/brainbox, " +
		"or set kernel.apparmor_restrict_unprivileged_userns=0"
	routeProc    = "docker run --security-opt systempaths=unconfined; in Kubernetes procMount: Unmasked"
	routeSeccomp = "docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined; in Kubernetes " +
		"seccompProfile: Unconfined and procMount: Unmasked; inside an outer brainbox, start this one outside of it"
	routeLabel  = "docker run --security-opt apparmor=unconfined --security-opt systempaths=unconfined"
	routeMaps   = "docker run --cap-add SETFCAP; or start brainbox as an ordinary user"
	routeClone  = "set kernel.unprivileged_userns_clone=1"
	routeKernel = "a kernel with user, mount, pid, ipc, uts, cgroup and network namespaces"
	routeChroot = "start brainbox outside of the chroot, or make the new root with pivot_root(2), as systemd-nspawn does"
)

// limitNames are the limits that a start in namespaces counts against.
func limitNames() []string { return []string{"user", "mnt", "pid", "ipc", "uts", "cgroup", "net"} }

// lookAround reads them. It is only called when something has refused.
func lookAround() surroundings {
	text := func(name string) string { return strings.TrimSpace(readSmall(name)) }
	s := surroundings{
		uid: os.Geteuid(), limits: map[string]string{},
		clone:    text("/proc/sys/kernel/unprivileged_userns_clone"),
		apparmor: text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
		label:    firstOf(text("/proc/self/attr/apparmor/current"), text("/proc/self/attr/current")),
		status:   readSmall("/proc/thread-self/status"), uidMap: readSmall("/proc/self/uid_map"),
		mountinfo: readSmall("/proc/self/mountinfo"), init: text("/proc/1/comm"),
	}
	for _, name := range limitNames() {
		s.limits[name] = text("/proc/sys/user/max_" + name + "_namespaces")
	}
	return s
}

// refuser says who refused an attempt, and what would change that. Several may refuse at
// once, and the kernel tells of the first: what is named is what has to go first.
func refuser(a Attempt, s surroundings) (layer, route string) {
	e := spawn.Error{Step: a.Step, Errno: a.Errno}
	switch {
	case s.init == "brainbox-init":
		return "an outer brainbox, in which nobody may make namespaces", "start this brainbox outside of it"
	case e.Covered():
		return "an outer container: parts of /proc are covered or read-only", routeProc
	case a.Errno == unix.ENOSPC || a.Errno == unix.EUSERS:
		return s.limit()
	case a.Errno == unix.ENOSYS && !s.filtered():
		return "the kernel", routeKernel
	case a.Errno == unix.ENOSYS:
		return seccompLayer, routeSeccomp
	case a.Step == spawn.StepPrivate:
		return s.mounts()
	case a.Step == spawn.StepMaps && s.uid == 0 && !s.capable(unix.CAP_SETFCAP):
		return "the kernel: this root has no CAP_SETFCAP (user_namespaces(7))", routeMaps
	case a.Step == spawn.StepMaps:
		return "the user namespace around: it maps no ids for this process", "start brainbox as a user that is mapped there"
	}
	return s.cloning(a)
}

const seccompLayer = "a seccomp filter around this process, of a container or an outer brainbox"

// limit names the limit that is used up.
func (s *surroundings) limit() (layer, route string) {
	for _, name := range limitNames() {
		if s.limits[name] == "0" {
			full := "user.max_" + name + "_namespaces"
			return "sysctl " + full + "=0", "set " + full + " to 1000 or more, outside of every container (namespaces(7))"
		}
	}
	return "the kernel: a limit user.max_*_namespaces is used up, or 32 user namespaces lie in each other",
		"raise the limits user.max_*_namespaces, or end what holds so many namespaces (namespaces(7))"
}

// mounts names who lets make a user namespace, and then nothing in it.
func (s *surroundings) mounts() (layer, route string) {
	switch {
	case s.apparmor == "1" && !s.labelled():
		return "AppArmor: kernel.apparmor_restrict_unprivileged_userns=1", routeAppArmor
	case s.labelled():
		return "AppArmor: the profile " + s.profile() + " of this process", routeLabel
	case s.filtered():
		return seccompLayer, routeSeccomp
	}
	return "a security module (Landlock, SELinux, Smack, …)",
		"its log says which rule; a Landlock domain, of an outer brainbox or another sandbox, lets nobody mount"
}

// cloning names who refuses to make a user namespace at all.
func (s *surroundings) cloning(a Attempt) (layer, route string) {
	switch {
	case s.clone == "0" && s.uid != 0:
		return "sysctl kernel.unprivileged_userns_clone=0", routeClone
	case s.apparmor == "1" && !s.labelled():
		return "AppArmor: kernel.apparmor_restrict_unprivileged_userns=1", routeAppArmor
	case a.Errno == unix.EACCES && s.labelled():
		return "AppArmor: the profile " + s.profile() + " of this process", routeLabel
	case s.filtered():
		return seccompLayer, routeSeccomp
	case a.Errno == unix.EACCES:
		return "a security module (SELinux, AppArmor, …)", "its log says which rule"
	case s.chrooted():
		return "the kernel: this process is in a chroot", routeChroot
	case !s.mapped():
		return "the user namespace around: it has no uid " + strconv.Itoa(s.uid), "start brainbox as a user that is mapped there"
	}
	return "the kernel or a security module", "brainbox probe, outside of containers, chroots and other sandboxes"
}

// filtered reports whether a seccomp filter is loaded (proc_pid_status(5), Linux 3.8).
func (s *surroundings) filtered() bool { return strings.Contains(s.status, "\nSeccomp:\t2") }

// capable reports whether a capability is effective.
func (s *surroundings) capable(capability uint) bool {
	_, text, _ := strings.Cut(s.status, "\nCapEff:\t")
	text, _, _ = strings.Cut(text, "\n")
	bits, err := strconv.ParseUint(text, 16, 64)
	return err == nil && bits&(1<<capability) != 0
}

// labelled reports whether an AppArmor profile holds this process.
func (s *surroundings) labelled() bool {
	mode := strings.TrimRight(s.label, "\x00\n")
	return strings.HasSuffix(mode, ")") && !strings.HasSuffix(mode, "(unconfined)")
}

func (s *surroundings) profile() string {
	name, _, _ := strings.Cut(strings.TrimRight(s.label, "\x00\n"), " (")
	return name
}

// chrooted reports whether the root is no mount point: a mount namespace begins with one.
func (s *surroundings) chrooted() bool {
	if s.mountinfo == "" {
		return false
	}
	for line := range strings.Lines(s.mountinfo) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == "/" {
			return false
		}
	}
	return true
}

// mapped reports whether the user exists in his user namespace (user_namespaces(7)).
func (s *surroundings) mapped() bool {
	for _, r := range idRanges(s.uidMap) {
		if uint64(s.uid) >= uint64(r.First) && uint64(s.uid) < uint64(r.First)+uint64(r.Count) {
			return true
		}
	}
	return s.uidMap == ""
}
