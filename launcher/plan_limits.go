package launcher

import (
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Limit is one setrlimit(2) of the program.
type Limit struct {
	Resource int
	Cur, Max uint64
}

// defaultKillAfter is the time from TERM to KILL when nothing else is said.
const defaultKillAfter = 5 * time.Second

// processLimits decides pids, memory, cpu, time, output, nofile, fsize and core.
func (d *planner) processLimits() {
	p := &d.pol.Process
	d.plan.Cgroup = map[string]string{}
	if p.Pids.Set && d.inside && d.countedUser() {
		d.pidsInside()
	} else if p.Pids.Set {
		d.controller("pids", "pids", "pids.max", strconv.FormatInt(p.Pids.V, 10), p.Pids.Source)
	} else {
		d.add(Clause{Name: "pids"})
	}
	if p.Memory.Set {
		d.controller("memory", "memory", "memory.max", strconv.FormatInt(p.Memory.V, 10), p.Memory.Source)
	} else {
		d.add(Clause{Name: "memory"})
	}
	if p.CPU.Set {
		d.controller("cpu", "cpu", "cpu.max", cpuMax(p.CPU.V), p.CPU.Source)
	} else {
		d.add(Clause{Name: "cpu"})
	}
	d.plan.Timeout, d.plan.KillAfter = p.Timeout.V, defaultKillAfter
	if p.KillAfter.Set {
		d.plan.KillAfter = p.KillAfter.V
	}
	d.simple("time", p.Timeout.Set && p.Timeout.V > 0, "supervisor", p.Timeout.V.String(), p.Timeout.Source)
	d.plan.OutputLimit = p.OutputLimit.V
	d.simple("output", p.OutputLimit.Set && p.OutputLimit.V > 0, "supervisor",
		strconv.FormatInt(p.OutputLimit.V, 10)+" bytes", p.OutputLimit.Source)
	d.rlimits()
}

func (d *planner) simple(name string, used bool, mechanism, value string, source int) {
	c := Clause{Name: name}
	if used {
		c.State, c.Mechanism = StateEnforced, mechanism
		c.Entries = []Entry{{Value: value, State: StateEnforced, Source: source}}
	}
	d.add(c)
}

// controller decides a limit that only a cgroup v2 controller can hold.
func (d *planner) controller(clause, controller, file, value string, source int) {
	c := Clause{Name: clause, State: StateEnforced, Mechanism: "cgroup v2 " + file}
	e := Entry{Value: value, State: StateEnforced, Source: source}
	if d.facts.Cgroup.Dir == "" || !slices.Contains(d.facts.Cgroup.Controllers, controller) {
		c.Mechanism, c.State, e.State = "", StateRefused, StateRefused
		c.Requirement = "a writable cgroup v2 with the controller " + controller
		e.Note = firstOf(d.facts.Cgroup.Reason, "the controller "+controller+" is not delegated in "+quotePath(d.facts.Cgroup.Dir))
		if d.facts.Cgroup.Busy {
			e.Note = "other processes are in " + quotePath(d.facts.Cgroup.Dir) + ", so that no group below it can have the controller " + controller
		}
		c.Route = "run it below a delegated group (systemd-run --user --scope -p Delegate=yes), or --allow-degraded " + clause
	} else {
		d.plan.Cgroup[file], d.plan.UseCgroup = value, true
		if d.facts.Cgroup.Leaf {
			e.Note = "brainbox itself moves to " + quotePath(d.facts.Cgroup.Dir+"/"+leafName)
		}
	}
	c.Entries = []Entry{e}
	d.add(c)
}

// cpuMax is a number of processors as cpu.max wants it: quota and period in
// microseconds (cgroup v2, cpu.max).
func cpuMax(cpus string) string {
	n, err := strconv.ParseFloat(cpus, 64)
	if err != nil || n <= 0 {
		return "max 100000"
	}
	return strconv.FormatInt(int64(n*100000), 10) + " 100000"
}

// coreOff turns core dumps off. With 0 a core_pattern that names a program of the host
// would still get them; 1 byte is too small for a file and is the value at which the
// kernel does not start that program either (core(5), RLIMIT_CORE and pipes).
const coreOff = 1

// rlimits decides what setrlimit(2) holds. Core dumps are always off: the kernel would
// hand them to a program of the host (core(5)).
func (d *planner) rlimits() {
	p := &d.pol.Process
	add := func(resource int, cur, hard uint64) {
		d.plan.Limits = append(d.plan.Limits, Limit{Resource: resource, Cur: cur, Max: hard})
	}
	offClause, core := d.core()
	add(unix.RLIMIT_CORE, core, core)
	switch soft, hard := d.facts.NoFile[0], d.facts.NoFile[1]; {
	case p.NoFile.Set && (hard == 0 || p.NoFile.V <= hard):
		add(unix.RLIMIT_NOFILE, p.NoFile.V, p.NoFile.V)
	case p.NoFile.Set:
		d.add(Clause{
			Name: "nofile", State: StateRefused, Requirement: "a hard limit of " + strconv.FormatUint(p.NoFile.V, 10) + " or more",
			Route: "ask for at most " + strconv.FormatUint(hard, 10),
		})
	case hard > 0:
		// What the caller had, not what the Go runtime raised it to.
		add(unix.RLIMIT_NOFILE, soft, hard)
	}
	if p.FSize.Set {
		add(unix.RLIMIT_FSIZE, uint64(p.FSize.V), uint64(p.FSize.V))
	}
	if !p.NoFile.Set || d.plan.Clauses[len(d.plan.Clauses)-1].Name != "nofile" {
		d.simple("nofile", p.NoFile.Set, "RLIMIT_NOFILE", strconv.FormatUint(p.NoFile.V, 10), p.NoFile.Source)
	}
	d.simple("fsize", p.FSize.Set, "RLIMIT_FSIZE", strconv.FormatInt(p.FSize.V, 10)+" bytes", p.FSize.Source)
	d.add(offClause)
}

// core decides the clause of that name and the limit. A hard limit of 0, as ulimit -c 0
// and systemd's LimitCORE=0 leave it, cannot become coreOff: it keeps files from being written,
// but not a program that core_pattern names. A socket gets dumps with every limit.
func (d *planner) core() (c Clause, limit uint64) {
	c = Clause{Name: "core", State: StateEnforced, Mechanism: "RLIMIT_CORE 1"}
	limit = coreOff
	fact := d.facts.Core
	if fact.None && (d.inside || !fact.Raise) {
		limit, c.Mechanism = 0, "RLIMIT_CORE 0"
		if fact.Handler == CoreProgram {
			c.Mechanism, c.State = "", StateRefused
			c.Requirement = "a hard RLIMIT_CORE of 1 or more, for core_pattern names a program of the host"
			c.Route = "start brainbox without a hard limit of 0 (LimitCORE=0:1, ulimit -S -c 0), or --allow-degraded core"
		}
	}
	if fact.Handler == CoreSocket || fact.Handler == CoreUnknown {
		c.Mechanism, c.State = "", StateRefused
		c.Requirement = "a core_pattern without a socket (@): who listens there gets every dump, whatever RLIMIT_CORE is"
		if fact.Handler == CoreUnknown {
			c.Requirement = "a /proc/sys/kernel/core_pattern that can be read: with a socket there no limit turns dumps off"
		}
		c.Route = "let root set kernel.core_pattern to a file name or a program, or --allow-degraded core"
	}
	return c, limit
}
