package launcher

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

// plain are surroundings in which nobody refuses anything.
func plain(change func(*surroundings)) surroundings {
	s := surroundings{
		uid: 1000, limits: map[string]string{}, label: "unconfined", status: "Name:\tbrainbox\nNoNewPrivs:\t0\nSeccomp:\t0\n",
		uidMap: "         0          0 4294967295\n", init: "systemd",
		mountinfo: "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n24 22 0:22 / /proc rw - proc proc rw\n",
	}
	for _, name := range limitNames() {
		s.limits[name] = "96365"
	}
	if change != nil {
		change(&s)
	}
	return s
}

// Recorded answers: who refused, and what to do about it.
func TestRefuser(t *testing.T) {
	filter := func(s *surroundings) { s.status = strings.Replace(s.status, "Seccomp:\t0", "Seccomp:\t2", 1) }
	for _, c := range []struct {
		name         string
		step         spawn.Step
		errno        unix.Errno
		change       func(*surroundings)
		layer, route string
	}{
		{"Ubuntu 24.04, no profile", spawn.StepPrivate, unix.EACCES, func(s *surroundings) { s.apparmor = "1" }, "AppArmor: kernel.apparmor_restrict_unprivileged_userns=1", routeAppArmor},
		{"Ubuntu 24.04, a profile without userns", spawn.StepNamespaces, unix.EACCES, func(s *surroundings) { s.apparmor, s.label = "1", "mine (enforce)\n" }, "the profile mine ", routeLabel},
		{"Ubuntu 23.10", spawn.StepNamespaces, unix.EPERM, func(s *surroundings) { s.apparmor = "1" }, "AppArmor: kernel.apparmor_restrict_unprivileged_userns=1", routeAppArmor},
		{"a profile that is not one", spawn.StepPrivate, unix.EACCES, func(s *surroundings) { s.apparmor, s.label = "1", "brainbox (unconfined)\n" }, "AppArmor: kernel", routeAppArmor},
		{"Debian 10, an ordinary user", spawn.StepNamespaces, unix.EPERM, func(s *surroundings) { s.clone = "0" }, "sysctl kernel.unprivileged_userns_clone=0", routeClone},
		{"Debian 10, root in a docker container", spawn.StepNamespaces, unix.EPERM, func(s *surroundings) { s.clone, s.uid = "0", 0; filter(s) }, seccompLayer, routeSeccomp},
		{"docker, the default profile", spawn.StepNamespaces, unix.EPERM, filter, seccompLayer, routeSeccomp},
		{"docker, the default profile, into a cgroup", spawn.StepNamespaces, unix.ENOSYS, filter, seccompLayer, routeSeccomp},
		{"docker, seccomp=unconfined, AppArmor", spawn.StepPrivate, unix.EACCES, func(s *surroundings) { s.label = "docker-default (enforce)\n" }, "the profile docker-default ", routeLabel},
		{"docker, seccomp=unconfined", spawn.StepNested, unix.EROFS, nil, "/proc are covered or read-only", routeProc},
		{"podman, a covered /proc", spawn.StepProc, unix.EPERM, filter, "/proc are covered or read-only", routeProc},
		{"RHEL 7", spawn.StepNamespaces, unix.ENOSPC, func(s *surroundings) { s.limits["user"] = "0" }, "sysctl user.max_user_namespaces=0", "set user.max_user_namespaces"},
		{"no network namespaces", spawn.StepNamespaces, unix.ENOSPC, func(s *surroundings) { s.limits["net"] = "0" }, "sysctl user.max_net_namespaces=0", "set user.max_net_namespaces"},
		{"a limit used up", spawn.StepNamespaces, unix.ENOSPC, nil, "used up", "raise the limits"},
		{"32 deep, before Linux 4.9", spawn.StepNamespaces, unix.EUSERS, nil, "32 user namespaces lie in each other", "raise the limits"},
		{"inside brainbox, isolation namespaces", spawn.StepNamespaces, unix.ENOSPC, func(s *surroundings) { s.init = "brainbox-init" }, "an outer brainbox", "outside of it"},
		{"inside brainbox, isolation namespaces, by its filter", spawn.StepNamespaces, unix.EPERM, func(s *surroundings) { s.init = "brainbox-init"; filter(s) }, "an outer brainbox, in", "outside of it"},
		{"inside brainbox", spawn.StepNamespaces, unix.EPERM, filter, "an outer brainbox", routeSeccomp},
		{"inside a Landlock domain", spawn.StepPrivate, unix.EPERM, nil, "Landlock", "Landlock"},
		{"SELinux", spawn.StepNamespaces, unix.EACCES, func(s *surroundings) { s.label = "user_u:user_r:user_t:s0\x00" }, "SELinux", "its log"},
		{"a kernel without", spawn.StepNamespaces, unix.ENOSYS, nil, "the kernel", routeKernel},
		{"a chroot", spawn.StepNamespaces, unix.EPERM, func(s *surroundings) { s.mountinfo = "66 44 0:39 / /proc rw - proc proc rw\n" }, "chroot", routeChroot},
		{"a user that is not mapped", spawn.StepNamespaces, unix.EPERM, func(s *surroundings) { s.uidMap, s.uid = "0 1000 1\n", 65534 }, "it has no uid 65534", "mapped"},
		{"root without capabilities", spawn.StepMaps, unix.EPERM, func(s *surroundings) { s.uid, s.status = 0, s.status+"CapEff:\t0000000000000000\n" }, "CAP_SETFCAP", routeMaps},
		{"root with them", spawn.StepMaps, unix.EPERM, func(s *surroundings) { s.uid, s.status = 0, s.status+"CapEff:\t00000000a80425fb\n" }, "maps no ids", "mapped"},
		{"no ids to map", spawn.StepMaps, unix.EPERM, nil, "maps no ids", "mapped"},
		{"nothing to be seen", spawn.StepNamespaces, unix.EPERM, nil, "the kernel or a security module", "brainbox probe"},
		{"nothing to be read", spawn.StepNamespaces, unix.EPERM, func(s *surroundings) { *s = surroundings{} }, "the kernel or a security module", "brainbox probe"},
	} {
		a := Attempt{Step: c.step, Errno: c.errno}
		layer, route := refuser(a, plain(c.change))
		if !a.NotOffered() || !strings.Contains(layer, c.layer) || !strings.Contains(route, c.route) {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, layer, route, c.layer, c.route)
		}
	}
}

// The profile that a refusal names is there, and every document names the same.
func TestTheAppArmorProfileIsNamedAlike(t *testing.T) {
	const name = "contrib/apparmor/brainbox"
	if !strings.Contains(readSmall("../"+name), "userns,") || !strings.Contains(routeAppArmor, name) {
		t.Errorf("%s, and the route %q", name, routeAppArmor)
	}
	for _, document := range []string{"../README.md", "../man/brainbox.1"} {
		if !strings.Contains(readSmall(document), name) {
			t.Errorf("%s does not name %s", document, name)
		}
	}
}
