package launcher

import (
	"slices"
	"strconv"
	"strings"

	"brainbox/envfilter"
	"brainbox/policy"
)

// BridgePlan is how the program reaches its bridge. Exactly one of Socket and FD is set.
type BridgePlan struct {
	Socket string // where the program finds agent.sock
	FD     int    // else the number of the descriptor that it inherits
	Broker bool   // the supervisor connects the program to it
}

// bridgeSocket decides the program's way to the host, as an entry of unix. It reports
// whether the broker is needed.
func (d *planner) bridgeSocket(c *Clause) (brokered bool) {
	b := d.facts.Bridge
	if b == nil {
		return false
	}
	e := Entry{
		Value: "bridge", Path: b.Dir + "/" + agentSocket, Target: b.Dir + "/" + agentSocket, Right: "connect",
		State: StateEnforced, Source: b.Source,
	}
	p := &BridgePlan{}
	d.plan.Bridge = p
	switch {
	case d.inside:
		p.Socket, e.Path = BridgeInside, BridgeInside
		e.Note = "agent.sock of the run"
	default:
		missing, _ := "a supervisor", ""
		if d.facts.Broker != nil {
			missing, _ = brokerNeeds(d.facts.Broker)
		}
		switch {
		case b.Long:
			missing = "a shorter XDG_RUNTIME_DIR: a socket's name has at most " + strconv.Itoa(maxSocketName) + " bytes"
		case missing == "":
			p.Socket, p.Broker = e.Path, true
			e.Note = "agent.sock of the run; the server sees brainbox's process number"
		}
		if missing != "" {
			p.FD, e.Path, e.Target = b.FD, "", ""
			e.Note = "as descriptor " + strconv.Itoa(b.FD) + ", which children inherit: a socket needs " + missing
		}
	}
	c.Entries = append(c.Entries, e)
	for i := range b.Roots {
		d.bridgeRoot(c, &b.Roots[i])
	}
	return p.Broker
}

// bridgeRoot decides one folder of the host's. Nothing of it may be what the program is kept
// from whatever the gate says.
func (d *planner) bridgeRoot(c *Clause, r *BridgeRoot) {
	e := Entry{
		Value: "root " + r.Name, Path: r.Path, Target: r.Path, State: StateEnforced, Source: r.Source,
		Note: "the host reads and writes there for the program, as the gate lets it",
	}
	refuse := func(note string) {
		e.State, e.Note = StateRefused, note
		c.State, c.mistaken, c.Requirement = StateRefused, true, "root "+r.Name+": "+note
		c.Route = "name another folder in [bridge] roots"
	}
	for _, s := range d.facts.secretPlaces() {
		if policy.Below(r.Path, s.Path) {
			refuse("it is in the place of " + s.What + " (" + quotePath(s.Path) + ")")
		}
	}
	switch {
	case e.State == StateRefused:
	case d.carved(r.Path, policy.RightDeny):
		refuse("it lies in a denied tree")
	case d.carved(r.Path, policy.RightProtect):
		refuse("it lies in a protected tree")
	}
	c.Entries = append(c.Entries, e)
}

// bridgeVars are what the program is told of the bridge; nobody may override them.
func (d *planner) bridgeVars() []envfilter.Var {
	p, b := d.plan.Bridge, d.facts.Bridge
	if p == nil {
		return nil
	}
	vars := []envfilter.Var{{Name: "BRAINBOX_SESSION", Value: b.ID}}
	if p.Socket != "" {
		vars = append(vars, envfilter.Var{Name: "BRAINBOX_SOCKET", Value: p.Socket})
	} else {
		vars = append(vars, envfilter.Var{Name: "BRAINBOX_BRIDGE_FD", Value: strconv.Itoa(p.FD)})
	}
	for _, v := range b.Env {
		name, value, _ := strings.Cut(v, "=")
		vars = append(vars, envfilter.Var{Name: name, Value: value})
	}
	return vars
}

// scrub takes out what would tell the program a secret of the host's (contract
// bridge-and-gate, section A.9). It is the last step: nothing admits it again.
func (d *planner) scrub(c *Clause) {
	b := d.facts.Bridge
	if b == nil {
		return
	}
	kept, dropped := envfilter.Scrub(d.plan.Env, b.Scrub, b.Secrets)
	d.plan.Env = kept
	for _, name := range dropped {
		c.Entries = append(c.Entries, Entry{
			Value: name, State: StateEnforced, Source: b.Source, Note: "not handed on: it belongs to the bridge, or holds a secret of its",
		})
	}
}

// secretive refuses a grant that would show the program what only the operator may have.
func (d *planner) secretive(c *Clause, e *Entry, w *Want, p *PathFact) {
	if w.Always {
		return
	}
	for _, s := range d.facts.secretPlaces() {
		inside := policy.Below(p.Target, s.Path)
		if !inside && !policy.Below(s.Path, p.Target) || !inside && d.carved(s.Path, policy.RightDeny) {
			continue
		}
		e.State, e.Note, c.mistaken = StateRefused, "a grant that holds "+s.What+" ("+quotePath(s.Path)+"), with a bridge", true
		c.Route = "grant a folder that does not hold it, or add --deny " + quotePath(s.Path)
		return
	}
}

// bridgePrograms are what the program calls the host with: brainbox itself and its MCP
// server.
func bridgePrograms(b *Bridge) []Want {
	if b == nil {
		return nil
	}
	var list []Want
	for _, path := range ownPrograms("brainbox", "brainbox-mcp") {
		list = append(list, Want{Grant: policy.Grant{
			Path: policy.Path{Text: path, Abs: path, Skip: true, Source: b.Source}, Right: policy.RightExec,
		}})
	}
	return list
}

// Kept is what holds for whoever writes and reads for the program: absolute paths, links
// resolved.
type Kept struct {
	Keep   []string // nothing may be written there, or below, although a write grant holds it
	Hide   []string // nor read
	Writes []string // the trees and files that the program may write to itself
}

// Kept lists what the program may not change, what it may not see, and what it may write.
func (p *Plan) Kept(f *Facts) Kept {
	var k Kept
	for i := range f.Wants {
		w, path := &f.Wants[i], &f.Paths[i]
		at := append([]string{firstOf(path.Target, w.Abs)}, path.Others...)
		switch {
		case w.Right == policy.RightProtect:
			k.Keep = append(k.Keep, at...)
		case w.Right == policy.RightDeny:
			k.Hide = append(k.Hide, at...)
		case w.Right.Writes() && path.Err == nil && !policy.Below(path.Target, "/dev"):
			k.Writes = append(k.Writes, path.Target)
		}
	}
	if f.Inside != nil {
		for i := range f.Inside.Names {
			switch n := &f.Inside.Names[i]; n.Guard {
			case GuardProtect:
				k.Keep = append(k.Keep, n.Path)
			case GuardDeny:
				k.Hide = append(k.Hide, n.Path)
			case GuardName:
			}
		}
		for i := range f.Inside.Sockets {
			k.Hide = append(k.Hide, f.Inside.Sockets[i].Path)
		}
	}
	for _, w := range p.Watch {
		k.Keep = append(k.Keep, w.Path)
	}
	for _, c := range f.Critical {
		if c.Path != "/" && c.Path != f.Place.Home && c.Path != resolved(f.Place.Home) {
			k.Keep = append(k.Keep, c.Path)
		}
	}
	for _, c := range f.secretPlaces() {
		k.Hide = append(k.Hide, c.Path)
	}
	k.Writes = append(k.Writes, f.homeDir(), f.tmpDir())
	for _, list := range []*[]string{&k.Keep, &k.Hide, &k.Writes} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return k
}
