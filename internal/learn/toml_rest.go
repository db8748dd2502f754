package learn

import (
	"slices"
	"strconv"
	"strings"

	"brainbox/envfilter"
	"brainbox/policy"
)

// network writes what the flags asked for, as far as it was used, and what was refused.
func (w *writer) network() {
	d := w.d
	asked := policy.Network{}
	if d.in.Asked != nil {
		asked = d.in.Asked.Network
	}
	closed := asked.Mode.V == policy.NetNone && len(d.Closed[0])+len(d.Closed[1]) > 0
	if !asked.Mode.Set && len(asked.Unix)+len(d.Sockets)+len(asked.Publish)+len(d.Closed[0])+len(d.Closed[1]) == 0 {
		return
	}
	w.line()
	w.line("[network]")
	if asked.Mode.Set {
		w.line("mode = ", quote(asked.Mode.V.String()), "  # asked by a flag")
	}
	if closed {
		w.line(heading)
		w.line(`# mode = "ports"`)
	}
	w.ports("connect_tcp", asked.Mode.V, asked.ConnectTCP, d.Ports[0], d.Closed[0])
	w.ports("bind_tcp", asked.Mode.V, asked.BindTCP, d.Ports[1], d.Closed[1])
	w.numbers("publish", asked.Publish)
	if asked.DNS.Set {
		w.line("dns = ", quote(asked.DNS.V))
	}
	if len(asked.AllowHosts) > 0 {
		w.line("allow_hosts = [  # asked by flags; which were used cannot be seen here")
		for _, h := range asked.AllowHosts {
			w.line("  ", quote(h.V.String()), ",")
		}
		w.line("]")
	}
	if asked.Resolver.Set {
		w.line("resolver = ", quote(asked.Resolver.V))
	}
	var unix []Line
	for _, p := range asked.Unix {
		unix = append(unix, Line{Path: p.Abs, Skip: p.Skip, Why: "asked by a flag"})
	}
	w.paths("unix", unix, d.Sockets)
}

func (w *writer) numbers(key string, ports []policy.Item[uint16]) {
	if len(ports) == 0 {
		return
	}
	w.line(key, " = [")
	for _, p := range ports {
		w.line("  ", strconv.Itoa(int(p.V)), ",  # asked by a flag")
	}
	w.line("]")
}

// ports writes those that were asked for and used, and those that were refused.
func (w *writer) ports(key string, mode policy.NetworkMode, asked []policy.Item[uint16], used, closed []uint16) {
	var active []uint16
	for _, p := range asked {
		if slices.Contains(used, p.V) {
			active = append(active, p.V)
		}
	}
	switch {
	case len(active)+len(closed) == 0:
		return
	case mode == policy.NetNone:
		w.line("# ", key, " = [", list(closed), "]")
		return
	case mode != policy.NetPorts:
		w.comment("refused, and not to be allowed in mode " + mode.String() + ": " + key + " " + list(closed))
		return
	}
	w.line(key, " = [")
	for _, p := range active {
		w.line("  ", strconv.Itoa(int(p)), ",  # asked by a flag, and used")
	}
	if len(closed) > 0 {
		w.line("  ", heading)
	}
	for _, p := range closed {
		w.line("  # ", strconv.Itoa(int(p)), ",")
	}
	w.line("]")
}

func list(ports []uint16) string {
	words := make([]string, len(ports))
	for i, p := range ports {
		words[i] = strconv.Itoa(int(p))
	}
	return strings.Join(words, ", ")
}

// rest writes what else the flags asked for. The value of a variable whose name looks like
// that of a secret stays out: the caller's own is passed on.
func (w *writer) rest() {
	w.line()
	w.line("# Variables that the program asks for cannot be seen. To pass one on:")
	w.line("# [env]")
	w.line(`# allow = ["NAME"]`)
	if w.d.in.Asked == nil {
		return
	}
	asked := *w.d.in.Asked
	asked.Grants, asked.Network, asked.Notes = nil, policy.Network{}, nil
	asked.Env.Set = nil
	for _, v := range w.d.in.Asked.Env.Set {
		if envfilter.LooksSecret(v.V.Name) {
			asked.Env.Allow = append(slices.Clip(asked.Env.Allow), policy.Item[string]{V: v.V.Name, Source: v.Source})
		} else {
			asked.Env.Set = append(asked.Env.Set, v)
		}
	}
	asked.Sources = slices.Clone(asked.Sources)
	for i := range asked.Sources { // a flag as typed may hold the value of a variable
		asked.Sources[i].Name = strings.SplitN(asked.Sources[i].Name, "=", 2)[0]
	}
	_, text, _ := strings.Cut(string(asked.Format()), "\n") // after the version
	w.b.WriteString(text)
}
