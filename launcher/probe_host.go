package launcher

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
	"brainbox/internal/spawn"
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
	list := []ProbeAnswer{probeLandlock(), probeSeccomp(), probeNamespaces(), probeCgroup(), probePidfd()}
	return append(list, probeBroker(broker.Offered(false))...)
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

// probeNamespaces makes them as a start does, with a network of their own, and ends them.
func probeNamespaces() ProbeAnswer {
	a := ProbeAnswer{Name: "namespaces"}
	o := insideLook{f: &Facts{Place: &Place{EUID: os.Geteuid()}}, in: &InsideFact{}}
	o.ids()
	err := spawn.Try(&spawn.Namespaces{Net: true, UIDMap: spawnMap(o.in.UIDs), GIDMap: spawnMap(o.in.GIDs)})
	if err == nil {
		a.Available, a.Detail = true, "user, mount, pid, ipc, uts, cgroup and network, with a /proc of their own"
		return a
	}
	try := attempt(err)
	if try == nil {
		try = &Attempt{Step: spawn.StepPrepare, Errno: errnoIn(err)}
	}
	a.Detail = try.String()
	a.Layer = firstOf(try.Layer, "not a refusal: something is wrong with this step")
	a.Route = firstOf(try.Route, "isolation landlock works without")
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

// probeBroker answers for each part of what connects to listed Unix sockets in isolation
// landlock.
func probeBroker(o broker.Offer) []ProbeAnswer {
	var list []ProbeAnswer
	for _, part := range [...]struct {
		name, detail string
		err          error
		only         broker.Offer
	}{
		{"notification", "seccomp listener, WAIT_KILLABLE_RECV", o.Notify, broker.Offer{Notify: o.Notify}},
		{"pidfd_getfd", "takes a program's socket", o.GetFD, broker.Offer{GetFD: o.GetFD}},
		{"process_vm_readv", "reads a program's address", o.Memory, broker.Offer{Memory: o.Memory}},
		{"ptrace access", "to programs of the same user", o.Trace, broker.Offer{Trace: o.Trace}},
	} {
		a := ProbeAnswer{Name: part.name, Available: part.err == nil, Detail: part.detail}
		if part.err != nil {
			a.Detail, a.Layer = errText(part.err), "a filter around us"
			_, a.Route = brokerNeeds(&part.only)
			switch {
			case errors.Is(part.err, unix.EINVAL), errors.Is(part.err, unix.ENOSYS):
				a.Layer = "kernel or a filter around us"
			case part.name == "ptrace access":
				a.Layer = "administrator"
			}
		}
		list = append(list, a)
	}
	return list
}
