package gate

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// Digest is the SHA-256 of what a call would do: of every field that its effect depends
// on, not of what is said about it.
type Digest = [sha256.Size]byte

// buffers are for digests. Large ones are not kept.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

const keptBuffer = 16 << 10

// digest binds the call. Each field is written with its length, lists with theirs, so
// that no two calls have the same bytes.
func (c *Call) digest() Digest {
	kept, _ := buffers.Get().(*[]byte)
	b := append((*kept)[:0], "brainbox/gate/v1"...)
	b = texts(b, c.Surface, c.Tool, c.Agent, c.Cwd, c.Value)
	b = list(list(b, c.Env), c.Hosts)
	b = binary.BigEndian.AppendUint64(b, uint64(len(c.Targets)))
	for _, t := range c.Targets {
		b = texts(b, t.Path, t.Base)
		b = append(b, byte(t.Access), 0)
		if t.Canonical {
			b[len(b)-1] = 1
		}
	}
	b = part(part(part(b, c.Args), c.Content), c.Effect)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Size)) //nolint:gosec // bits, not a number
	if c.Earlier != 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(c.Earlier)) //nolint:gosec // bits, not a number
	}
	d := sha256.Sum256(b)
	if cap(b) <= keptBuffer {
		*kept = b
		buffers.Put(kept)
	}
	return d
}

func list(b []byte, all []string) []byte {
	return texts(binary.BigEndian.AppendUint64(b, uint64(len(all))), all...)
}

func texts(b []byte, all ...string) []byte {
	for _, s := range all {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
	}
	return b
}

func part(b, p []byte) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(p))), p...)
}
