package policy

import "strconv"

// forExec takes out of a profile what exec.toml cannot hold, and says so.
func (m *merger) forExec(l *Layer) {
	p := &l.Policy
	kept := p.Grants[:0]
	dropped := 0
	for _, g := range p.Grants {
		if g.Right.Grants() {
			kept = append(kept, g)
		} else {
			dropped++
		}
	}
	p.Grants = kept
	if dropped > 0 {
		m.note("profile " + strconv.Quote(l.Name) + ": " + strconv.Itoa(dropped) +
			" protected or denied names are left out: nothing supervises the program")
	}
}

// combine refuses what cannot hold together. An entry that was written with or
// after the scalar it contradicts is an error; one that was written before, and
// that a later layer's scalar made useless, is set aside with a note.
func (m *merger) combine() error {
	n := &m.out.Network
	mode := n.Mode.V
	if mode != NetPorts {
		if err := useless(m, &n.ConnectTCP, "network.connect_tcp", "ports"); err != nil {
			return err
		}
		if err := useless(m, &n.BindTCP, "network.bind_tcp", "ports"); err != nil {
			return err
		}
		if n.DNS.V == "host" {
			if err := m.needsMode("network.dns", n.DNS.Source, "ports"); err != nil {
				return err
			}
			n.DNS = Value[string]{}
		}
	}
	if mode != NetProxy {
		if err := useless(m, &n.AllowHosts, "network.allow_hosts", "proxy"); err != nil {
			return err
		}
		if err := m.uselessValue(&n.Upstream, "network.upstream"); err != nil {
			return err
		}
		if err := m.uselessValue(&n.Resolver, "network.resolver"); err != nil {
			return err
		}
	}
	if mode == NetPorts || mode == NetHost { // the host's network: bind_tcp, or nothing to publish
		if err := useless(m, &n.Publish, "network.publish", "none or proxy"); err != nil {
			return err
		}
	}
	return m.combineExec()
}

// useless empties a list that the network mode has no use for.
func useless[T any](m *merger, items *[]Item[T], key, want string) error {
	for _, it := range *items {
		if err := m.needsMode(key, it.Source, want); err != nil {
			return err
		}
	}
	*items = nil
	return nil
}

// uselessValue forgets a value that only mode proxy has a use for.
func (m *merger) uselessValue(v *Value[string], key string) error {
	if v.Set {
		if err := m.needsMode(key, v.Source, "proxy"); err != nil {
			return err
		}
	}
	*v = Value[string]{}
	return nil
}

// needsMode returns an error for an entry that the network mode has no use for.
func (m *merger) needsMode(key string, src int, want string) error {
	mode := m.out.Network.Mode
	if m.out.Sources[src].Kind == KindProfile {
		return nil // a profile names the hosts of a registry for whoever chooses mode proxy
	}
	have := strconv.Quote(mode.V.String())
	if mode.Set && m.rank[src] < m.rank[mode.Source] {
		m.note(m.out.Sources[src].at() + ": " + key + " is set aside: " +
			m.out.Sources[mode.Source].at() + " sets network mode " + have)
		return nil
	}
	return &Error{
		Source: m.out.Sources[src], Key: key,
		Msg:  key + " has no meaning with network mode " + have,
		Hint: "it needs network mode " + want,
	}
}

func (m *merger) combineExec() error {
	s := &m.out.Sandbox
	if len(s.Callers) > 0 && !s.Identity.Set {
		return &Error{
			Source: m.out.Sources[s.Callers[0].Source], Key: "sandbox.callers",
			Msg: "callers without identity", Hint: "set sandbox.identity; without it the program stays the caller's own",
		}
	}
	return nil
}

// compact drops the sources that no value refers to any more.
func (m *merger) compact() { m.out.compact() }

func (p *Policy) compact() {
	where := make([]int, len(p.Sources)) // new index + 1
	kept := make([]Source, 0, len(p.Sources))
	p.eachSource(func(i *int) {
		if where[*i] == 0 {
			kept = append(kept, p.Sources[*i])
			where[*i] = len(kept)
		}
		*i = where[*i] - 1
	})
	p.Sources = kept
}

