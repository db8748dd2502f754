package launcher

import (
	"errors"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
	"brainbox/landlock"
	"brainbox/policy"
	"brainbox/seccomp"
)

// BrokerPlan is what the supervisor connects in the program's stead.
type BrokerPlan struct {
	Sockets []BrokerSocket
	Rules   broker.Rules
}

// BrokerSocket is one listed socket: Facts.Sockets[Socket].
type BrokerSocket struct {
	Socket int
	// Pinned: the program can put another socket under its name, so only the one that is
	// there at the start is meant.
	Pinned bool
}

// unixSockets decides Unix sockets by path. Below ABI 9 Landlock does not see connect(2)
// to one, so the sockets themselves are refused; socketpair(2) stays, without the types
// that can reach a path (escape matrix IP-21). Where one is listed, at any ABI, the
// supervisor connects to it: a rule of Landlock's would be about an inode, and a server that
// is started again has another.
func (d *planner) unixSockets() {
	c := Clause{
		Name: "unix", State: StateEnforced, Mechanism: "seccomp: no socket(AF_UNIX)",
		Route: "--isolation namespaces, for sockets of the program's own",
	}
	byLandlock := d.facts.LandlockErr == nil && d.facts.Landlock.Used() >= landlock.ResolveUnix.ABI()
	if byLandlock {
		c.Mechanism = d.facts.Landlock.Mechanism()
		d.plan.Landlock.ResolveUnixElsewhere = false
	}
	listed := d.listedSockets(&c)
	switch {
	case listed:
		if byLandlock {
			c.Mechanism += ", "
		} else {
			c.Mechanism = ""
		}
		c.Mechanism += "seccomp notification (broker)"
	case byLandlock && c.State != StateRefused:
		d.plan.Seccomp.UnixSockets = true
	}
	d.add(c)
}

// listedSockets decides the entries of unix, and reports whether there is one to connect to.
func (d *planner) listedSockets(c *Clause) bool {
	b := &BrokerPlan{}
	for i := range d.pol.Network.Unix {
		e := d.socketEntry(c, i)
		if e.State == StateEnforced {
			pinned := d.mayReplace(&d.facts.Sockets[i])
			if pinned {
				e.Note = joinNotes(e.Note, "the program can write to its folder: only the socket that is there at the start, "+
					"not one that its server makes anew")
			}
			b.Sockets = append(b.Sockets, BrokerSocket{Socket: i, Pinned: pinned})
		}
		c.Entries = append(c.Entries, e)
		c.State = worst(c.State, e.State)
	}
	bridged := d.bridgeSocket(c)
	if c.State == StateRefused {
		if !c.mistaken && d.degraded("unix") {
			d.plan.Seccomp.UnixSockets, c.Mechanism = true, "" // accepted by name: every socket is open
		}
		return false
	}
	if len(b.Sockets) == 0 && !bridged {
		return false
	}
	own := Entry{Value: "own", State: StateEnforced, Source: -1, Note: "bind and listen work"}
	if n := d.plan.Seccomp.Network; n != seccomp.NetNone && n != seccomp.NetHost && !d.plan.Seccomp.Listen {
		own.Note = "bind works, listen without a bind_tcp port does not"
	}
	own.Note += "; connect reaches listed sockets only, and no abstract one; a server sees brainbox's process number"
	c.Entries = append(c.Entries, own)
	b.Rules = d.brokerRules()
	d.plan.Broker, d.plan.Seccomp.UnixBroker = b, true
	return true
}

// socketEntry decides one entry of unix.
func (d *planner) socketEntry(c *Clause, i int) Entry {
	s := &d.pol.Network.Unix[i]
	e := Entry{
		Value: s.Text, Path: s.Abs, Right: "connect", State: StateEnforced, Source: s.Source, Optional: s.Optional,
	}
	if d.facts.Broker == nil {
		e.State, e.Note = StateRefused, "a supervisor connects to it, and there is none here"
		c.Requirement, c.Route = "a supervisor", "brainbox run --unix "+quotePath(s.Text)
		return e
	}
	p := &d.facts.Sockets[i]
	e.Target = p.Target
	if wrongSocket(c, &e, s.Skip, &p.PathFact) {
		return e
	}
	switch requirement, route := brokerNeeds(d.facts.Broker); {
	case p.Datagram:
		e.State, e.Note, c.mistaken = StateRefused, "a datagram socket, which no broker can connect to", true
		c.Route = "--isolation namespaces"
	case d.insideDenied(p.Target) || slices.ContainsFunc(p.Others, d.insideDenied):
		e.State, e.Note, c.mistaken = StateRefused, "it lies in a denied tree", true
		c.Route = "take one of the two entries out"
	case requirement != "":
		e.State, e.Note = StateRefused, "needs "+requirement
		c.Requirement, c.Route = requirement, route
	default:
		d.noteContainers(&e)
	}
	return e
}

