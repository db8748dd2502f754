package dirchain

import (
	"bytes"
	"context"
	"fmt"
)

// EditRequest replaces one piece of text.
type EditRequest struct {
	Old, New []byte // Old must be in the file exactly once, overlaps counted; New is taken literally
	Base     *Hash  // as in [WriteRequest]
	Held     *Target
}

// Edit reads a file, replaces Old by New, and writes it back as [Root.Write] does
// with the hash of what was read as its base.
func (r *Root) Edit(ctx context.Context, unsafePath string, req EditRequest) (WriteResult, error) {
	res, err := r.edit(ctx, unsafePath, req)
	return res, named("edit", unsafePath, err)
}

func (r *Root) edit(ctx context.Context, unsafePath string, req EditRequest) (WriteResult, error) {
	write, err := r.edited(ctx, unsafePath, req)
	if err != nil {
		return WriteResult{}, err
	}
	return r.write(ctx, unsafePath, write)
}

// edited reads the file and gives the write that the edit is.
func (r *Root) edited(ctx context.Context, unsafePath string, req EditRequest) (WriteRequest, error) {
	if len(req.Old) == 0 {
		return WriteRequest{}, because(ErrMatch, "it is empty")
	}
	got, err := r.readFile(ctx, unsafePath, ReadRequest{Limit: r.opts.MaxFile})
	if err != nil {
		return WriteRequest{}, err
	}
	if req.Base != nil && *req.Base != got.SHA256 {
		return WriteRequest{}, because(ErrStale, "it is "+got.SHA256.String())
	}
	text, err := replaceOnce(got.Data, req.Old, req.New)
	if err != nil {
		return WriteRequest{}, err
	}
	base := got.SHA256 // a pointer into the result would keep its data
	return WriteRequest{
		Mode: Replace, Content: bytes.NewReader(text), Base: &base, Held: req.Held,
	}, nil
}

// replaceOnce replaces the only occurrence of old. Pure.
func replaceOnce(text, old, replacement []byte) ([]byte, error) {
	if len(old) == 0 {
		return nil, because(ErrMatch, "it is empty")
	}
	n := occurrences(text, old)
	if n != 1 {
		return nil, because(ErrMatch, fmt.Sprintf("found %d times", n))
	}
	at := bytes.Index(text, old)
	out := make([]byte, 0, len(text)-len(old)+len(replacement))
	out = append(out, text[:at]...)
	out = append(out, replacement...)
	return append(out, text[at+len(old):]...), nil
}

// occurrences counts where old begins in text, overlapping ones too, in time that
// grows with len(text)+len(old): the text comes from outside and may be made of
// near misses (Knuth, Morris, Pratt).
func occurrences(text, old []byte) int {
	border := make([]int, len(old)+1) // of each prefix: its longest proper prefix that is a suffix
	border[0] = -1
	for i, k := 0, -1; i < len(old); {
		for k >= 0 && old[i] != old[k] {
			k = border[k]
		}
		i, k = i+1, k+1
		border[i] = k
	}
	n := 0
	for i, k := 0, 0; i < len(text); i++ {
		for k >= 0 && (k == len(old) || text[i] != old[k]) {
			k = border[k]
		}
		if k++; k == len(old) {
			n++
		}
	}
	return n
}
