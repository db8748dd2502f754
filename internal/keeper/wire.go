package keeper

import (
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// Descriptors of the keeper: its own standard ones are those of the program.
const (
	fdControl = 3
	fdFile    = 4 // the program, O_PATH
	fdDir     = 5 // its working directory, O_PATH
	fdCgroup  = 6 // the folder of its cgroup; without one, of no use
	fdKeeper  = 7 // the executable of the keeper, by which it was started
)

// Orders to a keeper: one byte each.
const (
	orderStop = 't'
	orderKill = 'k'
)

// Kinds of what a keeper says.
const (
	saidStarted = 's' // a: process number
	saidFailed  = 'f' // a: errno
	saidExited  = 'x' // a: wait status
	saidEnded   = 'e' // a: 1 if something had to be killed after the program had exited; b: survivors
)

// frame is one thing that a keeper says.
type frame struct {
	kind byte
	a, b uint32
}

const frameSize = 9

func (f frame) append(to []byte) []byte {
	to = append(to, f.kind)
	to = binary.BigEndian.AppendUint32(to, f.a)
	return binary.BigEndian.AppendUint32(to, f.b)
}

// readFrame reads one frame; a connection that ended is io.EOF.
func readFrame(r io.Reader) (frame, error) {
	var b [frameSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return frame{}, err
	}
	return frame{kind: b[0], a: binary.BigEndian.Uint32(b[1:]), b: binary.BigEndian.Uint32(b[5:])}, nil
}

// order is what a keeper is told to run.
type order struct {
	path   string // empty: the descriptor
	argv   []string
	env    []string
	grace  time.Duration // between SIGTERM and SIGKILL
	cgroup bool          // fdCgroup is one
}

// maxOrder bounds the text of an order, in bytes: execve(2) takes no more than 2 MiB with the
// usual stack.
const maxOrder = 4 << 20

var errOrder = errors.New("keeper: malformed order")

func (o *order) encode() []byte {
	body := appendText(nil, o.path)
	body = appendTexts(appendTexts(body, o.argv), o.env)
	body = binary.AppendUvarint(body, uint64(o.grace))
	if o.cgroup {
		body = append(body, 1)
	} else {
		body = append(body, 0)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func appendText(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

func appendTexts(to []byte, list []string) []byte {
	to = binary.AppendUvarint(to, uint64(len(list)))
	for _, s := range list {
		to = appendText(to, s)
	}
	return to
}

// readOrder reads one order with its length.
func readOrder(r io.Reader) (*order, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxOrder {
		return nil, errOrder
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	return parseOrder(body)
}

func parseOrder(body []byte) (*order, error) {
	p := parser{rest: body}
	o := &order{path: p.text(), argv: p.texts(), env: p.texts(), grace: time.Duration(p.number())}
	if len(p.rest) != 1 || p.rest[0] > 1 || len(o.argv) == 0 || o.grace < 0 {
		return nil, errOrder
	}
	o.cgroup = p.rest[0] == 1
	return o, nil
}

// parser reads what append wrote; after a fault it has nothing left.
type parser struct{ rest []byte }

func (p *parser) number() uint64 {
	n, size := binary.Uvarint(p.rest)
	if size <= 0 {
		p.rest = nil
		return 0
	}
	p.rest = p.rest[size:]
	return n
}

func (p *parser) text() string {
	n := p.number()
	if n > uint64(len(p.rest)) {
		p.rest = nil
		return ""
	}
	s := string(p.rest[:n])
	p.rest = p.rest[n:]
	return s
}

func (p *parser) texts() []string {
	n := p.number()
	if n > uint64(len(p.rest)) { // each takes a byte at least
		p.rest = nil
		return nil
	}
	list := make([]string, 0, n)
	for range n {
		list = append(list, p.text())
	}
	return list
}
