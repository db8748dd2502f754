package policy

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// binder fills a layer from a tree or from single flags, and keeps every error.
type binder struct {
	l    *Layer
	flag string // what was typed, when the layer is the command line's
	errs Errors
}

// source records where n stands.
func (b *binder) source(n *node) int {
	p := &b.l.Policy
	p.Sources = append(p.Sources, b.where(n.line, n.col))
	return len(p.Sources) - 1
}

func (b *binder) where(line, col int) Source {
	s := Source{Kind: b.l.Kind, Name: b.l.Name, Line: line, Column: col}
	if b.l.Kind == KindFlag {
		s.Name = b.flag
	}
	return s
}

func (b *binder) fail(n *node, key, msg, hint string) {
	b.failAt(n.line, n.col, key, msg, hint)
}

// maxErrors is how many errors of one text are kept.
const maxErrors = 50

func (b *binder) failAt(line, col int, key, msg, hint string) {
	if len(b.errs) == maxErrors {
		return
	}
	b.errs = append(b.errs, &Error{Source: b.where(line, col), Key: key, Msg: msg, Hint: hint})
}

// failWith reports what a parser of single values returned.
func (b *binder) failWith(n *node, key string, err error) {
	var f *flaw
	if errors.As(err, &f) {
		b.fail(n, key, f.msg, f.hint)
		return
	}
	b.fail(n, key, err.Error(), "")
}

func (b *binder) version(root *node) {
	p := root.get("version")
	switch {
	case p == nil:
		b.failAt(1, 1, "version", "version is missing", "begin the file with version = 1")
	case p.val.kind != nodeInt:
		b.wrongType(p.val, "version", "an integer", "write version = 1")
	case p.val.text != "1":
		b.fail(p.val, "version", "unknown version "+p.val.text, "this brainbox reads version = 1")
	}
}

// table walks one table of the text.
func (b *binder) table(table string, t *node) {
	for _, p := range t.pairs {
		key := p.key
		if table != "" {
			key = table + "." + p.key
		}
		if !slices.Contains(keysOf(table), p.key) {
			b.failAt(p.line, p.col, key, "unknown key "+strconv.Quote(p.key)+inTable(table), unknownHint(table, p.key))
			continue
		}
		if msg, hint := forbidden(b.l.Kind, key); msg != "" {
			b.failAt(p.line, p.col, key, msg, hint)
			continue
		}
		if !isTable(key) {
			b.set(key, p.val)
			continue
		}
		if p.val.kind != nodeTable {
			b.wrongType(p.val, key, "a table", "write ["+key+"]")
			continue
		}
		b.table(key, p.val)
	}
}

func inTable(table string) string {
	if table == "" {
		return ""
	}
	return " in [" + table + "]"
}

// unknownHint names the nearest key of the table, else the table that has it.
func unknownHint(table, key string) string {
	keys := keysOf(table)
	if n := nearest(key, keys); n != "" {
		return "did you mean " + strconv.Quote(n) + "?"
	}
	for _, other := range [...]string{"filesystem", "network", "env", "process", "sandbox", "gate", "bridge", ""} {
		if other != table && slices.Contains(keysOf(other), key) {
			if other == "" {
				return strconv.Quote(key) + " belongs to the top of the file"
			}
			return strconv.Quote(key) + " belongs into [" + other + "]"
		}
	}
	return oneOf(keys)
}

// set binds one key that is not a table of its own.
func (b *binder) set(key string, n *node) {
	table, name, _ := strings.Cut(key, ".")
	if rest, ok := strings.CutPrefix(name, "remove."); ok {
		b.remove(table+"."+rest, n)
		return
	}
	switch table {
	case "extends":
		b.extends(n)
	case "filesystem":
		b.filesystem(key, name, n)
	case "network":
		b.network(key, name, n)
	case "env":
		b.env(key, name, n)
	case "process":
		b.process(key, name, n)
	case "sandbox":
		b.sandbox(key, name, n)
	case "gate":
		b.gate(key, name, n)
	case "bridge":
		b.bridge(key, name, n)
	}
}

