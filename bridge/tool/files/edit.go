package files

import (
	"context"

	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/protect"
	"brainbox/gate/shell"
	"brainbox/internal/strictjson"
)

// edit is a call of edit_file.
type edit struct {
	rs       *Roots
	r        *root
	rel      string
	old, new []byte
	base     *dirchain.Hash
}

func planEdit(rs *Roots, v *strictjson.Value) (*edit, error) {
	in := rs.bind(v, "path", "root", "old_string", "new_string", "base")
	c := &edit{
		rs: rs, r: in.root(), rel: in.change("path"), old: in.content("old_string"), new: in.content("new_string"),
		base: hash(in.Fields, "base", false),
	}
	if in.bad == nil && len(c.old) == 0 {
		in.Invalid("old_string", "empty")
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	if err := c.r.changeable(c.rel, c.rel, false); err != nil {
		return nil, err
	}
	return c, nil
}

// reading tells the new text as the content: with the base and the old text, which the
// digest binds, it makes the whole file.
func (c *edit) reading() gate.Reading {
	sum := dirchain.Sum(c.new)
	return gate.Reading{
		Value: c.rs.value(c.r, c.rel), Targets: []gate.Target{c.r.target(c.rel, shell.Both, false)},
		Content: sum[:], Size: int64(len(c.new)),
	}
}

func (c *edit) binds() [][]byte {
	return [][]byte{[]byte(c.r.Name), []byte(c.rel), c.base[:], c.old, c.new}
}

func (c *edit) locks() []string { return []string{c.r.key(c.rel)} }

func (c *edit) do(ctx context.Context, held []*protect.Held) (*strictjson.Value, error) {
	t, err := c.r.own(held, 0, c.rel)
	if err != nil {
		return nil, err
	}
	got, err := c.r.Dir.Edit(ctx, c.rel, dirchain.EditRequest{Old: c.old, New: c.new, Base: c.base, Held: t})
	if err != nil {
		return nil, written(err, got, c.rel)
	}
	return object(done(c.rel, got)...), nil
}
