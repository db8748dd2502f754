package policy

import "strconv"

func (b *binder) gate(key, name string, n *node) {
	g := &b.l.Policy.Gate
	switch name {
	case "allowed_tools":
		if n.kind == nodeArray && !n.tables && len(n.items) == 0 {
			// Without the list there is none: an empty one would allow every tool.
			b.fail(n, key, "an empty list of allowed tools", `a rule with surface = "*", pattern = "*" and action = "deny" allows none`)
			return
		}
		b.list(key, n, func(n *node) {
			if s, ok := b.str(key, n); ok {
				element(b, key, n, s, &g.AllowedTools, ParseTool)
			}
		})
	case "confirm":
		dst := &g.Confirm
		if b.l.Kind == KindProject {
			dst = &g.ConfirmMore
		} else if n.kind == nodeArray && !n.tables && len(n.items) == 0 {
			g.NoConfirm = Value[bool]{V: true, Set: true, Source: b.source(n)}
			return
		}
		b.list(key, n, func(n *node) { b.confirm(key, n, dst) })
	case "confirm_more":
		b.list(key, n, func(n *node) { b.confirm(key, n, &g.ConfirmMore) })
	case "rule":
		if n.kind != nodeArray {
			b.wrongType(n, key, "a list of tables", "write [[gate.rule]]")
			return
		}
		if len(n.items) > maxKeys {
			b.tooLong(key, n)
			return
		}
		for _, item := range n.items {
			b.rule(key, item, &g.Rules)
		}
	}
}

// ParseTool reads the name of a mediated tool: a letter, digit or underscore,
// then up to 127 of those or one of . : / -.
func ParseTool(text string) (string, error) {
	for i := range len(text) {
		c := text[i]
		plain := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !plain && (i == 0 || c != '.' && c != ':' && c != '/' && c != '-') {
			text = ""
			break
		}
	}
	if text == "" || len(text) > 128 {
		return "", flawf("letters, digits and _ . : / -, at most 128", "not the name of a tool")
	}
	return text, nil
}

// confirm reads "pattern" or { pattern = "…", effect = "…" }.
func (b *binder) confirm(key string, n *node, dst *[]Item[Confirm]) {
	var c Confirm
	var ok bool
	if n.kind != nodeTable {
		c.Pattern, ok = b.str(key, n)
	} else {
		ok = b.strings(key, n, map1{"pattern", &c.Pattern}, map1{"effect", &c.Effect})
	}
	if !ok {
		return
	}
	if c.Pattern == "" {
		b.fail(n, key, "a confirm entry without a pattern", `"\\bdeploy\\b" or { pattern = "…", effect = "…" }`)
		return
	}
	*dst = append(*dst, Item[Confirm]{c, b.source(n)})
}

// map1 binds one key of a small table of strings.
type map1 struct {
	key string
	dst *string
}

func (b *binder) strings(key string, n *node, fields ...map1) bool {
	ok := true
next:
	for _, p := range n.pairs {
		if p.key == "tighten" && key == "gate.rule" {
			continue // read by rule
		}
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.key
			if f.key != p.key {
				continue
			}
			s, good := b.str(key+"."+p.key, p.val)
			*f.dst, ok = s, ok && good
			continue next
		}
		b.failAt(p.line, p.col, key, "unknown key "+strconv.Quote(p.key)+" in "+key, oneOf(names))
		ok = false
	}
	return ok
}

func (b *binder) rule(key string, n *node, dst *[]Rule) {
	if n.kind != nodeTable {
		b.wrongType(n, key, "a list of tables", "write [[gate.rule]]")
		return
	}
	r := Rule{Tighten: b.l.Kind == KindProject}
	var tighten Value[bool]
	if p := n.get("tighten"); p != nil {
		b.boolean(key+".tighten", p.val, &tighten)
		r.Tighten = r.Tighten || tighten.V
	}
	if !b.strings(key, n, map1{"surface", &r.Surface}, map1{"pattern", &r.Pattern}, map1{"action", &r.Action}, map1{"reason", &r.Reason}) {
		return
	}
	for _, f := range []map1{{"surface", &r.Surface}, {"pattern", &r.Pattern}, {"action", &r.Action}} {
		if *f.dst == "" {
			b.fail(n, key, "a rule without "+f.key, "a rule has surface, pattern and action")
			return
		}
	}
	at := n
	if p := n.get("action"); p != nil {
		at = p.val
	}
	if _, err := word("allow", "ask", "deny")(r.Action); err != nil {
		b.failWith(at, key, err)
		return
	}
	if r.Tighten && r.Action == "allow" {
		who := "a rule with tighten = true"
		if b.l.Kind == KindProject {
			who = "a project file"
		}
		b.fail(at, key, who+" may not allow", `"ask" or "deny"; it can only narrow`)
		return
	}
	r.Source = b.source(n)
	*dst = append(*dst, r)
}

func (b *binder) bridge(key, name string, n *node) {
	br := &b.l.Policy.Bridge
	if name == "envelope" {
		b.onePath(key, n, true, &br.Envelope)
		return
	}
	if n.kind != nodeTable {
		b.wrongType(n, key, "a table", `write roots = { repo = "." }`)
		return
	}
	for _, f := range n.pairs {
		if _, err := ParseTool(f.key); err != nil {
			b.failAt(f.line, f.col, key, "not the name of a root: "+strconv.Quote(f.key), "letters, digits and _ . : / -")
			continue
		}
		if p, ok := b.path(key+"."+f.key, f.val, true); ok {
			if br.Roots == nil {
				br.Roots = make(map[string]Path)
			}
			br.Roots[f.key] = p
		}
	}
}
