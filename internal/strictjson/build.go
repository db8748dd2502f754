package strictjson

import (
	"strings"
	"unicode/utf16"
)

// smallObject is how many keys are compared one by one before a set pays.
const smallObject = 8

// builder makes the tree of a text that scanner found well formed, no deeper
// than DefaultDepth. It therefore looks for no syntax error.
type builder struct {
	src       string
	pos       int
	duplicate *Error // the first duplicate key
	proto     *Error // the first key __proto__
}

func (b *builder) space() {
	for b.pos < len(b.src) {
		switch b.src[b.pos] {
		case ' ', '\t', '\n', '\r':
			b.pos++
		default:
			return
		}
	}
}

func (b *builder) value() Value {
	b.space()
	v := Value{Start: b.pos}
	switch b.src[b.pos] {
	case '{':
		v.Kind = KindObject
		v.Members = b.object()
	case '[':
		v.Kind = KindArray
		v.Items = b.array()
	case '"':
		v.Kind = KindString
		v.Text = b.str()
	case 't':
		v.Kind, v.Bool = KindBool, true
		b.pos += len("true")
	case 'f':
		v.Kind = KindBool
		b.pos += len("false")
	case 'n':
		b.pos += len("null")
	default:
		v.Kind = KindNumber
		n := numberLen(b.src[b.pos:])
		v.Text = b.src[b.pos : b.pos+n]
		b.pos += n
	}
	v.End = b.pos
	return v
}

func (b *builder) array() []Value {
	items := []Value{}
	b.pos++
	b.space()
	for b.src[b.pos] != ']' {
		items = append(items, b.value())
		b.comma()
	}
	b.pos++
	return items
}

func (b *builder) object() []Member {
	members := []Member{}
	var set map[string]struct{}
	b.pos++
	b.space()
	for b.src[b.pos] != '}' {
		m := Member{Start: b.pos}
		m.Key = b.str()
		set = b.checkKey(m, members, set)
		b.space()
		b.pos++ // the colon
		m.Value = b.value()
		members = append(members, m)
		b.comma()
	}
	b.pos++
	return members
}

// comma reads a comma and the space around it, if there is one.
func (b *builder) comma() {
	b.space()
	if b.src[b.pos] == ',' {
		b.pos++
		b.space()
	}
}

// checkKey notes whether m repeats a key of members or is __proto__. It returns
// the set of keys, which exists only for objects that are not small.
func (b *builder) checkKey(m Member, members []Member, set map[string]struct{}) map[string]struct{} {
	if m.Key == "__proto__" && b.proto == nil {
		b.proto = &Error{
			Code: CodeUnknownField, Offset: int64(m.Start), Field: m.Key,
			Msg: "refused in every object",
		}
	}
	dup := false
	switch {
	case set != nil:
		_, dup = set[m.Key]
		set[m.Key] = struct{}{}
	case len(members) < smallObject:
		for i := range members {
			dup = dup || members[i].Key == m.Key
		}
	default:
		set = make(map[string]struct{}, 4*smallObject)
		for i := range members {
			set[members[i].Key] = struct{}{}
		}
		_, dup = set[m.Key]
		set[m.Key] = struct{}{}
	}
	if dup && b.duplicate == nil {
		b.duplicate = &Error{
			Code: CodeDuplicateKey, Offset: int64(m.Start), Field: display(m.Key),
			Msg: "key occurs twice in one object",
		}
	}
	return set
}

// str unescapes the string token at pos.
func (b *builder) str() string {
	start := b.pos + 1
	i := start
	for b.src[i] != '"' && b.src[i] != '\\' {
		i++
	}
	if b.src[i] == '"' {
		b.pos = i + 1
		return b.src[start:i]
	}
	end := i
	for b.src[end] != '"' {
		if b.src[end] == '\\' {
			end++
		}
		end++
	}
	var out strings.Builder
	out.Grow(end - start) // no escape is shorter than what it stands for
	out.WriteString(b.src[start:i])
	for i < end {
		if b.src[i] == '\\' {
			var r rune
			r, i = unescape(b.src, i+1)
			out.WriteRune(r)
			continue
		}
		next := strings.IndexByte(b.src[i:end], '\\')
		if next < 0 {
			next = end - i
		}
		out.WriteString(b.src[i : i+next])
		i += next
	}
	b.pos = end + 1
	return out.String()
}

// unescape returns the character of the escape whose backslash stands before
// src[i], and where the text goes on. The escape is well formed.
func unescape(src string, i int) (rune, int) {
	switch src[i] {
	case 'b':
		return '\b', i + 1
	case 'f':
		return '\f', i + 1
	case 'n':
		return '\n', i + 1
	case 'r':
		return '\r', i + 1
	case 't':
		return '\t', i + 1
	case 'u':
		r, _ := hex4(src[i+1:])
		if utf16.IsSurrogate(r) {
			low, _ := hex4(src[i+7:])
			return utf16.DecodeRune(r, low), i + 11
		}
		return r, i + 5
	}
	return rune(src[i]), i + 1
}
