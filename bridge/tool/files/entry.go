package files

import (
	"context"

	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/protect"
	"brainbox/gate/shell"
	"brainbox/internal/strictjson"
)

// mkdir is a call of mkdir.
type mkdir struct {
	rs      *Roots
	r       *root
	rel     string
	parents bool
}

func planMkdir(rs *Roots, v *strictjson.Value) (*mkdir, error) {
	in := rs.bind(v, "path", "root", "parents")
	c := &mkdir{rs, in.root(), in.change("path"), in.flag("parents")}
	if err := in.err(); err != nil {
		return nil, err
	}
	return c, c.r.changeable(c.rel, c.rel, false)
}

func (c *mkdir) reading() gate.Reading {
	return gate.Reading{Value: c.rs.value(c.r, c.rel), Targets: []gate.Target{c.r.target(c.rel, shell.WriteOnly, true)}}
}

func (c *mkdir) binds() [][]byte {
	return [][]byte{[]byte(c.r.Name), []byte(c.rel), bits(c.parents)}
}

func (c *mkdir) locks() []string { return []string{c.r.key(c.rel)} }

func (c *mkdir) do(ctx context.Context, held []*protect.Held) (*strictjson.Value, error) {
	t, err := c.r.own(held, 0, c.rel)
	if err != nil {
		return nil, err
	}
	got, err := c.r.Dir.Mkdir(ctx, c.rel, dirchain.MkdirRequest{Parents: c.parents, Held: t})
	if err != nil {
		return nil, explain(err, c.rel)
	}
	return object(
		strictjson.Pair("path", strictjson.Text(c.rel)), strictjson.Pair("created", strictjson.Bool(got.Created)),
		strictjson.Pair("parents", strictjson.Int(int64(got.Parents))),
	), nil
}

// rename is a call of rename. Both ends are entries: no link is followed.
type rename struct {
	rs       *Roots
	r        *root
	from, to string
	replace  bool
	base     *dirchain.Hash
}