func (b *binder) extends(n *node) {
	b.list("extends", n, func(n *node) {
		s, ok := b.str("extends", n)
		if !ok {
			return
		}
		if !isFileName(s) {
			if _, ok := Builtin(s); !ok {
				b.fail(n, "extends", "unknown profile "+strconv.Quote(s),
					oneOf(BuiltinNames())+`, or a file such as "./base.toml"`)
				return
			}
		}
		if err := checkBytes(s); err != nil {
			b.failWith(n, "extends", err)
			return
		}
		b.l.Extends = append(b.l.Extends, Item[string]{s, b.source(n)})
	})
}

// isFileName tells a file to extend from the name of a profile.
func isFileName(s string) bool {
	return strings.Contains(s, "/") || strings.HasSuffix(s, ".toml")
}

func (b *binder) wrongType(n *node, key, want, hint string) {
	b.fail(n, key, key+" must be "+want+", not "+n.kind.String(), hint)
}

// str returns a string value.
func (b *binder) str(key string, n *node) (string, bool) {
	if n.kind == nodeString || n.kind == nodeText {
		return n.text, true
	}
	hint := ""
	if n.kind == nodeInt || n.kind == nodeFloat || n.kind == nodeBool {
		hint = "write " + strconv.Quote(n.text)
	}
	b.wrongType(n, key, "a string", hint)
	return "", false
}

// number returns an integer, in decimal.
func (b *binder) number(key string, n *node) (string, bool) {
	switch n.kind {
	case nodeText:
		return n.text, true
	case nodeInt:
		i, err := strconv.ParseInt(n.text, 0, 64)
		if err == nil {
			return strconv.FormatInt(i, 10), true
		}
		b.fail(n, key, key+" is out of range: "+n.text, "")
		return "", false
	case nodeString, nodeFloat, nodeBool, nodeDate, nodeArray, nodeTable:
	}
	b.wrongType(n, key, "an integer", "write it without quotes")
	return "", false
}

func (b *binder) boolean(key string, n *node, dst *Value[bool]) {
	ok := n.kind == nodeBool || n.kind == nodeText && (n.text == "true" || n.text == "false")
	if !ok {
		b.wrongType(n, key, "a boolean", "write true or false")
		return
	}
	*dst = Value[bool]{V: n.text == "true", Set: true, Source: b.source(n)}
}

// list calls each for every element; a word of the command line is one element.
func (b *binder) list(key string, n *node, each func(*node)) {
	switch {
	case n.kind == nodeText:
		each(n)
	case n.kind == nodeArray && !n.tables && len(n.items) > maxKeys:
		b.tooLong(key, n)
	case n.kind == nodeArray && !n.tables:
		if len(n.items) == 0 {
			b.l.empty = append(b.l.empty, key)
		}
		for _, item := range n.items {
			each(item)
		}
	default:
		hint := "write " + key[strings.LastIndexByte(key, '.')+1:] + ` = ["…"]`
		b.wrongType(n, key, "a list", hint)
	}
}

func (b *binder) tooLong(key string, n *node) {
	b.fail(n, key, key+" has more than "+strconv.Itoa(maxKeys)+" elements", "name folders rather than files")
}

// scalar sets dst from the text of n.
func scalar[T any](b *binder, key string, n *node, text string, dst *Value[T], parse func(string) (T, error)) {
	v, err := parse(text)
	if err != nil {
		b.failWith(n, key, err)
		return
	}
	*dst = Value[T]{V: v, Set: true, Source: b.source(n)}
}

// word is a parser for one of words.
func word(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if slices.Contains(words, s) {
			return s, nil
		}
		return "", flawf(oneOf(words), "unknown word ", strconv.Quote(s))
	}
}

// element appends the text of n to dst.
func element[T any](b *binder, key string, n *node, text string, dst *[]Item[T], parse func(string) (T, error)) {
	v, err := parse(text)
	if err != nil {
		b.failWith(n, key, err)
		return
	}
	*dst = append(*dst, Item[T]{v, b.source(n)})
}
