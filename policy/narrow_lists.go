package policy

import (
	"slices"
	"strconv"
	"strings"
)

const narrowHint = "a project file can only narrow; put it into the policy file of the operator"

// network narrows the mode, then every list of what stays reachable.
func (n *narrower) network() error {
	own, out := &n.own.Network, &n.out.Network
	was := out.Mode.V
	if own.Mode.Set && own.Mode.V != was {
		if own.Mode.V != NetNone && was != NetHost || own.Mode.V == NetHost {
			return n.fail(own.Mode.Source, "network.mode", "a project file may not change the network mode from "+
				strconv.Quote(was.String())+" to "+strconv.Quote(own.Mode.V.String()), narrowHint)
		}
		out.Mode = own.Mode
	}
	now := out.Mode.V
	free := was == NetHost // everything was reachable: any list narrows
	for _, list := range []struct {
		key      string
		own, out *[]Item[uint16]
		fits     bool
		free     bool
	}{
		{"network.connect_tcp", &own.ConnectTCP, &out.ConnectTCP, now == NetPorts, free},
		{"network.bind_tcp", &own.BindTCP, &out.BindTCP, now == NetPorts, free},
		{"network.publish", &own.Publish, &out.Publish, now == NetNone || now == NetProxy, false},
	} {
		same := func(op, p uint16) bool { return op == p }
		if err := narrowList(n, list.key, *list.own, list.out, list.fits, list.free, same, portText); err != nil {
			return err
		}
	}
	err := narrowList(n, "network.allow_hosts", own.AllowHosts, &out.AllowHosts, now == NetProxy, free,
		hostCovers, Host.String)
	if err != nil {
		return err
	}
	if now != NetProxy {
		out.Upstream, out.Resolver = Value[string]{}, Value[string]{}
	}
	return n.dns(free)
}

func (n *narrower) dns(free bool) error {
	own, out := n.own.Network.DNS, &n.out.Network.DNS
	ports := n.out.Network.Mode.V == NetPorts
	if own.Set && own.V == "host" && out.V != "host" && (!free || !ports) {
		return n.fail(own.Source, "network.dns", `a project file may not set dns to "host"`, narrowHint)
	}
	if own.Set {
		*out = own
	}
	if !ports {
		*out = Value[string]{}
	}
	return nil
}

// narrowList replaces the operator's list by the project's, every element of
// which he has to cover. fits says whether the mode has a use for the list.
func narrowList[T any](n *narrower, key string, own []Item[T], out *[]Item[T], fits, free bool,
	covered func(op, p T) bool, text func(T) string,
) error {
	for _, p := range own {
		ok := fits && free
		for _, op := range *out {
			ok = ok || fits && covered(op.V, p.V)
		}
		if !ok {
			return n.fail(p.Source, key, "the operator does not grant "+key+" "+text(p.V), narrowHint)
		}
	}
	switch {
	case !fits:
		*out = nil
	case len(own) > 0 || slices.Contains(n.empty, key):
		*out = own
	}
	return nil
}

// hostCovers reports whether op allows everything that p allows.
func hostCovers(op, p Host) bool {
	if op.Port != p.Port && (op.Port != 0 || p.Port != 443 && p.Port != 80) {
		return false
	}
	if op.Name == p.Name {
		return true
	}
	suffix, ok := strings.CutPrefix(op.Name, "*")
	return ok && strings.HasSuffix(p.Name, suffix)
}

// env leaves the variables that both let through.
func (n *narrower) env() error {
	if len(n.own.Env.Allow) == 0 && !slices.Contains(n.empty, "env.allow") {
		return nil
	}
	var both []Item[string]
	for _, p := range n.own.Env.Allow {
		found := false
		for _, op := range n.out.Env.Allow {
			switch {
			case patternCovers(op.V, p.V):
				both, found = append(both, p), true
			case patternCovers(p.V, op.V):
				both, found = append(both, op), true
			}
		}
		if !found {
			n.note(n.out.Sources[p.Source].at() + ": env.allow " + p.V + " is not let through by the operator")
		}
	}
	n.out.Env.Allow = unique(both)
	return nil
}

// patternCovers reports whether every name that b stands for is one that a
// stands for.
func patternCovers(a, b string) bool {
	prefix, wild := strings.CutSuffix(a, "*")
	return a == b || wild && strings.HasPrefix(strings.TrimSuffix(b, "*"), prefix)
}

// process takes the smaller of every limit.
func (n *narrower) process() error {
	own, out := &n.own.Process, &n.out.Process
	smaller(&out.Timeout, own.Timeout)
	smaller(&out.KillAfter, own.KillAfter)
	smaller(&out.Memory, own.Memory)
	smaller(&out.Pids, own.Pids)
	smaller(&out.NoFile, own.NoFile)
	smaller(&out.FSize, own.FSize)
	smaller(&out.OutputLimit, own.OutputLimit)
	if own.CPU.Set && (!out.CPU.Set || hundredths(own.CPU.V) < hundredths(out.CPU.V)) {
		out.CPU = own.CPU
	}
	if !own.Seccomp.Set {
		return nil
	}
	if own.Seccomp.V.Kind != "default" || out.Seccomp.V.Kind == "file" {
		return n.fail(own.Seccomp.Source, "process.seccomp",
			"a project file may not replace the operator's seccomp profile", narrowHint)
	}
	if out.Seccomp.V.Kind == "none" || out.Seccomp.V.Kind == "debug" {
		out.Seccomp = own.Seccomp
	}
	return nil
}

func smaller[T ~int64 | ~uint64](out *Value[T], own Value[T]) {
	if own.Set && (!out.Set || own.V < out.V) {
		*out = own
	}
}

// hundredths reads what ParseCPU returned.
func hundredths(cpu string) int {
	whole, frac, _ := strings.Cut(cpu, ".")
	n, err := strconv.Atoi(whole + (frac + "00")[:2])
	if err != nil {
		return 0
	}
	return n
}
