package policy

import "slices"

// collapse drops entries that say the same twice. The first one's provenance is
// kept, unless a later one asks for more: what an operator requires is not made
// optional by a profile that has it too, and a flag counts as a flag.
func (m *merger) collapse() {
	type key struct {
		abs   string
		right Right
	}
	out := m.out
	at := make(map[key]int, len(out.Grants))
	kept := out.Grants[:0]
	for _, g := range out.Grants {
		i, seen := at[key{g.Abs, g.Right}]
		if !seen {
			at[key{g.Abs, g.Right}] = len(kept)
			kept = append(kept, g)
			continue
		}
		later := g.Right.Grants() && out.Sources[g.Source].Kind > out.Sources[kept[i].Source].Kind
		kept[i].Path = stricter(kept[i].Path, g.Path)
		if later { // Nest settles entries of one path by kind
			kept[i].Text, kept[i].Literal, kept[i].Source = g.Text, g.Literal, g.Source
		}
	}
	out.Grants = kept
	out.Network.Unix = uniquePaths(out.Network.Unix)
	out.Env.Files = uniquePaths(out.Env.Files)
	out.Sandbox.AllowProtected = uniquePaths(out.Sandbox.AllowProtected)
	out.Network.ConnectTCP = unique(out.Network.ConnectTCP)
	out.Network.BindTCP = unique(out.Network.BindTCP)
	out.Network.Publish = unique(out.Network.Publish)
	out.Network.AllowHosts = unique(out.Network.AllowHosts)
	out.Env.Allow = unique(out.Env.Allow)
	out.Sandbox.Degraded = unique(out.Sandbox.Degraded)
	out.Sandbox.Callers = unique(out.Sandbox.Callers)
	out.Optional = unique(out.Optional)
	out.Gate.AllowedTools = unique(out.Gate.AllowedTools)
	out.Gate.Confirm = unique(out.Gate.Confirm)
	out.Gate.ConfirmMore = unique(out.Gate.ConfirmMore)
	if len(out.Gate.Confirm) > 0 {
		out.Gate.NoConfirm = Value[bool]{}
	}
}

func stricter(a, b Path) Path {
	if a.Skip && !b.Skip || a.Optional && !b.Optional {
		a.Text, a.Literal, a.Source = b.Text, b.Literal, b.Source
	}
	a.Skip, a.Optional = a.Skip && b.Skip, a.Optional && b.Optional
	return a
}

func unique[T comparable](items []Item[T]) []Item[T] {
	kept := items[:0]
	for _, it := range items {
		if !slices.ContainsFunc(kept, func(k Item[T]) bool { return k.V == it.V }) {
			kept = append(kept, it)
		}
	}
	return kept
}

func uniquePaths(paths []Path) []Path {
	kept := paths[:0]
next:
	for _, p := range paths {
		for i := range kept {
			if kept[i].Abs == p.Abs {
				kept[i] = stricter(kept[i], p)
				continue next
			}
		}
		kept = append(kept, p)
	}
	return kept
}
