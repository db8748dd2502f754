package files

import (
	"context"
	"encoding/base64"
	"unicode/utf8"

	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/protect"
	"brainbox/gate/shell"
	"brainbox/internal/strictjson"
)

// read is a call of read_file.
type read struct {
	rs             *Roots
	r              *root
	rel, submitted string
	offset, limit  int64 // bytes
	raw            bool  // base64
}

func planRead(rs *Roots, v *strictjson.Value) (*read, error) {
	in := rs.bind(v, "path", "root", "offset", "limit", "encoding")
	c := &read{rs: rs, r: in.root()}
	c.rel, c.submitted = in.reading("path")
	c.offset = in.number("offset", 0, 1<<53-1, 0)
	c.limit = in.number("limit", 1, MaxRead, MaxRead)
	c.raw = in.Has("encoding") && in.Enum("encoding", "utf-8", "base64") == "base64"
	if err := in.err(); err != nil {
		return nil, err
	}
	if c.rel == "" {
		return nil, refuse("alias_denied", c.submitted, "it is no regular file")
	}
	return c, nil
}

func (c *read) reading() gate.Reading {
	return gate.Reading{Value: c.rs.value(c.r, c.rel), Targets: []gate.Target{c.r.target(c.rel, shell.ReadOnly, false)}}
}

func (c *read) binds() [][]byte {
	return [][]byte{[]byte(c.r.Name), []byte(c.rel), number(c.offset), number(c.limit), bits(c.raw)}
}

func (c *read) locks() []string { return nil }

func (c *read) do(ctx context.Context, held []*protect.Held) (*strictjson.Value, error) {
	h, err := c.r.held(held, 0, c.submitted)
	if err != nil {
		return nil, err
	}
	st, found := h.Target().Stat()
	if !found {
		return nil, refuse("not_found", c.submitted, "it does not exist")
	}
	got, err := c.r.Dir.Read(ctx, h.Rel(), dirchain.ReadRequest{Offset: c.offset, Limit: c.limit})
	switch {
	case err != nil:
		return nil, explain(err, c.submitted)
	case got.Stat.ID != st.ID: // another file has the name since it was judged
		return nil, explain(dirchain.ErrChanged, c.submitted)
	}
	data := got.Data
	key, text := "data", ""
	if c.raw {
		text = base64.StdEncoding.EncodeToString(data)
	} else {
		if key, data = "text", whole(data, got.Truncated); !utf8.Valid(data) || len(data) == 0 && got.Truncated {
			return nil, refuse("encoding_invalid", c.submitted, "these bytes are no UTF-8 text; ask for base64")
		}
		text = string(data)
	}
	next := c.offset + int64(len(data))
	return object(
		strictjson.Pair("path", strictjson.Text(c.submitted)), strictjson.Pair(key, strictjson.Text(text)),
		strictjson.Pair("sha256", strictjson.Text(got.SHA256.String())), strictjson.Pair("size", strictjson.Int(got.Size)),
		strictjson.Pair("offset", strictjson.Int(c.offset)), strictjson.Pair("bytes", strictjson.Int(int64(len(data)))),
		strictjson.Pair("truncated", strictjson.Bool(next < got.Size)),
	), nil
}

// whole leaves out a character at the end that was cut in two.
func whole(b []byte, cut bool) []byte {
	for back := 1; cut && back < utf8.UTFMax && back <= len(b); back++ {
		if at := len(b) - back; utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return b[:at]
			}
			break
		}
	}
	return b
}
