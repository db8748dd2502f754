package launcher

import (
	"slices"
	"strconv"
	"strings"

	"brainbox/envfilter"
	"brainbox/policy"
)

const (
	loopback     = "127.0.0.1"
	proxyAddress = loopback + ":1023" // ProxyPort
)

// hosts decides what the program reaches by name, and what reaches it: both need a network
// namespace, and somebody outside who serves it. That cannot be accepted as open: nothing is
// reached, whatever was accepted.
func (d *planner) hosts(mode policy.NetworkMode) {
	c := Clause{Name: "hosts"}
	served := d.served(&c, mode)
	if mode == policy.NetProxy {
		d.namedHosts(&c)
	}
	d.published(&c)
	switch {
	case len(c.Entries) == 0 && d.inside:
		c.Requirement, c.Route = "", "" // whoever asks finds somebody who serves it
	case len(c.Entries) == 0:
	case served && d.unpublishable(&c):
	case served:
		d.serve(&c, mode)
	default:
		c.State, c.mistaken = StateRefused, true
		for i := range c.Entries {
			c.Entries[i].State, c.Entries[i].Note = StateRefused, ""
		}
	}
	d.add(c)
}

// serve says who is to serve what.
func (d *planner) serve(c *Clause, mode policy.NetworkMode) {
	n := &d.pol.Network
	p := &NetworkPlan{
		Hosts: slices.Clone(n.AllowHosts), Upstream: n.Upstream.V, Resolver: n.Resolver.V, Proxy: mode == policy.NetProxy,
	}
	for _, port := range n.Publish {
		p.Publish = append(p.Publish, port.V)
	}
	d.plan.Network = p
	c.State, c.Mechanism = StateEnforced, "network namespace"
	if p.Proxy {
		c.Mechanism = "network namespace, proxy"
	}
	if p.Upstream != "" {
		c.State = StateOpen
		c.Requirement, c.Route = "names that are looked up here and not by the upstream proxy", "take upstream out"
	}
}

// served reports whether somebody serves the program's network here, and says what is
// missing.
func (d *planner) served(c *Clause, mode policy.NetworkMode) bool {
	otherwise := "--net ports --connect-tcp 443 for every host on that port"
	if mode != policy.NetProxy && len(d.pol.Network.Publish) > 0 {
		otherwise = "--net ports --bind-tcp PORT for a port of the host's own"
	}
	switch {
	case !d.inside:
		c.Requirement = "a network namespace, which isolation landlock has not"
		c.Route = "--isolation namespaces, or " + otherwise
		return false
	case d.facts.Proxy == nil:
		c.Requirement = "somebody who serves them, as brainbox run does"
		c.Route = "brainbox run, or " + otherwise
		return false
	}
	return true
}

// namedHosts lists what is reached. An empty list is no mistake: then nothing is.
func (d *planner) namedHosts(c *Clause) {
	n := &d.pol.Network
	for _, h := range n.AllowHosts {
		c.Entries = append(c.Entries, Entry{
			Value: h.V.String(), State: StateEnforced, Source: h.Source, Note: hostNote(h.V),
		})
	}
	if len(n.AllowHosts) == 0 {
		c.Entries = append(c.Entries, Entry{
			Value: "no host", State: StateEnforced, Source: sourceOf(n.Mode.Set, n.Mode.Source),
			Note: "allow_hosts is empty: nothing is reached",
		})
	}
	if n.Resolver.Set {
		e := Entry{
			Value: "resolver " + n.Resolver.V, State: StateEnforced, Source: n.Resolver.Source,
			Note: "looks names up, in place of the host's own",
		}
		if n.Upstream.Set {
			e.Note = "looks the upstream's own name up, and no other"
		}
		c.Entries = append(c.Entries, e)
	}
	if n.Upstream.Set {
		c.Entries = append(c.Entries, Entry{
			Value: "upstream " + n.Upstream.V, State: StateOpen, Source: n.Upstream.Source,
			Note: "it looks the names up: where they lead, into a private network or not, is not checked here",
		})
	}
}

func hostNote(h policy.Host) string {
	name, below := strings.CutPrefix(h.Name, "*.")
	var notes []string
	switch {
	case below:
		notes = append(notes, "every name below "+name+", not itself")
	case h.IsAddress():
		notes = append(notes, "this address itself, private or not")
	}
	if h.Port == 0 {
		notes = append(notes, "ports 443 and 80")
	}
	return strings.Join(notes, "; ")
}

// published lists the ports of the program that are reached from the host.
func (d *planner) published(c *Clause) {
	for _, p := range d.pol.Network.Publish {
		port := strconv.Itoa(int(p.V))
		c.Entries = append(c.Entries, Entry{
			Value: "publish " + port, State: StateEnforced, Source: p.Source,
			Note: "any user of this host can connect to " + loopback + ":" + port,
		})
	}
}

// firstOwnPort is the first port on which a program may listen in its network: it has no
// capability there, and a new namespace begins with this (ip(7), ip_unprivileged_port_start).
const firstOwnPort = 1024

// mostPublished is how many ports a run's network takes: each is a listener or two of the host
// (internal/netask).
const mostPublished = 256

// unpublishable refuses a published port that is never the program's, and more than are taken.
// Two of the former are served from outside: the proxy would be everybody's on the host, under
// the program's name.
func (d *planner) unpublishable(c *Clause) bool {
	for i, p := range d.pol.Network.Publish {
		e := &c.Entries[len(c.Entries)-len(d.pol.Network.Publish)+i]
		switch {
		case p.V < firstOwnPort:
			e.Note = "in a network of its own the program can listen on ports from " + strconv.Itoa(firstOwnPort) + " up"
			c.Route = "let the program listen on another port, and publish that"
		case i >= mostPublished:
			e.Note = "no more than " + strconv.Itoa(mostPublished) + " ports are published"
			c.Route = "publish fewer"
		default:
			continue
		}
		e.State, c.State, c.mistaken = StateRefused, StateRefused, true
	}
	return c.mistaken
}

// proxyVars are how programs are told of the proxy; libraries read the one case or the
// other. What an operator sets himself is his, and its twin is then left out: which of two
// values counts would be the library's choice. No variable opens anything: what does not use
// the proxy is decided about all the same.
func (d *planner) proxyVars() []envfilter.Var {
	if p := d.plan.Network; p == nil || !p.Proxy {
		return nil
	}
	const url = "http://" + proxyAddress
	var vars []envfilter.Var
	for _, v := range [...]envfilter.Var{
		{Name: "HTTP_PROXY", Value: url},
		{Name: "HTTPS_PROXY", Value: url},
		{Name: "ALL_PROXY", Value: "socks5h://" + proxyAddress},
		{Name: "NO_PROXY", Value: "localhost," + loopback + ",::1"},
	} {
		twin := envfilter.Var{Name: strings.ToLower(v.Name), Value: v.Value}
		if !d.sets(twin.Name) {
			vars = append(vars, v)
		}
		if !d.sets(v.Name) {
			vars = append(vars, twin)
		}
	}
	return vars
}

// sets reports whether an operator gives a variable a value of his own.
func (d *planner) sets(name string) bool {
	for _, s := range d.pol.Env.Set {
		if s.V.Name == name {
			return true
		}
	}
	for _, file := range d.facts.EnvFiles {
		vars, err := envfilter.ParseFile(file.Text)
		if err != nil {
			return false // which the clause env refuses
		}
		for _, v := range vars {
			if v.Name == name && !v.FromCaller {
				return true
			}
		}
	}
	return false
}
