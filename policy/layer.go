package policy

import (
	"slices"
	"strconv"
	"strings"
)

// Layer is one text of a policy before it is merged: a file, a built-in profile
// or the command line. Its paths are checked, not expanded.
type Layer struct {
	Kind    SourceKind
	Name    string         // file path or profile name; empty for the command line
	Extends []Item[string] // built-in profiles or files, in order
	Policy  Policy         // as written: Path.Abs is empty everywhere
	removes []removal
	empty   []string // keys that were given an empty list
}

// removal is one entry of a remove table.
type removal struct {
	key    string // "filesystem.write", "env.allow", …
	text   string
	path   Path // with the keys whose entries are paths
	source int
}

// Parse reads one policy text. kind says what the text may hold: KindFile
// everything, KindExec what holds without a supervisor, KindProject what can
// only narrow. name is what errors call it. The error is an *Error or Errors,
// every one with line and column.
func Parse(kind SourceKind, name string, text []byte) (*Layer, error) {
	if kind == KindProfile || kind == KindFlag {
		return nil, &Error{Source: Source{Kind: kind, Name: name}, Msg: "neither profiles nor flags are read from a text"}
	}
	l := &Layer{Kind: kind, Name: name}
	tree, bad := readTree(text)
	if bad != nil {
		bad.Source.Kind, bad.Source.Name = kind, name
		return nil, bad
	}
	b := &binder{l: l}
	b.version(tree)
	b.table("", tree)
	if err := b.errs.err(); err != nil {
		return nil, err
	}
	return l, nil
}

// NewFlagLayer returns the empty layer of the command line. Fill it with Set,
// AddGrant and AddEnv in the order of the flags.
func NewFlagLayer() *Layer { return &Layer{Kind: KindFlag} }

// Set gives key, such as "process.timeout", the value of one flag: a scalar is
// replaced, a list gets one more element. flag is what was typed, such as
// "--timeout 10m", and is what errors and provenance show. The value is checked
// exactly as it is in a file.
func (l *Layer) Set(key, flag, value string) error {
	b := &binder{l: l, flag: flag}
	table, name := "", key
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		table, name = key[:i], key[i+1:]
	}
	if !slices.Contains(keysOf(table), name) || isTable(key) || flagless(table, key) {
		return &Error{
			Source: Source{Kind: l.Kind, Name: flag}, Key: key,
			Msg: "no key that a flag can set: " + strconv.Quote(key),
		}
	}
	b.set(key, &node{kind: nodeText, text: value})
	return b.errs.err()
}

// flagless reports keys whose value is no single word.
func flagless(table, key string) bool {
	switch key {
	case "version", "extends", "gate.rule", "sandbox.identity", "sandbox.callers", "sandbox.tmp_root":
		return true
	}
	return strings.HasSuffix(table, ".remove")
}

// AddGrant adds one entry of [filesystem]: --ro PATH and its like, --protect
// PATH, --deny PATH.
func (l *Layer) AddGrant(flag, text string, r Right) error {
	if r == RightNone || int(r) >= len(rightWords) {
		return &Error{Source: Source{Kind: l.Kind, Name: flag}, Msg: "no right to grant"}
	}
	return l.Set("filesystem."+rightWords[r], flag, text)
}

// AddEnv adds --env NAME, which passes the caller's value, or --env NAME=VALUE.
func (l *Layer) AddEnv(flag, text string) error {
	if strings.Contains(text, "=") {
		return l.Set("env.set", flag, text)
	}
	return l.Set("env.allow", flag, text)
}
