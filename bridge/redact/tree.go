package redact

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"brainbox/internal/strictjson"
)

// maxDepth is deeper than anything that strictjson decodes.
const maxDepth = 4 * strictjson.DefaultDepth

// walk redacts one tree.
type walk struct {
	r     *Redactor
	scope Scope
	edits int // how often something was replaced
	err   error

	spans []span // of the text at hand
	scan  scan
}

// span is a part of a text that is replaced.
type span struct {
	from, to int
	path     bool // by HostPath
}

func (r *Redactor) walk(scope Scope) *walk {
	if r == nil {
		r = &Redactor{}
	}
	return &walk{r: r, scope: scope}
}

// value returns v without secrets; parts that do not change are shared.
func (w *walk) value(v strictjson.Value, depth int) strictjson.Value {
	if depth > maxDepth {
		w.err = errors.New("redact: nested too deeply")
		return strictjson.Null()
	}
	switch v.Kind {
	case strictjson.KindString:
		v.Text = w.text(v.Text)
	case strictjson.KindNumber:
		if t := w.text(v.Text); t != v.Text {
			return strictjson.Text(t)
		}
	case strictjson.KindArray:
		items := v.Items
		for i := range items {
			before := w.edits
			item := w.value(items[i], depth+1)
			if w.edits != before {
				v.Items = own(v.Items, items)
				v.Items[i] = item
			}
		}
	case strictjson.KindObject:
		v.Members = w.members(v.Members, depth)
	case strictjson.KindNull, strictjson.KindBool:
	}
	return v
}

// own returns list, copied when it still is the original.
func own[T any](list, original []T) []T {
	if &list[0] != &original[0] {
		return list
	}
	return slices.Clone(original)
}

func (w *walk) members(original []strictjson.Member, depth int) []strictjson.Member {
	members := original
	renamed := false
	for i := range original {
		m := original[i]
		before := w.edits
		key := w.text(m.Key)
		renamed = renamed || key != m.Key
		if w.scope == Full && secretKey(m.Key) && m.Value.Kind != strictjson.KindNull && m.Value.Kind != strictjson.KindBool {
			m.Value = strictjson.Text(Redacted)
			w.edits++
		} else {
			m.Value = w.value(m.Value, depth+1)
		}
		m.Key = key
		if w.edits != before {
			members = own(members, original)
			members[i] = m
		}
	}
	if renamed {
		unique(members)
	}
	return members
}

// unique numbers keys that have become the same.
func unique(members []strictjson.Member) {
	seen := make(map[string]int, len(members))
	for i := range members {
		seen[members[i].Key]++
	}
	next := map[string]int{}
	for i := range members {
		key := members[i].Key
		if seen[key] < 2 {
			continue
		}
		n := next[key] + 1
		if n > 1 {
			fresh := key + "#" + strconv.Itoa(n)
			for seen[fresh] > 0 {
				n++
				fresh = key + "#" + strconv.Itoa(n)
			}
			seen[fresh]++
			members[i].Key = fresh
		}
		next[key] = n
	}
}

// text returns s without secrets.
func (w *walk) text(s string) string {
	if len(s) < 2 {
		return s
	}
	w.spans = w.spans[:0]
	w.exact(s)
	if w.scope != Names {
		w.shapes(s)
		w.paths(s)
	}
	if len(w.spans) == 0 {
		return s
	}
	w.edits++
	s = replace(s, w.spans)
	w.spans = w.spans[:0]
	if w.exact(s); len(w.spans) > 0 {
		w.err = errLeft
		return Redacted
	}
	return s
}

func (w *walk) add(from, to int) { w.spans = append(w.spans, span{from: from, to: to}) }

// replace replaces the spans of s, those that touch or overlap by one literal.
func replace(s string, spans []span) string {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	b.Grow(len(s) + 16)
	at := 0
	for i := 0; i < len(spans); {
		one := spans[i]
		for i++; i < len(spans) && spans[i].from <= one.to; i++ {
			one.to = max(one.to, spans[i].to)
			one.path = one.path && spans[i].path
		}
		b.WriteString(s[at:one.from])
		if one.path {
			b.WriteString(HostPath)
		} else {
			b.WriteString(Redacted)
		}
		at = one.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// secretKeys are in the names of keys whose values are secrets (section A.8), without what
// separates their words.
var secretKeys = []string{"secret", "token", "password", "credential", "privatekey", "apikey", "cookie"}

// secretKey reports whether the value of key is a secret by its name: in any case, however its
// words are separated.
func secretKey(key string) bool {
	var buf [64]byte
	name := buf[:0]
	for i := range len(key) {
		switch c := key[i]; {
		case 'A' <= c && c <= 'Z':
			name = append(name, c|0x20)
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c >= 0x80:
			name = append(name, c)
		}
	}
	text := string(name)
	if text == "authorization" || text == "proxyauthorization" {
		return true
	}
	return slices.ContainsFunc(secretKeys, func(s string) bool { return strings.Contains(text, s) })
}
