package policy

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// expand fills p.Abs and moves its source; keep is false if the path has no
// value here and may be missing.
func (m *merger) expand(l *Layer, key string, p Path, base int) (out Path, keep bool, err error) {
	src := l.Policy.Sources[p.Source]
	p.Source += base
	bad := expandPath(l.Kind, &p, m.in.Vars)
	if bad == nil {
		return p, true, nil
	}
	if p.Skip && errors.Is(bad, ErrNoValue) {
		return p, false, nil
	}
	return p, false, &Error{Source: src, Key: key, Msg: bad.Error(), Hint: Hint(bad), Err: bad}
}

func moved[T any](items []Item[T], base int) []Item[T] {
	out := make([]Item[T], len(items))
	for i, it := range items {
		out[i] = Item[T]{it.V, it.Source + base}
	}
	return out
}

func (m *merger) appendPaths(l *Layer, key string, dst *[]Path, paths []Path, base int) error {
	for _, p := range paths {
		q, keep, err := m.expand(l, key, p, base)
		if err != nil {
			return err
		}
		if keep {
			*dst = append(*dst, q)
		}
	}
	return nil
}

// lists appends every list of l.
func (m *merger) lists(l *Layer, base int) error {
	p, out := &l.Policy, m.out
	out.Grants = slices.Grow(out.Grants, len(p.Grants))
	for _, g := range p.Grants {
		if l.Kind == KindProfile && m.in.Vars.Git == m.in.Vars.Cwd && strings.HasPrefix(g.Text, "@git/") {
			continue // every profile says the same of @cwd
		}
		q, keep, err := m.expand(l, "filesystem."+g.Right.String(), g.Path, base)
		if err != nil {
			return err
		}
		if keep {
			out.Grants = append(out.Grants, Grant{q, g.Right})
		}
	}
	n, to := &p.Network, &out.Network
	to.ConnectTCP = append(to.ConnectTCP, moved(n.ConnectTCP, base)...)
	to.BindTCP = append(to.BindTCP, moved(n.BindTCP, base)...)
	to.Publish = append(to.Publish, moved(n.Publish, base)...)
	to.AllowHosts = append(to.AllowHosts, moved(n.AllowHosts, base)...)
	if err := m.appendPaths(l, "network.unix", &to.Unix, n.Unix, base); err != nil {
		return err
	}
	out.Env.Allow = append(out.Env.Allow, moved(p.Env.Allow, base)...)
	for _, v := range moved(p.Env.Set, base) {
		out.Env.Set = setVar(out.Env.Set, v)
	}
	if err := m.appendPaths(l, "env.files", &out.Env.Files, p.Env.Files, base); err != nil {
		return err
	}
	err := m.appendPaths(l, "sandbox.allow_protected", &out.Sandbox.AllowProtected, p.Sandbox.AllowProtected, base)
	if err != nil {
		return err
	}
	out.Sandbox.Callers = append(out.Sandbox.Callers, moved(p.Sandbox.Callers, base)...)
	out.Optional = append(out.Optional, moved(p.Optional, base)...)
	out.Gate.AllowedTools = append(out.Gate.AllowedTools, moved(p.Gate.AllowedTools, base)...)
	out.Gate.Confirm = append(out.Gate.Confirm, moved(p.Gate.Confirm, base)...)
	out.Gate.ConfirmMore = append(out.Gate.ConfirmMore, moved(p.Gate.ConfirmMore, base)...)
	for _, r := range p.Gate.Rules {
		r.Source += base
		out.Gate.Rules = append(out.Gate.Rules, r)
	}
	return m.roots(l, base)
}

// setVar adds a variable; a later value of the same name replaces an earlier one.
func setVar(list []Item[Var], v Item[Var]) []Item[Var] {
	for i := range list {
		if list[i].V.Name == v.V.Name {
			list[i] = v
			return list
		}
	}
	return append(list, v)
}

