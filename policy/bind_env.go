package policy

import (
	"slices"
	"strconv"
	"strings"
)

func (b *binder) env(key, name string, n *node) {
	env := &b.l.Policy.Env
	switch name {
	case "allow":
		b.list(key, n, func(n *node) {
			if s, ok := b.str(key, n); ok {
				element(b, key, n, s, &env.Allow, ParseEnvPattern)
			}
		})
	case "set":
		b.envSet(key, n, &env.Set)
	case "files":
		b.paths(key, n, &env.Files)
	case "ca_bundle":
		b.onePath(key, n, false, &env.CABundle)
	}
}

func (b *binder) envSet(key string, n *node, dst *[]Item[Var]) {
	if n.kind == nodeText {
		element(b, key, n, n.text, dst, ParseEnvVar)
		return
	}
	if n.kind != nodeTable {
		b.wrongType(n, key, "a table", `write set = { NAME = "value" }`)
		return
	}
	for _, p := range n.pairs {
		at := &node{line: p.line, col: p.col}
		if _, err := ParseEnvName(p.key); err != nil {
			b.failWith(at, key, err)
			continue
		}
		value, ok := b.str(key+"."+p.key, p.val)
		if !ok {
			continue
		}
		v, err := newVar(p.key, value)
		if err != nil {
			b.failWith(p.val, key, err)
			continue
		}
		*dst = append(*dst, Item[Var]{v, b.source(at)})
	}
}

func (b *binder) process(key, name string, n *node) {
	p := &b.l.Policy.Process
	switch name {
	case "timeout", "kill_after":
		dst := &p.Timeout
		if name == "kill_after" {
			dst = &p.KillAfter
		}
		if s, ok := b.str(key, n); ok {
			scalar(b, key, n, s, dst, ParseDuration)
		}
	case "memory":
		b.size(key, n, &p.Memory)
	case "fsize":
		b.size(key, n, &p.FSize)
	case "output_limit":
		b.size(key, n, &p.OutputLimit)
	case "pids":
		if s, ok := b.number(key, n); ok {
			scalar(b, key, n, s, &p.Pids, ParseCount)
		}
	case "nofile":
		if s, ok := b.number(key, n); ok {
			scalar(b, key, n, s, &p.NoFile, func(s string) (uint64, error) {
				c, err := ParseCount(s)
				return uint64(max(c, 0)), err
			})
		}
	case "cpu":
		b.cpu(key, n, &p.CPU)
	case "seccomp":
		b.seccomp(key, n, &p.Seccomp)
	}
}

// size reads "2GiB" or a plain number of bytes.
func (b *binder) size(key string, n *node, dst *Value[int64]) {
	text := n.text
	if n.kind == nodeInt {
		var ok bool
		if text, ok = b.number(key, n); !ok {
			return
		}
	} else if n.kind != nodeString && n.kind != nodeText {
		b.wrongType(n, key, "a size", sizeHint)
		return
	}
	scalar(b, key, n, text, dst, ParseSize)
}

func (b *binder) cpu(key string, n *node, dst *Value[string]) {
	switch n.kind {
	case nodeInt, nodeFloat, nodeString, nodeText:
		scalar(b, key, n, n.text, dst, ParseCPU)
	case nodeBool, nodeDate, nodeArray, nodeTable:
		b.wrongType(n, key, "a number of CPUs", `write 2 or "1.5"`)
	}
}

func (b *binder) seccomp(key string, n *node, dst *Value[Seccomp]) {
	words := []string{"default", "debug", "none"}
	if slices.Contains(words, n.text) {
		if b.l.Kind == KindProject && n.text != "default" {
			b.fail(n, key, "a project file may not set seccomp to "+n.text, "a project file can only narrow")
			return
		}
		*dst = Value[Seccomp]{V: Seccomp{Kind: n.text}, Set: true, Source: b.source(n)}
		return
	}
	if b.l.Kind == KindProject {
		b.fail(n, key, "a project file may not name a seccomp file", `"default", or leave it to the operator`)
		return
	}
	if p, ok := b.path(key, n, true); ok {
		*dst = Value[Seccomp]{V: Seccomp{Kind: "file", File: p}, Set: true, Source: p.Source}
		b.likeWord(n, key, p, words...)
	}
}

// likeWord refuses a bare path that is nearly a word: a misspelt word would be
// taken for a file name.
func (b *binder) likeWord(n *node, key string, p Path, words ...string) {
	if n.kind == nodeTable || strings.ContainsAny(p.Text, "/.") {
		return
	}
	b.fail(n, key, "unknown word "+strconv.Quote(p.Text), oneOf(words)+", or a path with a / in it")
}
