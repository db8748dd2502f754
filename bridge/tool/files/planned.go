package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"path"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/protect"
	"brainbox/gate/shell"
	"brainbox/internal/strictjson"
)

// Tools gives all tools of the package over the roots.
func Tools(rs *Roots) []tool.Tool {
	return []tool.Tool{
		define(rs, "read_file", "read", planRead),
		define(rs, "grep", "grep", planGrep),
		define(rs, "write_file", "write", planWrite),
		define(rs, "edit_file", "edit", planEdit),
		define(rs, "apply_staged", "write", planStaged),
		define(rs, "mkdir", "write", planMkdir),
		define(rs, "rename", "write", planRename),
		define(rs, "remove", "write", planRemove),
		newPieces(rs),
	}
}

// definition is one tool: a name, the surface that rules know, and how an input is read.
type definition struct {
	name, surface string
	rs            *Roots
	plan          func(rs *Roots, v *strictjson.Value) (effect, error)
}

func define[E effect](rs *Roots, name, surface string, plan func(*Roots, *strictjson.Value) (E, error)) *definition {
	return &definition{name, surface, rs, func(rs *Roots, v *strictjson.Value) (effect, error) { return plan(rs, v) }}
}

// Name is that of [tool.Tool].
func (d *definition) Name() string { return d.name }

// Surface is that of [tool.Surfaced].
func (d *definition) Surface() string { return d.surface }

// Plan is that of [tool.Tool].
func (d *definition) Plan(v *strictjson.Value) (tool.Planned, error) {
	e, err := d.plan(d.rs, v)
	if err != nil {
		return nil, err
	}
	return finish(d.name, e), nil
}

// effect is what one call would do.
type effect interface {
	// reading is what the gate is told, without the digest of the effect.
	reading() gate.Reading
	// binds are the parts of that digest: all that the effect depends on.
	binds() [][]byte
	locks() []string
	do(ctx context.Context, held []*protect.Held) (*strictjson.Value, error)
}

// planned is a valid call.
type planned struct {
	effect
	told gate.Reading
}

func finish(name string, e effect) *planned {
	p := &planned{effect: e, told: e.reading()}
	h := sha256.New()
	var n [8]byte
	for _, part := range append([][]byte{[]byte("brainbox/tool/v1"), []byte(name)}, e.binds()...) {
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	p.told.Effect = h.Sum(nil)
	return p
}

// Reading is that of [tool.Planned].
func (p *planned) Reading() gate.Reading { return p.told }

// Locks is that of [tool.Planned].
func (p *planned) Locks() []string { return p.locks() }

// Do is that of [tool.Planned]. It refuses a decision that is about another effect, and a
// call that was given up while it waited for its locks (contract brainkit §8.2, F11).
func (p *planned) Do(ctx context.Context, d *gate.Decision) (*strictjson.Value, error) {
	if d == nil || !d.Allowed || !bytes.Equal(d.Effect, p.told.Effect) {
		return nil, &tool.Refusal{Status: "denied", Code: "authority_revoked", Message: "this is not what was allowed"}
	}
	if err := ctx.Err(); err != nil {
		return nil, explain(err, p.told.Value)
	}
	v, err := p.do(ctx, d.Held)
	if err != nil {
		return nil, explain(err, p.told.Value)
	}
	return v, nil
}

// target is one path of a call for the gate.
func (r *root) target(rel string, a shell.Access, entry bool) gate.Target {
	if rel == "" {
		return gate.Target{Path: r.at, Access: a}
	}
	return gate.Target{Path: rel, Access: a, Base: r.at, Canonical: entry}
}

// held gives the place that the gate holds for a target, if it is one of this root.
func (r *root) held(all []*protect.Held, i int, submitted string) (*protect.Held, error) {
	if i >= len(all) || all[i].Target() == nil || all[i].Path() != path.Join(r.at, all[i].Rel()) {
		return nil, refuse("invalid_target", submitted, "it leads to no place in the root")
	}
	if r.rules.hides(all[i].Rel()) || r.meets(all[i].Target()) {
		return nil, refuse("policy_denied", submitted, "nothing of it may be known")
	}
	return all[i], nil
}

// own gives the held place of something that is changed: exactly where the path says, or
// a link is in the way.
func (r *root) own(all []*protect.Held, i int, rel string) (*dirchain.Target, error) {
	h, err := r.held(all, i, rel)
	if err != nil {
		return nil, err
	}
	if h.Rel() != rel {
		return nil, refuse("alias_denied", rel, "a link is in the way")
	}
	return h.Target(), nil
}

func bits(flags ...bool) []byte {
	out := make([]byte, len(flags))
	for i, f := range flags {
		if f {
			out[i] = 1
		}
	}
	return out
}

// base is a hash as a part of a digest: absent is not the same as any.
func base(h *dirchain.Hash) []byte {
	if h == nil {
		return nil
	}
	return h[:]
}

func number(n int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(n)) //nolint:gosec // bits, not a number
}

func object(members ...strictjson.Member) *strictjson.Value {
	v := strictjson.Object(members...)
	return &v
}
