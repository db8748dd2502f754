package files

import (
	"context"
	"crypto/sha256"
	"strconv"
	"sync"
	"time"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
	"brainbox/gate/protect"
	"brainbox/internal/strictjson"
)

// Bounds of what is kept of files that come in pieces.
const (
	MaxPieced    = 16 << 20 // bytes of all of them together
	maxUploads   = 8
	uploadIdle   = time.Minute // after which another file may have its room
	piecesTool   = "fs.write"
	targetChange = "target_changed" // what contract bridge-and-gate §E.6 calls topology_changed
)

// pieces is the tool fs.write: a file that is made, replaced or lengthened, in one call or
// in several of which each has the next piece.
type pieces struct {
	rs  *Roots
	now func() time.Time

	mu   sync.Mutex
	all  map[upload]*pile
	held int // bytes in all of them, as announced
}

// upload is what the pieces of one file have in common.
type upload struct {
	root, path, mode string
	total            int64
	sum              dirchain.Hash
}

// pile is what has come of one file.
type pile struct {
	data []byte // only ever lengthened
	last time.Time
}

func newPieces(rs *Roots) *pieces {
	return &pieces{rs: rs, now: time.Now, all: map[upload]*pile{}}
}

// Name is that of [tool.Tool].
func (p *pieces) Name() string { return piecesTool }

// Surface is that of [tool.Surfaced].
func (p *pieces) Surface() string { return "write" }

// piece is one planned call: a whole write, or with more to come a piece of one.
type piece struct {
	*planned
	p    *pieces
	of   upload
	at   int64
	data []byte
	more bool
	head *pile // the pieces before the last one; nil: there are none
}

// Plan is that of [tool.Tool]. It changes nothing: what has come so far is looked at.
func (p *pieces) Plan(v *strictjson.Value) (tool.Planned, error) {
	in := p.rs.bind(v, "root", "path", "mode", "data", "encoding", "chunk", "expected_sha256", "perm")
	if !in.Has("root") {
		in.Invalid("root", "missing")
	}
	w := &write{rs: p.rs, r: in.root(), rel: in.change("path"), base: optional(in.Fields, "expected_sha256")}
	mode := in.Enum("mode", "create", "replace", "append")
	switch mode {
	case "replace":
		w.mode = dirchain.Replace
	case "append":
		w.mode = dirchain.Append
	default:
		if w.base != nil {
			in.Invalid("expected_sha256", "nothing is expected where a file is made")
		}
	}
	w.perm = uint32(in.number("perm", 0, 0o7777, 0)) //nolint:gosec // bounded
	w.content = in.data("data")
	c := &piece{p: p, data: w.content}
	chunked := in.Has("chunk")
	if chunked {
		f := in.Object("chunk", "offset", "total", "sha256")
		c.at = f.Int("offset", 0, MaxPieced)
		c.of = upload{w.r.Name, w.rel, mode, f.Int("total", 1, MaxPieced), sumOf(f)}
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	if w.perm&^0o777 != 0 {
		return nil, explain(dirchain.ErrMode, w.rel)
	}
	if chunked {
		if err := p.plan(c); err != nil {
			return nil, err
		}
	}
	if _, err := w.ready(); err != nil {
		return nil, err
	}
	if chunked && !c.more { // it is about all of them
		w.sum, w.size, w.earlier = c.of.sum, c.of.total, c.at
	}
	c.planned = finish(piecesTool, pieceEffect{w, c})
	return c, nil
}

func sumOf(f *strictjson.Fields) dirchain.Hash {
	if h := hash(f, "sha256", false); h != nil {
		return *h
	}
	return dirchain.Hash{}
}

// plan looks where the piece belongs. With the last one the write has all of them.
func (p *pieces) plan(c *piece) error {
	end := c.at + int64(len(c.data))
	if len(c.data) == 0 || end > c.of.total {
		return &tool.Refusal{Code: "invalid_request", Message: "chunk: it is empty, or more than the total"}
	}
	if c.more = end < c.of.total; c.more {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.head = p.all[c.of]
	if n := c.head.size(); n != c.at {
		return outOfOrder(n)
	}
	h := sha256.New()
	if c.head != nil {
		h.Write(c.head.data)
		c.head.last = p.now()
	}
	h.Write(c.data)
	if dirchain.Hash(h.Sum(nil)) != c.of.sum {
		p.drop(c.of)
		return refuse("stale_base", c.of.path, "the pieces are not what they were said to be")
	}
	return nil
}

func (p *pile) size() int64 {
	if p == nil {
		return 0
	}
	return int64(len(p.data))
}

func outOfOrder(want int64) error {
	return &tool.Refusal{Code: "chunk_order", Message: "chunk: the next offset is " + strconv.FormatInt(want, 10)}
}

// Partial is that of [tool.Partial]: it keeps a piece that is not the last.
func (c *piece) Partial() (answer *strictjson.Value, ok bool, err error) {
	if !c.more {
		return nil, false, nil
	}
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.at == 0 {
		p.drop(c.of) // begun anew
		if !p.room(int(c.of.total)) {
			return nil, true, &tool.Refusal{Status: "unavailable", Code: "overloaded", Message: "too many files are on their way"}
		}
		p.all[c.of], p.held = &pile{}, p.held+int(c.of.total)
	}
	have := p.all[c.of]
	if n := have.size(); have == nil || n != c.at {
		return nil, true, outOfOrder(n)
	}
	have.data, have.last = append(have.data, c.data...), p.now()
	return object(strictjson.Pair("received", strictjson.Int(have.size()))), true, nil
}

// drop forgets an upload. The caller holds the lock.
func (p *pieces) drop(u upload) {
	if pile, ok := p.all[u]; ok {
		p.held -= int(u.total)
		pile.data = nil // a planned call may still know the pile
		delete(p.all, u)
	}
}

// room makes room for a file: those that nobody sent a piece of for long go, the oldest
// first. There is none when that is not enough. The caller holds the lock.
func (p *pieces) room(total int) bool {
	for len(p.all) >= maxUploads || p.held+total > MaxPieced {
		var oldest upload
		var since time.Time
		for u, pile := range p.all {
			if since.IsZero() || pile.last.Before(since) {
				oldest, since = u, pile.last
			}
		}
		if since.IsZero() || p.now().Sub(since) <= uploadIdle {
			return false
		}
		p.drop(oldest)
	}
	return true
}

// taken gives the pieces before the last one for the write, if they are still those that it
// was planned with. A call that waits for its decision keeps none of them alive.
func (p *pieces) taken(c *piece) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.head == nil {
		return nil, nil
	}
	if p.all[c.of] != c.head || c.head.size() != c.at {
		return nil, outOfOrder(0)
	}
	return c.head.data, nil
}

// pieceEffect is the write, after which the pieces are let go.
type pieceEffect struct {
	*write
	c *piece
}

func (e pieceEffect) do(ctx context.Context, held []*protect.Held) (*strictjson.Value, error) {
	if e.c.more {
		return nil, &tool.Refusal{Code: "chunk_order", Message: "chunk: more is to come"}
	}
	head, err := e.c.p.taken(e.c)
	if err != nil {
		return nil, err
	}
	e.head = head
	v, err := e.write.do(ctx, held)
	if err != nil {
		r := explain(err, e.rel)
		if r.Code == "topology_changed" {
			r.Code = targetChange
		}
		return nil, r
	}
	e.c.p.mu.Lock()
	defer e.c.p.mu.Unlock()
	if e.c.head != nil && e.c.p.all[e.c.of] == e.c.head {
		e.c.p.drop(e.c.of)
	}
	return v, nil
}
