package launcher

import (
	"strconv"

	"brainbox/landlock"
	"brainbox/policy"
	"brainbox/seccomp"
)

// network decides the clauses network, hosts and unix.
func (d *planner) network() {
	n, spec := &d.pol.Network, &d.plan.Landlock
	c := Clause{Name: "network", State: StateEnforced, Mechanism: d.facts.Landlock.Mechanism() + ", seccomp"}
	mode := n.Mode.V
	c.Entries = []Entry{{Value: mode.String(), State: StateEnforced, Source: sourceOf(n.Mode.Set, n.Mode.Source)}}
	switch mode {
	case policy.NetNone, policy.NetProxy:
		if d.inside {
			d.ownNetwork(&c)
			break
		}
		if mode == policy.NetProxy {
			break // the clause hosts refuses
		}
		c.Route = "--net ports or --net host; --isolation namespaces, for a loopback of the program's own"
		// seccomp refuses the sockets themselves; Landlock's TCP rules are the second
		// layer where the kernel has them.
		spec.Degraded |= landlock.Set(landlock.TCP)
		if d.facts.Landlock.Used() < landlock.TCP.ABI() {
			c.Mechanism = "seccomp"
		}
	case policy.NetPorts:
		d.ports(&c)
	case policy.NetHost:
		spec.OpenTCP = true
		d.plan.Seccomp.Network = seccomp.NetHost
		c.State, c.Mechanism = StateOpen, ""
		c.Entries[0].State, c.Entries[0].Note = StateOpen, "the host's network, as asked"
	}
	d.add(c)
	d.hosts(mode)
	if d.inside {
		d.unixInside()
		return
	}
	d.unixSockets()
}

// ownNetwork decides modes "none" and "proxy" in a network namespace: a loopback device of
// the program's own and nothing that leads out. Landlock leaves TCP alone, and seccomp the
// protocols of the Internet, or a program could not talk to itself; seccomp still refuses
// the families that no namespace holds.
func (d *planner) ownNetwork(c *Clause) {
	d.plan.OwnNetwork, d.plan.Landlock.OpenTCP = true, true
	d.plan.Seccomp.Network = seccomp.NetHost
	c.Mechanism = "network namespace, seccomp"
	if d.pol.Network.Mode.V == policy.NetProxy {
		c.Entries[0].Note = "HTTP and SOCKS5 at " + proxyAddress + ", a resolver at " + loopback + ":" +
			strconv.Itoa(LookupPort) + "; no other address leads out"
		d.ownLookup()
	}
}

// ports decides mode "ports": TCP by port, names by the host's resolver if asked.
func (d *planner) ports(c *Clause) {
	n, spec := &d.pol.Network, &d.plan.Landlock
	d.plan.Seccomp.Network = seccomp.NetPorts
	d.plan.Seccomp.Listen = len(n.BindTCP) > 0
	if d.facts.Landlock.Used() < landlock.TCP.ABI() {
		c.State, c.Requirement = StateRefused, "Landlock ABI 4 (Linux 6.7)"
		c.Route = "a newer kernel, --net none, or --allow-degraded network for all TCP ports"
		if d.degraded("network") {
			spec.Degraded |= landlock.Set(landlock.TCP)
		}
	}
	port := func(verb string, list []policy.Item[uint16], into *[]uint16) {
		for _, p := range list {
			*into = append(*into, p.V)
			c.Entries = append(c.Entries, Entry{
				Value: verb + " " + strconv.Itoa(int(p.V)), State: c.State, Source: p.Source,
				Note: "on every address: Landlock rules go by port",
			})
			if verb == "bind_tcp" {
				c.Entries[len(c.Entries)-1].Note += "; listen without bind opens a port that the kernel chooses"
			}
		}
	}
	port("connect_tcp", n.ConnectTCP, &spec.ConnectTCP)
	port("bind_tcp", n.BindTCP, &spec.BindTCP)
	if n.DNS.V == "host" {
		d.plan.Seccomp.Network = seccomp.NetPortsDNS
		c.Entries = append(c.Entries, Entry{
			Value: "dns host", State: StateOpen, Source: n.DNS.Source,
			Note: "UDP is open: names are resolved by the host's resolver, and data can leave in them",
		})
		c.State = worst(c.State, StateOpen)
	}
}

func sourceOf(set bool, source int) int {
	if set {
		return source
	}
	return -1
}
