package files

import (
	"context"
	"crypto/sha256"
	"slices"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/protect"
	"brainbox/internal/strictjson"
)

// staged is a call of apply_staged: several writes, of which either all are possible or
// none is done.
type staged struct {
	r     *root
	files []*write
}

func planStaged(rs *Roots, v *strictjson.Value) (*staged, error) {
	in := rs.bind(v, "root", "files")
	c := &staged{r: in.root()}
	for _, f := range in.Objects("files", dirchain.MaxBatch, "path", "content", "base") {
		w := &write{rs: rs, r: c.r, rel: change(in, f, "path"), base: hash(f, "base", true)}
		text := textOf(f, "content")
		if len(text) > MaxContent {
			in.refuse(&tool.Refusal{Code: "payload_too_large", Message: "content: at most 1 MiB"})
			continue
		}
		w.content = []byte(text)
		c.files = append(c.files, w)
	}
	if len(c.files) == 0 && in.bad == nil {
		in.Invalid("files", "from 1 to 32 are possible")
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	for _, w := range c.files {
		if _, err := w.ready(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *staged) reading() gate.Reading {
	var r gate.Reading
	h := sha256.New()
	for i, w := range c.files {
		one := w.reading()
		if i == 0 {
			r.Value = one.Value
		}
		r.Targets, r.Size = append(r.Targets, one.Targets...), r.Size+one.Size
		h.Write(one.Content)
	}
	r.Content = h.Sum(nil)
	return r
}

func (c *staged) binds() [][]byte {
	var all [][]byte
	for _, w := range c.files {
		all = append(all, w.binds()...)
	}
	return all
}

func (c *staged) locks() []string {
	var keys []string
	for _, w := range c.files {
		keys = append(keys, w.locks()...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (c *staged) do(ctx context.Context, held []*protect.Held) (*strictjson.Value, error) {
	batch := make([]dirchain.BatchEntry, len(c.files))
	for i, w := range c.files {
		t, err := c.r.own(held, i, w.rel)
		if err != nil {
			return nil, err
		}
		batch[i] = dirchain.BatchEntry{Path: w.rel, WriteRequest: w.request(t)}
	}
	got, err := c.r.Dir.Batch(ctx, batch)
	if err != nil && !slices.ContainsFunc(got, func(g dirchain.BatchResult) bool { return g.Applied }) {
		for i, g := range got { // the file that stands in the way of all
			if g.Err != nil {
				return nil, written(g.Err, g.WriteResult, c.files[i].rel)
			}
		}
		return nil, explain(err, c.files[0].rel)
	}
	return c.told(got), nil
}

// told is the result for each file: beyond the point where all are possible, a file may
// still fail, and those before it are in place.
func (c *staged) told(got []dirchain.BatchResult) *strictjson.Value {
	complete := true
	items := make([]strictjson.Value, len(got))
	for i, g := range got {
		rel := c.files[i].rel
		members := []strictjson.Member{strictjson.Pair("path", strictjson.Text(rel))}
		if g.Applied {
			members = done(rel, g.WriteResult)
		}
		members = append(members, strictjson.Pair("applied", strictjson.Bool(g.Applied)))
		if g.Err != nil || !g.Applied {
			complete = false
		}
		if g.Err != nil {
			r := written(g.Err, g.WriteResult, rel)
			members = append(members, strictjson.Pair("error", strictjson.Object(
				strictjson.Pair("code", strictjson.Text(r.Code)), strictjson.Pair("message", strictjson.Text(r.Message)),
			)))
		}
		items[i] = strictjson.Object(members...)
	}
	return object(strictjson.Pair("complete", strictjson.Bool(complete)), strictjson.Pair("files", strictjson.Array(items...)))
}