func planRename(rs *Roots, v *strictjson.Value) (*rename, error) {
	in := rs.bind(v, "from", "to", "root", "replace", "base")
	c := &rename{rs, in.root(), in.change("from"), in.change("to"), in.flag("replace"), optional(in.Fields, "base")}
	if err := in.err(); err != nil {
		return nil, err
	}
	for _, p := range []string{c.from, c.to} {
		if err := c.r.changeable(p, p, true); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// reading: under its new name it is read by who may read that, so the move is a read of it.
func (c *rename) reading() gate.Reading {
	return gate.Reading{Value: c.rs.value(c.r, c.from), Targets: []gate.Target{
		c.r.target(c.from, shell.Both, true), c.r.target(c.to, shell.WriteOnly, true),
	}}
}

func (c *rename) binds() [][]byte {
	return [][]byte{[]byte(c.r.Name), []byte(c.from), []byte(c.to), bits(c.replace, c.base != nil), base(c.base)}
}

func (c *rename) locks() []string {
	a, b := c.r.key(c.from), c.r.key(c.to)
	switch {
	case a == b:
		return []string{a}
	case a > b:
		a, b = b, a
	}
	return []string{a, b}
}

func (c *rename) do(ctx context.Context, held []*protect.Held) (*strictjson.Value, error) {
	from, err := c.r.own(held, 0, c.from)
	if err != nil {
		return nil, err
	}
	to, err := c.r.own(held, 1, c.to)
	if err != nil {
		return nil, err
	}
	if c.base != nil {
		if err = c.r.still(ctx, from, *c.base); err != nil {
			return nil, err
		}
	}
	if st, found := from.Stat(); found && st.Type().IsDir() {
		if err = c.inside(ctx); err != nil {
			return nil, err
		}
	}
	got, err := c.r.Dir.Rename(ctx, c.from, c.to, dirchain.RenameRequest{Replace: c.replace, HeldFrom: from, HeldTo: to})
	if err != nil && !got.Renamed {
		return nil, explain(err, c.from)
	} else if err != nil {
		return nil, refuse("application_failed", c.from, "it is renamed, but that is not known to be on the disk")
	}
	return object(
		strictjson.Pair("from", strictjson.Text(c.from)), strictjson.Pair("to", strictjson.Text(c.to)),
		strictjson.Pair("replaced", strictjson.Bool(got.Replaced != nil)),
	), nil
}

// inside asks the rules about what the folder has in it, at both ends.
func (c *rename) inside(ctx context.Context) error {
	from, err := c.rs.side(ctx, c.r, c.from, shell.Both)
	if err != nil {
		return err
	}
	to, err := c.rs.side(ctx, c.r, c.to, shell.WriteOnly)
	if err != nil {
		return err
	}
	return c.r.contents(ctx, c.from, from, to)
}

// still hashes the held file, and compares.
func (r *root) still(ctx context.Context, t *dirchain.Target, want dirchain.Hash) error {
	got, err := r.Dir.Read(ctx, t.Path(), dirchain.ReadRequest{Limit: 1})
	if err != nil {
		return explain(err, t.Path())
	}
	if st, _ := t.Stat(); got.Stat.ID != st.ID {
		return explain(dirchain.ErrChanged, t.Path())
	}
	if got.SHA256 != want {
		return explain(dirchain.ErrStale, t.Path())
	}
	return nil
}

// remove is a call of remove: of an entry, a link as itself.
type remove struct {
	rs        *Roots
	r         *root
	rel       string
	recursive bool
	base      *dirchain.Hash
}

func planRemove(rs *Roots, v *strictjson.Value) (*remove, error) {
	in := rs.bind(v, "path", "root", "recursive", "base")
	c := &remove{rs, in.root(), in.change("path"), in.flag("recursive"), optional(in.Fields, "base")}
	if c.recursive && c.base != nil {
		in.Invalid("base", "a folder has none")
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	return c, c.r.changeable(c.rel, c.rel, true)
}

func (c *remove) reading() gate.Reading {
	return gate.Reading{Value: c.rs.value(c.r, c.rel), Targets: []gate.Target{c.r.target(c.rel, shell.WriteOnly, true)}}
}

func (c *remove) binds() [][]byte {
	return [][]byte{[]byte(c.r.Name), []byte(c.rel), bits(c.recursive, c.base != nil), base(c.base)}
}

func (c *remove) locks() []string { return []string{c.r.key(c.rel)} }

func (c *remove) do(ctx context.Context, held []*protect.Held) (*strictjson.Value, error) {
	t, err := c.r.own(held, 0, c.rel)
	if err != nil {
		return nil, err
	}
	if st, found := t.Stat(); c.recursive && found && st.Type().IsDir() {
		return c.tree(ctx, t)
	}
	got, err := c.r.Dir.Remove(ctx, c.rel, dirchain.RemoveRequest{Held: t, Base: c.base})
	if err != nil && !got.Removed {
		return nil, explain(err, c.rel)
	} else if err != nil {
		return nil, refuse("application_failed", c.rel, "it is gone, but that is not known to be on the disk")
	}
	return object(
		strictjson.Pair("path", strictjson.Text(c.rel)), strictjson.Pair("removed", strictjson.Int(1)),
		strictjson.Pair("complete", strictjson.Bool(true)),
	), nil
}

// tree removes a folder and what is in it. What could not be removed is counted.
func (c *remove) tree(ctx context.Context, t *dirchain.Target) (*strictjson.Value, error) {
	all, err := c.rs.side(ctx, c.r, c.rel, shell.WriteOnly)
	if err != nil {
		return nil, err
	}
	if err = c.r.contents(ctx, c.rel, all); err != nil {
		return nil, err
	}
	got, err := c.r.Dir.RemoveTree(ctx, c.rel, dirchain.RemoveTreeRequest{Held: t})
	n := got.Files + got.Directories
	if err != nil && n == 0 {
		return nil, explain(err, c.rel)
	}
	members := []strictjson.Member{
		strictjson.Pair("path", strictjson.Text(c.rel)), strictjson.Pair("removed", strictjson.Int(int64(n))),
		strictjson.Pair("complete", strictjson.Bool(err == nil && got.Removed && len(got.Failed) == 0)),
	}
	if n := len(got.Failed); n > 0 {
		members = append(members, strictjson.Pair("failed", strictjson.Int(int64(n))))
	}
	return object(members...), nil
}
