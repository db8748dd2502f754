package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// Fault says what is wrong with a place of a file.
type Fault string

// The faults.
const (
	Changed   Fault = "changed"   // a line is not the one that the next one continues, or is no line
	Removed   Fault = "removed"   // lines are missing before this one
	Reordered Fault = "reordered" // this line stood elsewhere
	Inserted  Fault = "inserted"  // this line has the place of another
	Cut       Fault = "cut"       // the file ends too early
)

// Problem is one fault.
type Problem struct {
	Fault  Fault
	Line   int   // of the file, from 1
	Offset int64 // of the line's first byte
	Text   string
}

// String returns the place and the reason.
func (p Problem) String() string {
	return fmt.Sprintf("line %d, byte %d: %s: %s", p.Line, p.Offset, p.Fault, p.Text)
}

// Torn is a text that a dying writer left and a later one healed.
type Torn struct {
	Line   int
	Offset int64
	Bytes  int64
}

// mostProblems is how many problems are told.
const mostProblems = 100

// Report is what [Verify] found.
type Report struct {
	Lines    int // of the file
	Seq      uint64
	Head     Hash // of the last line of the chain
	Lost     int  // lines that say that others could not be written, or events not be seen
	Torn     []Torn
	Problems []Problem // in the order of the file; at most 100
	More     bool      // there are more
}

// OK reports whether the chain holds.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// Verify reads a file and follows its chain. head is the hash of a line that must be in it
// (see [Log.Head]), or zero: then nobody can tell whether lines are missing at the end. The
// error is the reader's. It reads in one pass, in memory that does not grow with the file.
func Verify(r io.Reader, head Hash) (*Report, error) {
	v := &verifier{next: 1, head: head, headSeen: head == Hash{}}
	in := bufio.NewReaderSize(r, 64<<10)
	for offset := int64(0); ; {
		l, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("audit: %w", err)
		}
		if l.size > 0 {
			v.rep.Lines++
			l.line, l.offset = v.rep.Lines, offset
			offset += l.size
			v.feed(l)
		}
		if err != nil || v.rep.More {
			break
		}
	}
	v.end()
	return &v.rep, nil
}

// line is one line as it was read.
type line struct {
	line   int
	offset int64
	size   int64  // line feed included
	text   []byte // without line feed; nil: longer than a line can be
	whole  bool   // it ends with a line feed
	record
	valid bool // it is a record
}

// readLine reads a line of any length, and keeps no more of it than a line can have.
func readLine(in *bufio.Reader) (line, error) {
	var l line
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		l.size += int64(len(part))
		if len(text) <= mostTorn {
			text = append(text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		l.whole = err == nil
		if l.whole {
			text = text[:len(text)-1]
		}
		if len(text) <= mostTorn {
			l.text = text
		}
		if len(text) < mostLine && l.whole {
			var bad error
			l.record, bad = parse(text)
			l.valid = bad == nil
		}
		return l, err
	}
}

// verifier is where the chain stands.
type verifier struct {
	rep      Report
	next     uint64 // number of the next line
	last     Hash   // of the last one
	other    Hash   // of another line with the same number, which the next one may continue
	previous *line  // the last one
	before   Hash   // what stood before the last one

	held     []line // text that may be torn: whoever healed it comes next
	heldSize int64
	bad      []line // text that is no line, and whose place is not known yet
	missing  map[uint64]bool

	head     Hash
	headSeen bool
}

// feed takes the next line of the file.
func (v *verifier) feed(l line) {
	switch {
	case len(v.held) == 0 && v.follows(&l):
		v.accept(l)
	case l.valid && l.kind == Healed && v.healed(&l):
	default:
		v.held = append(v.held, l)
		v.heldSize += l.size
		if v.heldSize > mostTorn+1 || len(v.held) > mostTornLines {
			v.flush()
		}
	}
	if len(v.held) > 0 && v.follows(&l) { // not torn text: nobody healed it
		v.flush()
	}
}

// follows reports whether l is the next line of an unbroken chain.
func (v *verifier) follows(l *line) bool {
	return l.valid && len(v.bad) == 0 && l.seq == v.next && l.prev == v.last
}

// healed takes a line that says what is torn before it, if it is so.
func (v *verifier) healed(l *line) bool {
	if len(v.held) > 0 {
		if !v.follows(l) || v.heldSize-1 != l.torn.bytes || sha256.Sum256(joined(v.held)) != l.torn.hash {
			return false
		}
		v.rep.Torn = append(v.rep.Torn, Torn{v.held[0].line, v.held[0].offset, l.torn.bytes})
		v.held, v.heldSize = nil, 0
		v.accept(*l)
		return true
	}
	// A whole line that lacked nothing but its line feed.
	p := v.previous
	if p == nil || l.seq != v.next-1 || l.prev != v.before || l.torn.bytes != int64(len(p.text)) || l.torn.hash != p.hash {
		return false
	}
	v.rep.Torn = append(v.rep.Torn, Torn{p.line, p.offset, l.torn.bytes})
	v.next, v.last = v.next-1, v.before
	v.accept(*l)
	return true
}

// joined is text of several lines as it was before it was ended with a line feed.
func joined(list []line) []byte {
	var b bytes.Buffer
	for i, l := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.Write(l.text)
	}
	return b.Bytes()
}

func (v *verifier) accept(l line) {
	if l.hash == v.head {
		v.headSeen = true
	}
	if l.kind == Lost || l.kind == Gap {
		v.rep.Lost++
	}
	v.before = v.last
	v.next, v.last, v.other = l.seq+1, l.hash, Hash{}
	v.previous = &l
}

// flush judges held text that nobody healed.
func (v *verifier) flush() {
	for len(v.held) > 0 && !v.rep.More {
		list := v.held
		v.held, v.heldSize = nil, 0
		v.judge(list[0])
		for _, l := range list[1:] {
			v.feed(l)
		}
	}
}
