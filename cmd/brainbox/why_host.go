package main

import (
	"slices"
	"strconv"
	"strings"

	"brainbox/launcher"
	"brainbox/policy"
	"brainbox/proxy/allow"
)

// whyHost answers for a host by name or address: by the same rules as brainbox-host.
func whyHost(pol *policy.Policy, p *launcher.Plan, target string) (verdict, error) {
	host, ports, err := splitTarget(target)
	if err != nil {
		return verdict{}, refuse(err.Error(), "brainbox why host api.example.com:443")
	}
	hinted := ports[0]
	if len(ports) > 1 {
		hinted = 0 // an entry without a port stands for both
	}
	var all []verdict
	for _, port := range ports {
		v, err := whyHostPort(pol, p, host, port, hinted)
		if err != nil {
			return verdict{}, err
		}
		all = append(all, v)
	}
	if len(all) == 1 || all[0] == all[1] {
		return all[0], nil
	}
	out := verdict{status: all[0].status, hint: all[0].hint}
	if all[1].status != out.status {
		out.status = whyUnknown // it depends on the port
	}
	if out.hint == "" {
		out.hint = all[1].hint
	}
	for i, v := range all {
		all[i].reason = "port " + strconv.Itoa(int(ports[i])) + " " + whyWords[v.status] + ": " + v.reason
	}
	out.reason = all[0].reason + "; " + all[1].reason
	return out, nil
}

// splitTarget takes NAME, NAME:PORT, ADDRESS and [ADDRESS]:PORT apart, as an entry is written.
// Without a port they are those of an entry without one. What a name is, is not looked at.
func splitTarget(target string) (host string, ports []uint16, err error) {
	host, port := target, ""
	if rest, ok := strings.CutPrefix(target, "["); ok {
		inner, after, closed := strings.Cut(rest, "]")
		if number, colon := strings.CutPrefix(after, ":"); closed && (after == "" || colon && number != "") {
			host, port = inner, number
		} // else it is no host, as it stands
	} else if strings.Count(target, ":") == 1 {
		host, port, _ = strings.Cut(target, ":")
	}
	if port == "" {
		return host, []uint16{443, 80}, nil
	}
	n, err := policy.ParsePort(port)
	return host, []uint16{n}, err
}

// whyHostPort answers for one port. The hint is for the port hinted; 0 is that of an entry
// without one.
func whyHostPort(pol *policy.Policy, p *launcher.Plan, host string, port, hinted uint16) (verdict, error) {
	switch mode := pol.Network.Mode.V; {
	case p.Network != nil && p.Network.Proxy:
		return whyListed(p, host, port, hinted)
	case mode == policy.NetProxy: // nobody serves it here
		return whyClause(p, "hosts"), nil
	case mode == policy.NetHost:
		return verdict{reason: "the network is the host's"}, nil
	case mode == policy.NetPorts:
		return whyOpenPort(pol, p, host, port)
	}
	v := whyClause(p, "network")
	v.status, v.reason = whyDenied, "network: mode none, from which nothing leads out"
	v.hint = allowHost(host, hinted)
	if v.hint != "" {
		v.hint = "--net proxy " + v.hint
	}
	return v, nil
}

// whyOpenPort answers where a port is open on every host.
func whyOpenPort(pol *policy.Policy, p *launcher.Plan, host string, port uint16) (verdict, error) {
	v, err := whyPort(p, "connect", strconv.Itoa(int(port)))
	if err != nil || v.status != whyAllowed || pol.Network.DNS.V == "host" {
		return v, err
	}
	if _, addr, err := allow.Normalise(host); err == nil && !addr.IsValid() {
		v.status, v.hint = whyUnknown, "--dns host"
		v.reason += "; but only /etc/hosts looks names up: dns is none"
	}
	return v, nil
}

// whyListed answers by the rules of mode proxy.
func whyListed(p *launcher.Plan, host string, port, hinted uint16) (verdict, error) {
	rules, err := hostRules(p.Network)
	if err != nil {
		return verdict{}, err
	}
	v := rules.Decide(allow.Query{Host: host, Port: port, Path: allow.Connect})
	entry := ""
	if v.Rule >= 0 {
		h := p.Network.Hosts[v.Rule]
		entry = quote(h.V.String()) + " (" + sourceName(p, h.Source) + ")"
	}
	switch {
	case v.Allowed() && v.Addr.IsLoopback() && slices.Contains(p.Network.Publish, port):
		return verdict{status: whyDenied, reason: "it leads to this run itself: the port is published"}, nil
	case v.Allowed() && v.Addr.IsValid():
		return verdict{reason: "it is listed: " + entry}, nil
	case v.Allowed() && p.Network.Upstream != "":
		return verdict{reason: "it is listed: " + entry + "; where it leads is for " + p.Network.Upstream + " to say"}, nil
	case v.Allowed():
		return verdict{reason: "it is listed: " + entry + "; an address that it leads to has to be public, or listed too"}, nil
	}
	out := verdict{status: whyDenied}
	switch {
	case v.Name == "":
		out.reason = quote(host) + " is no host name"
		return out, nil
	case v.Rule >= 0:
		out.reason = entry + " lists it with another port"
	case v.Addr.IsValid():
		out.reason = "no entry lists the address " + v.Name
	default:
		out.reason = "no entry lists " + v.Name
	}
	out.hint = allowHost(v.Name, hinted)
	return out, nil
}

// allowHost is the flag that would list a host, "" where no entry can name it.
func allowHost(name string, port uint16) string {
	h := policy.Host{Name: name, Port: port}
	h, err := policy.ParseHost(h.String())
	if err != nil {
		return ""
	}
	return "--allow-host " + h.String() + " would allow it"
}

// whyOwnPort answers for a port where the program has a network of its own.
func whyOwnPort(p *launcher.Plan, op string, port uint16) verdict {
	number := strconv.Itoa(int(port))
	v := verdict{
		status: whyDenied, reason: "the program has a network of its own, in which nobody listens but itself",
		hint: "--net ports --" + op + "-tcp " + number + " gives it the host's",
	}
	switch {
	case op == "bind" && port < 1024:
		return verdict{status: whyDenied, reason: "the program has a network of its own, and no privilege to bind a port below 1024"}
	case op == "bind" && p.Network != nil && slices.Contains(p.Network.Publish, port):
		return verdict{reason: "the program has a network of its own, and port " + number + " of it is reached from the host's loopback: it is published"}
	case op == "bind":
		v.reason = "the program has a network of its own: what it binds there is reached by nobody else"
		v.hint = "--publish " + number + " lets the host's loopback reach it"
	case p.Network != nil && p.Network.Proxy:
		v.reason = "the program has a network of its own: a port leads out only with the name of a host that is listed"
		v.hint = "brainbox why host NAME:" + number
	}
	return v
}
