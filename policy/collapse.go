package policy

import (
	"slices"
	"strings"
)

// collapse drops entries that say the same twice. The first one's provenance is
// kept, unless a later one asks for more: what an operator requires is not made
// optional by a profile that has it too, and a flag counts as a flag.
func (m *merger) collapse() {
	out := m.out
	m.collapseGrants()
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

// collapseGrants sorts indexes rather than hashing paths: it runs at every start.
func (m *merger) collapseGrants() {
	grants := m.out.Grants
	order := make([]int32, len(grants))
	for i := range order {
		order[i] = int32(i) //nolint:gosec // a policy is at most 1 MiB of text, read at most 64 times
	}
	slices.SortFunc(order, func(a, b int32) int {
		if c := strings.Compare(grants[a].Abs, grants[b].Abs); c != 0 {
			return c
		}
		if c := int(grants[a].Right) - int(grants[b].Right); c != 0 {
			return c
		}
		return int(a - b)
	})
	var drop []int32
	for i := 1; i < len(order); i++ {
		first, g := &grants[order[i-1]], grants[order[i]]
		if first.Abs != g.Abs || first.Right != g.Right {
			continue
		}
		later := g.Right.Grants() && m.out.Sources[g.Source].Kind > m.out.Sources[first.Source].Kind
		first.Path = stricter(first.Path, g.Path)
		if later { // Nest settles entries of one path by kind
			first.Text, first.Literal, first.Source = g.Text, g.Literal, g.Source
		}
		drop = append(drop, order[i])
		order[i] = order[i-1]
	}
	if drop == nil {
		return
	}
	slices.Sort(drop)
	kept := grants[:0]
	for i, g := range grants {
		if len(drop) > 0 && drop[0] == int32(i) { //nolint:gosec // as above
			drop = drop[1:]
			continue
		}
		kept = append(kept, g)
	}
	m.out.Grants = kept
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
