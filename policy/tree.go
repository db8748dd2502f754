package policy

import (
	"errors"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

// maxText is the largest policy text that is read, in bytes.
const maxText = 1 << 20

type nodeKind uint8

const (
	nodeString nodeKind = iota
	nodeInt
	nodeFloat
	nodeBool
	nodeDate
	nodeArray
	nodeTable
	nodeText // a word of the command line: stands for any scalar
)

func (k nodeKind) String() string {
	return [...]string{
		"a string", "an integer", "a floating-point number", "a boolean", "a date",
		"a list", "a table", "a word",
	}[k]
}

// node is one value of a policy text, with its place. Tables keep the order of
// their keys: it is meaning in [[gate.rule]].
type node struct {
	kind      nodeKind
	text      string // a string's value; any other scalar as written
	line, col int
	items     []*node // nodeArray
	pairs     []pair  // nodeTable

	closed   bool // an inline table, or an array value: nothing may be added
	explicit bool // a table opened by its own header
	dotted   bool // a table made by a dotted key
	tables   bool // an array of tables
}

type pair struct {
	key       string
	line, col int
	val       *node
}

func (n *node) get(key string) *pair {
	for i := range n.pairs {
		if n.pairs[i].key == key {
			return &n.pairs[i]
		}
	}
	return nil
}

// builder turns go-toml's expressions into one tree, and refuses what TOML
// refuses: the parser below only knows single expressions.
type builder struct {
	p     unstable.Parser
	text  []byte
	lines []int // offset of the first byte of each line
	root  *node
	at    *node // the table that key = value lines go to
	last  spot  // what place answered last
}

// spot is an offset with its line and column.
type spot struct{ offset, line, col int }

// readTree parses text. The error has Line, Column and Msg.
func readTree(text []byte) (*node, *Error) {
	if len(text) > maxText {
		return nil, &Error{Msg: "larger than 1 MiB", Hint: "a policy is a short text; name folders rather than files"}
	}
	b := &builder{text: slices.Clip(text), lines: lineStarts(text)}
	b.root = &node{kind: nodeTable, line: 1, col: 1}
	b.at = b.root
	b.p.Reset(b.text)
	for b.p.NextExpression() {
		if err := b.expression(b.p.Expression()); err != nil {
			return nil, err
		}
	}
	if err := b.p.Error(); err != nil {
		return nil, b.syntax(err)
	}
	return b.root, nil
}

func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// place returns line and column of an offset; the column counts characters, from the last
// offset on if that can be: a line may hold a whole text, and many values.
func (b *builder) place(offset int) (line, col int) {
	offset = max(0, min(offset, len(b.text)))
	line = sort.SearchInts(b.lines, offset+1)
	from, col := b.lines[line-1], 1
	if b.last.line == line && b.last.offset <= offset {
		from, col = b.last.offset, b.last.col
	}
	col += utf8.RuneCount(b.text[from:offset])
	b.last = spot{offset, line, col}
	return line, col
}

func (b *builder) syntax(err error) *Error {
	e := &Error{Msg: err.Error(), Hint: "the text is not valid TOML"}
	var pe *unstable.ParserError
	offset := len(b.text)
	if errors.As(err, &pe) {
		e.Msg = pe.Message
		// The highlight is a part of the text: both end where the text's
		// memory ends.
		offset = cap(b.text) - cap(pe.Highlight)
	}
	e.Source.Line, e.Source.Column = b.place(offset)
	return e
}

func (b *builder) expression(n *unstable.Node) *Error {
	switch n.Kind {
	case unstable.Table:
		return b.header(n)
	case unstable.ArrayTable:
		return b.arrayHeader(n)
	case unstable.KeyValue:
		return b.keyValue(b.at, n)
	default:
	}
	return nil
}

// value converts a value; line and col are its place if the parser does not
// know it (lists have none).
func (b *builder) value(n *unstable.Node, line, col int) (*node, *Error) {
	out := &node{text: string(n.Data), line: line, col: col}
	if n.Raw.Length > 0 {
		out.line, out.col = b.place(int(n.Raw.Offset))
	}
	switch n.Kind {
	case unstable.Array:
		out.kind, out.closed, out.text = nodeArray, true, ""
		for it := n.Children(); it.Next(); {
			v, err := b.value(it.Node(), out.line, out.col)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, v)
		}
	case unstable.InlineTable:
		out.kind, out.text = nodeTable, ""
		for it := n.Children(); it.Next(); {
			if err := b.keyValue(out, it.Node()); err != nil {
				return nil, err
			}
		}
		closeAll(out)
	case unstable.String:
		out.kind = nodeString
	case unstable.Bool:
		out.kind = nodeBool
	case unstable.Integer:
		out.kind = nodeInt
	case unstable.Float:
		out.kind = nodeFloat
	default:
		out.kind = nodeDate
	}
	return out, nil
}

func closeAll(n *node) {
	n.closed = true
	for _, p := range n.pairs {
		if p.val.kind == nodeTable {
			closeAll(p.val)
		}
	}
}
