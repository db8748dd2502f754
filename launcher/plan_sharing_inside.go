package launcher

import (
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"brainbox/landlock"
)

// sharingInside decides ipc, shared_memory, processes and tree for isolation namespaces.
func (d *planner) sharingInside() {
	d.ipcInside()
	shm := Clause{Name: "shared_memory", State: StateEnforced, Mechanism: "mount namespace"}
	for i := range d.facts.Wants {
		w, p := &d.facts.Wants[i], &d.facts.Paths[i]
		if w.Clause == "" && p.Err == nil && p.Target == sharedMemory && d.dropped[i] == "" {
			e := d.entry(i)
			e.State, e.Note = StateOpen, "the host's /dev/shm, as granted"
			shm.Entries = append(shm.Entries, e)
			shm.State, shm.Mechanism = StateOpen, ""
			shm.Requirement, shm.Route = "a /dev/shm of the program's own", "take the grant on /dev/shm out"
		}
	}
	d.add(shm)
	d.add(Clause{Name: "processes", State: StateEnforced, Mechanism: "pid namespace, own /proc"})
	d.add(Clause{Name: "tree", State: StateEnforced, Mechanism: "pid namespace"})
}

// ipcInside decides what programs tell each other by. Signals, System V objects and queues
// end at the namespaces; abstract sockets belong to the network, which may be the host's.
func (d *planner) ipcInside() {
	c := Clause{Name: "ipc", State: StateEnforced, Mechanism: "ipc and pid namespaces, seccomp"}
	spec := &d.plan.Landlock
	switch {
	case d.facts.LandlockErr == nil && d.facts.Landlock.Used() >= landlock.ScopeAbstractUnix.ABI():
		c.Mechanism = "ipc and pid namespaces, " + d.facts.Landlock.Mechanism() + ", seccomp"
	case d.plan.OwnNetwork:
		c.Mechanism = "ipc, network and pid namespaces, seccomp"
		spec.Degraded |= landlock.Set(landlock.ScopeSignal, landlock.ScopeAbstractUnix)
	default:
		c.State = StateRefused
		c.Requirement = "Landlock ABI 6 (Linux 6.12), for abstract sockets in the host's network namespace"
		c.Route = "--net none, or --allow-degraded ipc"
		spec.Degraded |= landlock.Set(landlock.ScopeSignal)
		if d.degraded("ipc") {
			spec.Degraded |= landlock.Set(landlock.ScopeAbstractUnix)
		}
	}
	d.add(c)
}

// unixInside decides Unix sockets by path: a listed one is mounted, one that was found in
// a granted tree is masked, and one that is not granted is not there.
func (d *planner) unixInside() {
	c := Clause{Name: "unix", State: StateEnforced, Mechanism: "mount namespace"}
	d.plan.Seccomp.UnixSockets = true
	byLandlock := d.facts.LandlockErr == nil && d.facts.Landlock.Used() >= landlock.ResolveUnix.ABI()
	if byLandlock {
		c.Mechanism = "mount namespace, " + d.facts.Landlock.Mechanism()
		d.plan.Landlock.ResolveUnixElsewhere = false
	}
	for i := range d.pol.Network.Unix {
		d.listedSocket(&c, i)
	}
	d.bridgeSocket(&c)
	for i := range d.facts.Inside.Sockets {
		n := &d.facts.Inside.Sockets[i]
		if r := d.plan.region(n.Path); !r.own && !r.hidden && !r.denied && !d.lists(n.Path) {
			c.Entries = append(c.Entries, Entry{
				Value: n.Path, Path: n.Path, Target: n.Path, Right: "connect", State: StateEnforced,
				Source: -1, Note: "masked",
			})
		}
	}
	if !byLandlock {
		d.socketsBeyond(&c)
	}
	d.add(c)
}

// listedSocket decides one entry of unix.
func (d *planner) listedSocket(c *Clause, i int) {
	s, p := &d.pol.Network.Unix[i], &d.facts.Inside.Unix[i]
	e := Entry{
		Value: s.Text, Path: s.Abs, Target: p.Target, Right: "connect", State: StateEnforced,
		Source: s.Source, Optional: s.Optional,
	}
	switch {
	case wrongSocket(c, &e, s.Skip, p):
	case d.plan.region(p.Target).denied:
		e.State, e.Note, c.mistaken = StateRefused, "it lies in a denied tree", true
		c.Route = "take one of the two entries out"
	default:
		d.noteContainers(&e)
	}
	c.Entries = append(c.Entries, e)
	c.State = worst(c.State, e.State)
}

// runsContainers reports whether a socket is one of those that start containers.
func runsContainers(path string) bool {
	switch filepath.Base(path) {
	case "docker.sock", "containerd.sock", "podman.sock", "crio.sock", "buildkitd.sock":
		return true
	}
	return false
}

func (d *planner) lists(target string) bool {
	for i := range d.facts.Inside.Unix {
		if u := &d.facts.Inside.Unix[i]; u.Err == nil && u.Target == target {
			return true
		}
	}
	return false
}

// socketsBeyond declares what is not masked: below ABI 9 nothing but the mask holds a
// socket of a granted tree.
func (d *planner) socketsBeyond(c *Clause) {
	for i := range d.facts.Inside.Scans {
		s := &d.facts.Inside.Scans[i]
		if s.Served {
			c.Entries = append(c.Entries, Entry{
				Value: "served", Path: s.Path, Target: s.Path, Right: "connect", State: StateEnforced, Source: -1,
				Note: "a folder of the system: its names are not read, sockets that are served in it are masked; " +
					"one that is served from another network namespace can be reached",
			})
		}
		if note := s.partial(); note != "" {
			c.Entries = append(c.Entries, Entry{
				Value: "scan", Path: s.Path, Target: s.Path, Right: "connect", State: StateOpen, Source: -1,
				Note: "partial: sockets that were not found are not masked: " + note,
			})
			c.State = worst(c.State, StateOpen)
			c.Requirement, c.Route = "Landlock ABI 9 (Linux 7.1)", "grant a smaller tree"
		}
	}
	c.Entries = append(c.Entries, Entry{
		Value: "later", State: StateEnforced, Source: -1,
		Note: "a socket that a process of the host makes in a granted tree while the program runs can be reached",
	})
}

// countedUser reports whether the kernel counts the program's processes: not those of the
// host's root (setrlimit(2), RLIMIT_NPROC).
func (d *planner) countedUser() bool {
	if id := d.facts.Identity; id != nil {
		return id.UID != 0
	}
	return d.facts.Place.EUID != 0
}

// pidsInside limits the processes of the user namespace; its init is one of them.
func (d *planner) pidsInside() {
	p := &d.pol.Process.Pids
	n := uint64(p.V) + 1
	d.plan.Limits = append(d.plan.Limits, Limit{Resource: unix.RLIMIT_NPROC, Cur: n, Max: n})
	d.add(Clause{
		Name: "pids", State: StateEnforced, Mechanism: "RLIMIT_NPROC in the user namespace",
		Entries: []Entry{{Value: strconv.FormatInt(p.V, 10), State: StateEnforced, Source: p.Source}},
	})
}
