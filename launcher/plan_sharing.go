package launcher

import (
	"brainbox/landlock"
)

// sharing decides what the program shares with the host's other processes: ipc,
// shared_memory, processes and tree.
func (d *planner) sharing() {
	if d.inside {
		d.sharingInside()
		return
	}
	d.ipc()
	shm := Clause{Name: "shared_memory", State: StateEnforced, Mechanism: d.facts.Landlock.Mechanism()}
	if d.facts.LandlockErr != nil {
		shm.State, shm.Requirement = StateRefused, d.facts.LandlockErr.Error()
	}
	for i, w := range d.facts.Wants {
		if w.Clause == "shared_memory" && d.facts.Paths[i].Err == nil {
			e := d.entry(i)
			e.State, e.Note = StateOpen, "the host's /dev/shm"
			shm.Entries = append(shm.Entries, e)
			shm.State, shm.Mechanism = StateOpen, ""
			shm.Degraded = d.degraded("shared_memory")
			shm.Requirement, shm.Route = "isolation namespaces", "--isolation namespaces"
		}
	}
	d.add(shm)
	d.add(Clause{
		Name: "processes", State: StateOpen,
		Requirement: "isolation namespaces: /proc shows the host's processes, their names and arguments",
		Route:       "--isolation namespaces",
	})
	d.tree()
}

// ipc decides abstract sockets, signals, System V objects and keyrings.
func (d *planner) ipc() {
	c := Clause{Name: "ipc", State: StateEnforced, Mechanism: d.facts.Landlock.Mechanism() + ", seccomp"}
	spec := &d.plan.Landlock
	if d.facts.Landlock.Used() < landlock.ScopeSignal.ABI() {
		c.State, c.Mechanism = StateRefused, "seccomp"
		c.Requirement = "Landlock ABI 6 (Linux 6.12), for signals and abstract sockets"
		c.Route = "--isolation namespaces (on Ubuntu with the AppArmor profile), or --allow-degraded ipc"
		if d.degraded("ipc") {
			spec.Degraded |= landlock.Set(landlock.ScopeSignal, landlock.ScopeAbstractUnix)
		}
	}
	d.add(c)
}

// tree decides how the end of the whole process tree is reached.
func (d *planner) tree() {
	c := Clause{Name: "tree", State: StateOpen, Mechanism: "walk"}
	c.Requirement = "a writable cgroup v2 with cgroup.kill (Linux 5.14), or isolation namespaces"
	c.Route = "--isolation namespaces"
	if d.facts.Exec {
		c.Mechanism, c.Requirement, c.Route = "", "a supervisor, which brainbox-exec has not", "brainbox run, or brainbox-kill"
	}
	if d.facts.Cgroup.Dir != "" && d.facts.Cgroup.Kill {
		// Brainbox ends the whole tree, however it forks. What nothing here ends is the rest
		// of a tree whose brainbox was itself ended by SIGKILL; the next start does.
		c.Mechanism = "cgroup.kill"
		c.Requirement = "isolation namespaces: a SIGKILL of brainbox ends the program, and its descendants go on, confined"
		d.plan.UseCgroup = true
	}
	d.add(c)
}