// wrongSocket decides an entry that is not there, or no socket.
func wrongSocket(c *Clause, e *Entry, skip bool, p *PathFact) bool {
	switch {
	case p.Err != nil && skip:
		e.State, e.Note = StateUnused, "absent: "+errText(p.Err)
	case p.Err != nil:
		e.State, e.Note, c.mistaken = StateRefused, errText(p.Err), true
		c.Route = `start its server first, or write { path = "…", missing = "skip" } in a policy file`
	case !p.Socket:
		e.State, e.Note, c.mistaken = StateRefused, "no socket", true
		c.Route = "name the socket itself"
	default:
		return false
	}
	return true
}

// noteContainers says of a socket that starts containers what it gives.
func (d *planner) noteContainers(e *Entry) {
	if !runsContainers(e.Target) {
		return
	}
	e.Note = "whoever may use it is root on this host"
	d.plan.Notes = append(d.plan.Notes,
		"the socket "+quotePath(e.Value)+" gives everything that root may do on this host")
}

// mayReplace reports whether the program can put another socket under a socket's name: a
// write grant, or a private folder that is kept, holds its folder, under whatever name.
func (d *planner) mayReplace(s *SocketFact) bool {
	return slices.ContainsFunc(append(slices.Clone(s.Others), s.Target), func(path string) bool {
		return d.mayWrite(filepath.Dir(path))
	})
}

func (d *planner) mayWrite(folder string) bool {
	f := d.facts
	for i, w := range f.Wants {
		if f.Paths[i].Err == nil && w.Right.Writes() && policy.Below(folder, f.Paths[i].Target) {
			return true
		}
	}
	for _, own := range []string{firstOf(f.Home.Target, f.Home.Dir), f.RunDir} {
		if own != "" && policy.Below(folder, own) {
			return true
		}
	}
	return false
}

func (d *planner) insideDenied(path string) bool { return d.carved(path, policy.RightDeny) }

// brokerRules are what holds for other sockets than Unix ones, all of whose connects come
// to the broker too: what Landlock and the filter hold without it.
func (d *planner) brokerRules() broker.Rules {
	spec, network := &d.plan.Landlock, d.plan.Seccomp.Network
	open := spec.OpenTCP || d.facts.LandlockErr != nil || d.facts.Landlock.Used() < landlock.TCP.ABI()
	switch {
	case network == seccomp.NetNone:
		return broker.Rules{}
	case network == seccomp.NetHost, open: // "open" is refused, or accepted by name
		return broker.Rules{All: true}
	}
	return broker.Rules{Ports: spec.ConnectTCP, UDP: network == seccomp.NetPortsDNS}
}

// brokerNeeds says what is missing for a broker, and what would help; "" if nothing is.
func brokerNeeds(o *broker.Offer) (requirement, route string) {
	const inside = "--isolation namespaces, which needs no broker"
	switch {
	case o.Notify != nil && errors.Is(o.Notify, unix.EINVAL):
		return "seccomp notification with WAIT_KILLABLE_RECV (Linux 5.19)", "a newer kernel, or " + inside
	case o.Notify != nil:
		return "seccomp notification, which a filter around this process refuses", inside
	case o.GetFD != nil:
		return "pidfd_getfd, which is blocked: " + errText(o.GetFD), routeContainer + ", or " + inside
	case o.Memory != nil:
		return "process_vm_readv, which is blocked: " + errText(o.Memory), routeContainer + ", or " + inside
	case o.Lookup != nil:
		return "openat2 (Linux 5.6), which is blocked: " + errText(o.Lookup), "a newer kernel, or " + inside
	case o.Trace != nil:
		return "leave to read the program's memory and descriptors: " + errText(o.Trace), routeTrace + ", or " + inside
	}
	return "", ""
}

const (
	routeContainer = "docker run --cap-add SYS_PTRACE, or a seccomp profile of the container that allows both calls"
	routeTrace     = "CAP_SYS_PTRACE for brainbox, or sysctl kernel.yama.ptrace_scope=1"
)
