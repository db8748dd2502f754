package launcher

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/landlock"
)

// ProbeAnswer is what one mechanism of this kernel and place turned out to be.
type ProbeAnswer struct {
	Name      string
	Available bool
	Detail    string
	Layer     string // who said no: the kernel, a filter around us, the administrator
	Route     string // what would help; empty when available
}

// ProbeHost tries the mechanisms that brainbox can use. Nothing is guessed from version
// numbers, and nothing stays behind.
func ProbeHost() []ProbeAnswer {
	return []ProbeAnswer{probeLandlock(), probeSeccomp(), probeUserNamespace(), probeCgroup(), probePidfd()}
}

func probeLandlock() ProbeAnswer {
	a := ProbeAnswer{Name: "landlock"}
	sup, err := landlock.Probe()
	if err != nil {
		a.Detail, a.Layer = err.Error(), "kernel"
		a.Route = "Linux 5.13 or later with landlock in the lsm= list"
		return a
	}
	a.Available = true
	a.Detail = sup.Mechanism() + ", errata 0x" + strconv.FormatUint(uint64(sup.Errata), 16)
	if sup.ABI > sup.Used() {
		a.Detail += " (kernel abi " + strconv.Itoa(sup.ABI) + ")"
	}
	return a
}

// probeSeccomp asks whether a filter action is known: seccomp(2),
// SECCOMP_GET_ACTION_AVAIL, Linux 4.14. It loads nothing.
func probeSeccomp() ProbeAnswer {
	a := ProbeAnswer{Name: "seccomp", Available: true, Detail: "filter mode"}
	status := readSmall("/proc/self/status")
	if !strings.Contains(status, "Seccomp:") {
		return ProbeAnswer{
			Name: "seccomp", Detail: "the kernel has no seccomp", Layer: "kernel",
			Route: "a kernel with CONFIG_SECCOMP_FILTER",
		}
	}
	if strings.Contains(status, "Seccomp:\t2") {
		a.Detail += "; a filter around this process is active already"
	}
	return a
}

// probeUserNamespace tries one in a child that does nothing else.
func probeUserNamespace() ProbeAnswer {
	a := ProbeAnswer{Name: "user namespaces"}
	proc, err := os.StartProcess("/proc/self/exe", []string{"brainbox", "version"}, &os.ProcAttr{
		Files: []*os.File{nil, nil, nil},
		Sys:   &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER},
	})
	if err == nil {
		_, err = proc.Wait()
		a.Available, a.Detail = err == nil, "can be made"
		return a
	}
	a.Detail, a.Layer, a.Route = errText(err), "kernel or a filter around us", "isolation landlock works without"
	if strings.TrimSpace(readSmall("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")) == "1" {
		a.Layer, a.Route = "AppArmor", "install contrib/apparmor/brainbox"
	}
	if strings.TrimSpace(readSmall("/proc/sys/user/max_user_namespaces")) == "0" {
		a.Layer, a.Route = "administrator", "sysctl user.max_user_namespaces"
	}
	return a
}

func probeCgroup() ProbeAnswer {
	f := hostCgroup(readSmall("/proc/self/mountinfo")).look([]string{"memory", "pids", "cpu"})
	a := ProbeAnswer{Name: "cgroup v2", Available: f.Dir != "", Detail: f.Dir}
	if !a.Available {
		a.Detail, a.Layer, a.Route = f.Reason, "administrator", "systemd-run --user --scope -p Delegate=yes brainbox …"
		return a
	}
	if f.Kill {
		a.Detail += ", cgroup.kill"
	}
	a.Detail += ", controllers: " + firstOf(strings.Join(f.Controllers, " "), "none")
	return a
}

func probePidfd() ProbeAnswer {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return ProbeAnswer{Name: "pidfd", Detail: err.Error(), Layer: "kernel or a filter around us", Route: "Linux 5.3 or later"}
	}
	unix.Close(fd)
	return ProbeAnswer{Name: "pidfd", Available: true, Detail: "pidfd_open"}
}
