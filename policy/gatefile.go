package policy

import (
	"bytes"
	"errors"
	"strconv"

	"brainbox/internal/strictjson"
)

// ParseGate reads a file that is about the gate alone: TOML with version and [gate], as in
// a policy; or permissions in JSON, an object of surfaces, each an action or an object of
// patterns, or a list of {surface, pattern, action, reason}, either also as the only member
// "permission" (contract bridge-and-gate, section D.4). The order of keys is meaning. name
// is what errors call it. The error is an *Error or Errors.
func ParseGate(name string, text []byte) (*Layer, error) {
	head := bytes.TrimLeft(text, " \t\r\n")
	// A text in TOML that begins so would be a table header: [gate] is one, [{ is none.
	isJSON := len(head) > 0 && (head[0] == '{' || head[0] == '[' && !isHeader(head))
	if isJSON {
		return gateFromJSON(name, text)
	}
	l, err := Parse(KindFile, name, text)
	if err != nil {
		return nil, err
	}
	tree, bad := readTree(text)
	if bad != nil {
		return nil, bad
	}
	b := &binder{l: l}
	for _, p := range tree.pairs {
		if p.key != "version" && p.key != "gate" {
			b.failAt(p.line, p.col, p.key, "a gate file holds version and [gate], not "+strconv.Quote(p.key), "--policy takes the whole")
		}
	}
	if err := b.errs.err(); err != nil {
		return nil, err
	}
	return l, nil
}

// isHeader reports whether a text begins with a line that only TOML has: [name] or [[name]].
func isHeader(text []byte) bool {
	word := bytes.TrimLeft(text, "[ \t")
	return len(word) > 0 && word[0] != '{' && word[0] != ']' && word[0] != '"' && word[0] != '\n' && word[0] != '\r'
}

// gateFromJSON reads permissions as rules.
func gateFromJSON(name string, text []byte) (*Layer, error) {
	l := &Layer{Kind: KindFile, Name: name}
	g := &gateJSON{b: binder{l: l}, at: builder{text: text, lines: lineStarts(text)}}
	v, err := strictjson.Decode(text, strictjson.Limits{Bytes: maxText})
	if err != nil {
		e := &Error{Source: Source{Kind: KindFile, Name: name}, Key: "gate", Msg: "permissions as JSON: " + err.Error(), Err: err}
		var bad *strictjson.Error
		if errors.As(err, &bad) {
			e.Source.Line, e.Source.Column = g.at.place(int(bad.Offset))
		}
		return nil, e
	}
	if inner := v.Get("permission"); inner != nil {
		if len(v.Members) != 1 {
			g.fail(v, `beside "permission" there is another key`, "")
		}
		v = inner
	}
	switch v.Kind {
	case strictjson.KindObject:
		for i := range v.Members {
			g.surface(&v.Members[i])
		}
	case strictjson.KindArray:
		for i := range v.Items {
			g.rule(&v.Items[i])
		}
	default:
		g.fail(v, "rules are an object or a list", `{"bash": {"git *": "ask"}}`)
	}
	if err := g.b.errs.err(); err != nil {
		return nil, err
	}
	return l, nil
}

// gateJSON turns JSON into the tables that [[gate.rule]] would be.
type gateJSON struct {
	b  binder
	at builder
}

func (g *gateJSON) fail(v *strictjson.Value, msg, hint string) {
	line, col := g.at.place(v.Start)
	g.b.failAt(line, col, "gate", msg, hint)
}

func (g *gateJSON) word(v *strictjson.Value, text string) *node {
	line, col := g.at.place(v.Start)
	return &node{kind: nodeString, text: text, line: line, col: col}
}

// add binds one rule, which the text has at v.
func (g *gateJSON) add(v *strictjson.Value, pairs ...pair) {
	n := g.word(v, "")
	n.kind = nodeTable
	for _, p := range pairs {
		if p.val != nil {
			p.line, p.col = p.val.line, p.val.col
			n.pairs = append(n.pairs, p)
		}
	}
	g.b.rule("gate.rule", n, &g.b.l.Policy.Gate.Rules)
}

func (g *gateJSON) surface(m *strictjson.Member) {
	v := &m.Value
	key := &strictjson.Value{Start: m.Start}
	surface := pair{key: "surface", val: g.word(key, m.Key)}
	switch v.Kind {
	case strictjson.KindString:
		g.add(key, surface, pair{key: "pattern", val: g.word(v, "*")}, pair{key: "action", val: g.word(v, v.Text)})
	case strictjson.KindObject:
		for i := range v.Members {
			p := &v.Members[i]
			if p.Key == "action" || p.Key == "reason" {
				g.fail(&p.Value, strconv.Quote(p.Key)+" stands where a pattern is expected", `{"*": {"action": "deny", "reason": "…"}}`)
				continue
			}
			at := &strictjson.Value{Start: p.Start}
			action, reason, ok := g.action(&p.Value)
			if ok {
				g.add(at, surface, pair{key: "pattern", val: g.word(at, p.Key)}, action, reason)
			}
		}
	default:
		g.fail(v, "surface "+strconv.Quote(m.Key)+": neither an action nor an object of patterns", "")
	}
}

// action reads an action, or {action, reason}.
func (g *gateJSON) action(v *strictjson.Value) (action, reason pair, ok bool) {
	if v.Kind == strictjson.KindString {
		return pair{key: "action", val: g.word(v, v.Text)}, pair{}, true
	}
	if v.Kind != strictjson.KindObject {
		g.fail(v, "neither an action nor {action, reason}", "")
		return pair{}, pair{}, false
	}
	for i := range v.Members {
		m := &v.Members[i]
		switch {
		case m.Key != "action" && m.Key != "reason", m.Value.Kind != strictjson.KindString:
			g.fail(&m.Value, "not an action or a reason: "+strconv.Quote(m.Key), "")
			return pair{}, pair{}, false
		case m.Key == "action":
			action = pair{key: "action", val: g.word(&m.Value, m.Value.Text)}
		default:
			reason = pair{key: "reason", val: g.word(&m.Value, m.Value.Text)}
		}
	}
	return action, reason, true // without an action the rule is refused
}

// rule reads {surface, pattern, action, reason}; keys and words are checked as in TOML.
func (g *gateJSON) rule(v *strictjson.Value) {
	if v.Kind != strictjson.KindObject {
		g.fail(v, "a rule is an object", `{"surface": "bash", "pattern": "git *", "action": "ask"}`)
		return
	}
	var pairs []pair
	for i := range v.Members {
		m := &v.Members[i]
		if m.Value.Kind != strictjson.KindString {
			g.fail(&m.Value, strconv.Quote(m.Key)+" is no string", "")
			return
		}
		pairs = append(pairs, pair{key: m.Key, val: g.word(&m.Value, m.Value.Text)})
	}
	g.add(v, pairs...)
}
