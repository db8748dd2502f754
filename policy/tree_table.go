package policy

import (
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"
)

// maxKeys is the largest number of keys in one table. Looking a key up is a walk,
// and a project file is written by somebody else.
const maxKeys = 4096

// add appends a key to t.
func (n *node) add(part keyPart, val *node) *Error {
	if len(n.pairs) == maxKeys {
		return part.fail("too many keys in one table:", "at most "+strconv.Itoa(maxKeys))
	}
	n.pairs = append(n.pairs, pair{part.name, part.line, part.col, val})
	return nil
}

// keyPart is one part of a dotted key.
type keyPart struct {
	name      string
	line, col int
	end       int // offset after it
}

func (b *builder) keyParts(n *unstable.Node) []keyPart {
	var parts []keyPart
	for it := n.Key(); it.Next(); {
		k := it.Node()
		part := keyPart{name: string(k.Data), end: int(k.Raw.Offset + k.Raw.Length)}
		part.line, part.col = b.place(int(k.Raw.Offset))
		parts = append(parts, part)
	}
	return parts
}

func (k keyPart) fail(msg, hint string) *Error {
	return &Error{
		Source: Source{Line: k.line, Column: k.col}, Key: k.name,
		Msg: msg + " " + strconv.Quote(k.name), Hint: hint,
	}
}

// keyValue adds one `a.b = value` to table t.
func (b *builder) keyValue(t *node, n *unstable.Node) *Error {
	parts := b.keyParts(n)
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		next := t.get(part.name)
		if next == nil {
			child := &node{kind: nodeTable, dotted: true, line: part.line, col: part.col}
			if err := t.add(part, child); err != nil {
				return err
			}
			t = child
			continue
		}
		if next.val.kind != nodeTable || next.val.closed || next.val.explicit {
			return part.fail("duplicate key", "it was given a value above")
		}
		t = next.val
	}
	if old := t.get(last.name); old != nil {
		return last.fail("duplicate key", "first set in line "+strconv.Itoa(old.line))
	}
	line, col := b.place(b.valueOffset(last.end))
	v, err := b.value(n.Value(), line, col)
	if err != nil {
		return err
	}
	if v.kind == nodeTable { // the parser points at its first key
		v.line, v.col = line, col
	}
	return t.add(last, v)
}

// valueOffset returns where the value after the key that ends at offset begins.
func (b *builder) valueOffset(offset int) int {
	for offset < len(b.text) && (b.text[offset] == ' ' || b.text[offset] == '\t' || b.text[offset] == '=') {
		offset++
	}
	return offset
}

// header opens [a.b].
func (b *builder) header(n *unstable.Node) *Error {
	parts := b.keyParts(n)
	t, err := b.descend(parts[:len(parts)-1])
	if err != nil {
		return err
	}
	last := parts[len(parts)-1]
	old := t.get(last.name)
	if old == nil {
		child := &node{kind: nodeTable, explicit: true, line: last.line, col: last.col}
		b.at = child
		return t.add(last, child)
	}
	v := old.val
	if v.kind != nodeTable || v.closed || v.explicit || v.dotted {
		return last.fail("duplicate table", "first defined in line "+strconv.Itoa(old.line))
	}
	v.explicit, v.line, v.col = true, last.line, last.col
	old.line, old.col = last.line, last.col
	b.at = v
	return nil
}

// arrayHeader opens the next [[a.b]].
func (b *builder) arrayHeader(n *unstable.Node) *Error {
	parts := b.keyParts(n)
	t, err := b.descend(parts[:len(parts)-1])
	if err != nil {
		return err
	}
	last := parts[len(parts)-1]
	child := &node{kind: nodeTable, explicit: true, line: last.line, col: last.col}
	b.at = child
	old := t.get(last.name)
	if old == nil {
		list := &node{kind: nodeArray, tables: true, line: last.line, col: last.col, items: []*node{child}}
		return t.add(last, list)
	}
	if !old.val.tables {
		return last.fail("duplicate key", "first set in line "+strconv.Itoa(old.line))
	}
	old.val.items = append(old.val.items, child)
	return nil
}

// descend goes down the leading parts of a header, making tables as needed.
func (b *builder) descend(parts []keyPart) (*node, *Error) {
	t := b.root
	for _, part := range parts {
		old := t.get(part.name)
		switch {
		case old == nil:
			child := &node{kind: nodeTable, line: part.line, col: part.col}
			if err := t.add(part, child); err != nil {
				return nil, err
			}
			t = child
		case old.val.tables:
			t = old.val.items[len(old.val.items)-1]
		case old.val.kind == nodeTable && !old.val.closed:
			t = old.val
		default:
			return nil, part.fail("duplicate key", "first set in line "+strconv.Itoa(old.line))
		}
	}
	return t, nil
}
