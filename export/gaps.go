package export

import (
	"path/filepath"
	"slices"
	"strings"

	"brainbox/landlock"
	"brainbox/launcher"
)

// gapsOfClauses finds what the plan holds by something that no runtime has: Landlock, a
// supervisor, a host that serves. What is open in the plan is no gap.
func (b *bundle) gapsOfClauses() {
	for i := range b.Plan.Clauses {
		c := &b.Plan.Clauses[i]
		if c.State == launcher.StateUnused || c.Degraded {
			continue
		}
		switch c.Name {
		case "protect", "deny":
			b.watched(c)
		case "network":
			b.ports(c)
		case "hosts":
			b.each(c, "brainbox serves it from outside of the program's network, which has no other way out or in")
		case "unix":
			b.sockets(c)
		case "ipc":
			if !b.Plan.OwnNetwork && c.State == launcher.StateEnforced {
				b.gap(c.Name, "", "Landlock keeps the program from the abstract sockets of the host's network, and a runtime has none")
			}
		case "time":
			b.each(c, "a runtime ends nothing by itself: give the time to whoever starts it (timeout(1))")
		case "output":
			b.each(c, "a runtime counts no output")
		case "pids", "memory", "cpu":
			if b.value(c.Name) == "" {
				b.gap(c.Name, "", "the plan does not say it in one number")
			}
		case "files", "metadata", "shared_memory", "processes", "tree": // mounts and namespaces
		case "nofile", "fsize", "core", "env", "seccomp", "capabilities": // of the process
		default:
			b.gap(c.Name, "", "nobody has said what holds it in a container")
		}
	}
	if b.Policy.Bridge.Envelope != nil {
		b.gap("bridge", b.Policy.Bridge.Envelope.Text, "the bridge is served by brainbox: a container calls nobody")
	}
	g := &b.Policy.Gate
	if len(g.Rules) > 0 || len(g.Confirm) > 0 || len(g.AllowedTools) > 0 {
		b.gap("gate", "", "a gate decides about calls of the bridge, and there is none")
	}
}

// each makes every entry that is held a gap.
func (b *bundle) each(c *launcher.Clause, why string) {
	for _, e := range c.Entries {
		if e.State == launcher.StateEnforced {
			b.gap(c.Name, e.Value, why)
		}
	}
}

// watched finds names that did not exist: brainbox looks after the run, and nothing can be
// mounted over what is not there.
func (b *bundle) watched(c *launcher.Clause) {
	for _, e := range c.Entries {
		if e.Right != "watch" {
			continue
		}
		name := e.Value
		if filepath.Base(name) != filepath.Base(e.Path) {
			name = e.Path // a part of a repository
		}
		b.gap(c.Name, name, "absent: brainbox takes it away after a run that makes it, and a runtime does not")
	}
}

// ports finds what Landlock holds of a network that is the host's.
func (b *bundle) ports(c *launcher.Clause) {
	for _, e := range c.Entries {
		verb, _, _ := strings.Cut(e.Value, " ")
		switch verb {
		case "ports", "connect_tcp", "bind_tcp":
			if e.State == launcher.StateEnforced {
				b.gap(c.Name, e.Value, "Landlock holds it: the container has the host's network, and every TCP port")
			}
		}
	}
}

// sockets finds what Landlock holds of sockets by path, where the kernel can (ABI 9).
func (b *bundle) sockets(c *launcher.Clause) {
	writes := false
	for i := range b.mounts {
		writes = writes || b.mounts[i].Type == "bind" && !slices.Contains(b.mounts[i].Options, "ro")
	}
	if writes && c.State == launcher.StateEnforced && b.Facts.Landlock.Used() >= landlock.ResolveUnix.ABI() {
		b.gap(c.Name, "", "Landlock keeps the program from a socket that the host makes in a granted tree later")
	}
}
