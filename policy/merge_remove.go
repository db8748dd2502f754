package policy

import (
	"errors"
	"slices"
	"strconv"
)

// takeBack removes what r names from what was merged since from.
func (m *merger) takeBack(l *Layer, r removal, from reach) error {
	n, e := &m.out.Network, &m.out.Env
	found := false
	switch r.key {
	case "network.connect_tcp":
		n.ConnectTCP, found = cutItems(n.ConnectTCP, from.connect, func(p uint16) bool { return portText(p) == r.text })
	case "network.bind_tcp":
		n.BindTCP, found = cutItems(n.BindTCP, from.bind, func(p uint16) bool { return portText(p) == r.text })
	case "network.publish":
		n.Publish, found = cutItems(n.Publish, from.publish, func(p uint16) bool { return portText(p) == r.text })
	case "network.allow_hosts":
		host, err := ParseHost(r.text)
		if err != nil {
			return m.removeError(l, r, err.Error())
		}
		n.AllowHosts, found = cutItems(n.AllowHosts, from.hosts, func(h Host) bool { return h == host })
	case "env.allow":
		e.Allow, found = cutItems(e.Allow, from.allow, func(s string) bool { return s == r.text })
	case "env.set":
		e.Set, found = cutItems(e.Set, from.set, func(v Var) bool { return v.Name == r.text })
	default:
		return m.takeBackPath(l, r, from)
	}
	if !found {
		return m.removeError(l, r, "")
	}
	return nil
}

func portText(p uint16) string { return strconv.Itoa(int(p)) }

func cutItems[T any](items []Item[T], from int, match func(T) bool) ([]Item[T], bool) {
	n := len(items)
	from = min(from, n)
	rest := slices.DeleteFunc(items[from:], func(it Item[T]) bool { return match(it.V) })
	return items[:from+len(rest)], from+len(rest) < n
}

func cutPaths(paths []Path, from int, abs string) ([]Path, bool) {
	n := len(paths)
	from = min(from, n)
	rest := slices.DeleteFunc(paths[from:], func(p Path) bool { return p.Abs == abs })
	return paths[:from+len(rest)], from+len(rest) < n
}

func (m *merger) takeBackPath(l *Layer, r removal, from reach) error {
	p := r.path
	if err := expandPath(l.Kind, &p, m.in.Vars); err != nil {
		if p.Skip && errors.Is(err, ErrNoValue) {
			return nil
		}
		return m.removeError(l, r, err.Error())
	}
	found := false
	switch r.key {
	case "network.unix":
		m.out.Network.Unix, found = cutPaths(m.out.Network.Unix, from.unix, p.Abs)
	case "env.files":
		m.out.Env.Files, found = cutPaths(m.out.Env.Files, from.files, p.Abs)
	default:
		return m.takeBackGrant(l, r, p.Abs, from.grants)
	}
	if !found {
		return m.removeError(l, r, "")
	}
	return nil
}

func (m *merger) takeBackGrant(l *Layer, r removal, abs string, from int) error {
	right, err := ParseRight(r.key[len("filesystem."):])
	if err != nil {
		return m.removeError(l, r, err.Error())
	}
	from = min(from, len(m.out.Grants))
	kept := m.out.Grants[:from]
	found, other := false, RightNone
	for _, g := range m.out.Grants[from:] {
		switch left := lessRight(g.Right, right); {
		case g.Abs != abs:
		case g.Right == right:
			found = true
			continue
		case left != RightNone:
			g.Right, found = left, true
		default:
			other = g.Right
		}
		kept = append(kept, g)
	}
	m.out.Grants = kept
	switch {
	case found:
		return nil
	case other != RightNone:
		return m.removeError(l, r, strconv.Quote(r.text)+" is an entry of "+other.String()+", not of "+right.String())
	}
	return m.removeError(l, r, "")
}

// lessRight returns what is left of a write_exec entry from which write or exec
// is taken, or RightNone for any other pair.
func lessRight(have, take Right) Right {
	switch {
	case have == RightWriteExec && take == RightWrite:
		return RightExec
	case have == RightWriteExec && take == RightExec:
		return RightWrite
	}
	return RightNone
}

func (m *merger) removeError(l *Layer, r removal, msg string) error {
	if msg == "" {
		msg = "nothing to remove: no extended file has " + strconv.Quote(r.text) + " in " + r.key
	}
	return &Error{
		Source: l.Policy.Sources[r.source], Key: r.key, Msg: msg,
		Hint: "remove takes back what an extended file granted, written with the same right",
	}
}
