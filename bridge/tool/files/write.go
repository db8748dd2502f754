package files

import (
	"bytes"
	"context"
	"io"

	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/protect"
	"brainbox/gate/shell"
	"brainbox/internal/strictjson"
)

// write is one file that is written whole.
type write struct {
	rs      *Roots
	r       *root
	rel     string
	mode    dirchain.Mode
	base    *dirchain.Hash
	head    []byte // what comes before the content: pieces that came before
	content []byte
	sum     dirchain.Hash
	size    int64 // of both, in bytes
	earlier int64 // of what comes before
	perm    uint32
}

func planWrite(rs *Roots, v *strictjson.Value) (*write, error) {
	in := rs.bind(v, "path", "root", "content", "base")
	c := &write{rs: rs, r: in.root(), rel: in.change("path"), content: in.content("content"), base: hash(in.Fields, "base", true)}
	if err := in.err(); err != nil {
		return nil, err
	}
	return c.ready()
}

// ready checks where it goes, and says what it is from what it replaces.
func (c *write) ready() (*write, error) {
	if err := c.r.changeable(c.rel, c.rel, false); err != nil {
		return nil, err
	}
	if c.base != nil && c.mode == dirchain.Create {
		c.mode = dirchain.Replace
	}
	c.sum, c.size = dirchain.Sum(c.content), int64(len(c.content))
	return c, nil
}

func (c *write) reading() gate.Reading {
	access := shell.WriteOnly
	if c.mode == dirchain.Append { // the result tells the hash of the whole
		access = shell.Both
	}
	return gate.Reading{
		Value: c.rs.value(c.r, c.rel), Targets: []gate.Target{c.r.target(c.rel, access, false)},
		Content: c.sum[:], Size: c.size, Earlier: c.earlier,
	}
}

func (c *write) binds() [][]byte {
	return [][]byte{
		[]byte(c.r.Name), []byte(c.rel), number(int64(c.mode)), base(c.base), bits(c.base != nil), c.sum[:], number(int64(c.perm)),
	}
}

func (c *write) locks() []string { return []string{c.r.key(c.rel)} }

// request is the write for dirchain, to the place that was judged.
func (c *write) request(held *dirchain.Target) dirchain.WriteRequest {
	content := io.Reader(bytes.NewReader(c.content))
	if len(c.head) > 0 {
		content = io.MultiReader(bytes.NewReader(c.head), content)
	}
	return dirchain.WriteRequest{
		Mode: c.mode, Content: content, Base: c.base, Digest: &c.sum, Perm: c.perm, Parents: true, Held: held,
	}
}

func (c *write) do(ctx context.Context, held []*protect.Held) (*strictjson.Value, error) {
	t, err := c.r.own(held, 0, c.rel)
	if err != nil {
		return nil, err
	}
	got, err := c.r.Dir.Write(ctx, c.rel, c.request(t))
	if err != nil {
		return nil, written(err, got, c.rel)
	}
	return object(done(c.rel, got)...), nil
}

// done tells of a file that was written.
func done(rel string, got dirchain.WriteResult) []strictjson.Member {
	return []strictjson.Member{
		strictjson.Pair("path", strictjson.Text(rel)), strictjson.Pair("sha256", strictjson.Text(got.SHA256.String())),
		strictjson.Pair("size", strictjson.Int(got.Size)), strictjson.Pair("created", strictjson.Bool(got.Created)),
	}
}