// eachSource calls visit once for the source of every value that is set.
func (p *Policy) eachSource(visit func(*int)) {
	for i := range p.Grants {
		visit(&p.Grants[i].Source)
	}
	n, e, pr, s := &p.Network, &p.Env, &p.Process, &p.Sandbox
	visitValue(n.Mode.Set, &n.Mode.Source, visit)
	visitItems(n.ConnectTCP, visit)
	visitItems(n.BindTCP, visit)
	visitItems(n.Publish, visit)
	visitValue(n.DNS.Set, &n.DNS.Source, visit)
	visitItems(n.AllowHosts, visit)
	visitValue(n.Upstream.Set, &n.Upstream.Source, visit)
	visitValue(n.Resolver.Set, &n.Resolver.Source, visit)
	visitPaths(n.Unix, visit)
	visitItems(e.Allow, visit)
	visitItems(e.Set, visit)
	visitPaths(e.Files, visit)
	visitPath(e.CABundle, visit)
	visitValue(pr.Timeout.Set, &pr.Timeout.Source, visit)
	visitValue(pr.KillAfter.Set, &pr.KillAfter.Source, visit)
	visitValue(pr.Memory.Set, &pr.Memory.Source, visit)
	visitValue(pr.CPU.Set, &pr.CPU.Source, visit)
	visitValue(pr.Pids.Set, &pr.Pids.Source, visit)
	visitValue(pr.NoFile.Set, &pr.NoFile.Source, visit)
	visitValue(pr.FSize.Set, &pr.FSize.Source, visit)
	visitValue(pr.OutputLimit.Set, &pr.OutputLimit.Source, visit)
	visitValue(pr.Seccomp.Set, &pr.Seccomp.Source, visit)
	visitValue(pr.Seccomp.V.Kind == "file", &pr.Seccomp.V.File.Source, visit)
	visitValue(s.Isolation.Set, &s.Isolation.Source, visit)
	visitValue(s.Home.Set, &s.Home.Source, visit)
	visitValue(s.Home.V.Kind == "dir", &s.Home.V.Dir.Source, visit)
	visitItems(s.Degraded, visit)
	visitValue(s.Identity.Set, &s.Identity.Source, visit)
	visitValue(s.GitConfig.Set, &s.GitConfig.Source, visit)
	visitPaths(s.AllowProtected, visit)
	visitPath(s.Cwd, visit)
	visitValue(s.KeepCreated.Set, &s.KeepCreated.Source, visit)
	visitItems(s.Callers, visit)
	visitPath(s.TmpRoot, visit)
	visitItems(p.Optional, visit)
	p.eachGateSource(visit)
}

func (p *Policy) eachGateSource(visit func(*int)) {
	visitItems(p.Gate.AllowedTools, visit)
	visitItems(p.Gate.Confirm, visit)
	visitItems(p.Gate.ConfirmMore, visit)
	for i := range p.Gate.Rules {
		visit(&p.Gate.Rules[i].Source)
	}
	visitValue(p.Gate.NoConfirm.Set, &p.Gate.NoConfirm.Source, visit)
	visitPath(p.Bridge.Envelope, visit)
	for _, name := range rootNames(p.Bridge.Roots) {
		r := p.Bridge.Roots[name]
		visit(&r.Source)
		p.Bridge.Roots[name] = r
	}
}

func visitValue(set bool, src *int, visit func(*int)) {
	if set {
		visit(src)
	}
}

func visitItems[T any](items []Item[T], visit func(*int)) {
	for i := range items {
		visit(&items[i].Source)
	}
}

func visitPaths(paths []Path, visit func(*int)) {
	for i := range paths {
		visit(&paths[i].Source)
	}
}

func visitPath(p *Path, visit func(*int)) {
	if p != nil {
		visit(&p.Source)
	}
}