func (m *merger) roots(l *Layer, base int) error {
	for name, p := range l.Policy.Bridge.Roots {
		q, keep, err := m.expand(l, "bridge.roots."+name, p, base)
		if err != nil {
			return err
		}
		if !keep {
			continue
		}
		if m.out.Bridge.Roots == nil {
			m.out.Bridge.Roots = make(map[string]Path)
		}
		m.out.Bridge.Roots[name] = q
	}
	return nil
}

func replace[T any](dst *Value[T], v Value[T], base int) {
	if v.Set {
		*dst = Value[T]{V: v.V, Set: true, Source: v.Source + base}
	}
}

// scalars replaces what l sets.
func (m *merger) scalars(l *Layer, base int, extended bool) error {
	p, out := &l.Policy, m.out
	replace(&out.Network.Mode, p.Network.Mode, base)
	replace(&out.Network.DNS, p.Network.DNS, base)
	replace(&out.Network.Upstream, p.Network.Upstream, base)
	replace(&out.Network.Resolver, p.Network.Resolver, base)
	from, to := &p.Process, &out.Process
	replace(&to.Timeout, from.Timeout, base)
	replace(&to.KillAfter, from.KillAfter, base)
	replace(&to.Memory, from.Memory, base)
	replace(&to.CPU, from.CPU, base)
	replace(&to.Pids, from.Pids, base)
	replace(&to.NoFile, from.NoFile, base)
	replace(&to.FSize, from.FSize, base)
	replace(&to.OutputLimit, from.OutputLimit, base)
	replace(&out.Sandbox.Isolation, p.Sandbox.Isolation, base)
	replace(&out.Sandbox.Identity, p.Sandbox.Identity, base)
	replace(&out.Sandbox.GitConfig, p.Sandbox.GitConfig, base)
	replace(&out.Sandbox.KeepCreated, p.Sandbox.KeepCreated, base)
	replace(&out.Gate.NoConfirm, p.Gate.NoConfirm, base)
	m.degraded(l, base, extended)
	return m.paths(l, base)
}

// degraded keeps what the operator's own file or flags accept as open, and
// nothing that an extended file says.
func (m *merger) degraded(l *Layer, base int, extended bool) {
	for _, d := range moved(l.Policy.Sandbox.Degraded, base) {
		if extended {
			m.note(m.out.Sources[d.Source].at() + ": degraded " + strconv.Quote(d.V) +
				" is not inherited from an extended file")
			continue
		}
		m.out.Sandbox.Degraded = append(m.out.Sandbox.Degraded, d)
	}
}

// paths replaces the single paths that l sets.
func (m *merger) paths(l *Layer, base int) error {
	p, out := &l.Policy, m.out
	for _, one := range []struct {
		key      string
		from, to **Path
	}{
		{"env.ca_bundle", &p.Env.CABundle, &out.Env.CABundle},
		{"sandbox.cwd", &p.Sandbox.Cwd, &out.Sandbox.Cwd},
		{"sandbox.tmp_root", &p.Sandbox.TmpRoot, &out.Sandbox.TmpRoot},
		{"bridge.envelope", &p.Bridge.Envelope, &out.Bridge.Envelope},
	} {
		if *one.from == nil {
			continue
		}
		q, keep, err := m.expand(l, one.key, **one.from, base)
		if err != nil {
			return err
		}
		if keep {
			*one.to = &q
		}
	}
	sec, home := p.Process.Seccomp, p.Sandbox.Home
	var err error
	if sec.V.Kind == "file" {
		if sec.V.File, _, err = m.expand(l, "process.seccomp", sec.V.File, base); err != nil {
			return err
		}
	}
	if home.V.Kind == "dir" {
		if home.V.Dir, _, err = m.expand(l, "sandbox.home", home.V.Dir, base); err != nil {
			return err
		}
	}
	replace(&out.Process.Seccomp, sec, base)
	replace(&out.Sandbox.Home, home, base)
	return nil
}
