package policy

import "strconv"

func (b *binder) sandbox(key, name string, n *node) {
	s := &b.l.Policy.Sandbox
	switch name {
	case "isolation":
		if t, ok := b.str(key, n); ok {
			scalar(b, key, n, t, &s.Isolation, word("auto", "landlock", "namespaces"))
		}
	case "home":
		b.home(key, n, &s.Home)
	case "degraded":
		b.list(key, n, func(n *node) {
			if t, ok := b.str(key, n); ok {
				element(b, key, n, t, &s.Degraded, ParseClause)
			}
		})
	case "identity":
		b.identity(key, n, &s.Identity)
	case "git_config":
		b.boolean(key, n, &s.GitConfig)
	case "keep_created":
		b.boolean(key, n, &s.KeepCreated)
	case "allow_protected":
		b.paths(key, n, &s.AllowProtected)
	case "cwd":
		b.onePath(key, n, true, &s.Cwd)
	case "callers":
		b.list(key, n, func(n *node) {
			if t, ok := b.account(key, n); ok {
				s.Callers = append(s.Callers, Item[string]{t, b.source(n)})
			}
		})
	case "tmp_root":
		b.onePath(key, n, true, &s.TmpRoot)
	}
}

func (b *binder) home(key string, n *node, dst *Value[Home]) {
	if n.text == "run" || n.text == "keep" {
		if b.l.Kind == KindExec {
			b.fail(n, key, "exec.toml cannot hold home "+strconv.Quote(n.text)+": nothing supervises the program",
				"name a folder; `brainbox run` makes one for each run")
			return
		}
		*dst = Value[Home]{V: Home{Kind: n.text}, Set: true, Source: b.source(n)}
		return
	}
	if p, ok := b.path(key, n, true); ok {
		*dst = Value[Home]{V: Home{Kind: "dir", Dir: p}, Set: true, Source: p.Source}
		b.likeWord(n, key, p, "run", "keep")
	}
}

func (b *binder) identity(key string, n *node, dst *Value[Identity]) {
	if n.kind != nodeTable {
		b.wrongType(n, key, "a table", `{ user = "agent", group = "agent", groups = [] }`)
		return
	}
	id, bad := Identity{}, len(b.errs)
	for _, p := range n.pairs {
		switch p.key {
		case "user":
			id.User, _ = b.account(key+".user", p.val)
		case "group":
			id.Group, _ = b.account(key+".group", p.val)
		case "groups":
			b.list(key+".groups", p.val, func(n *node) {
				g, _ := b.account(key+".groups", n)
				id.Groups = append(id.Groups, g)
			})
		default:
			b.failAt(p.line, p.col, key, "unknown key "+strconv.Quote(p.key)+" in identity",
				oneOf([]string{"user", "group", "groups"}))
		}
	}
	if len(b.errs) > bad {
		return
	}
	if id.User == "" {
		b.fail(n, key, "identity without user", `{ user = "agent", group = "agent", groups = [] }`)
		return
	}
	*dst = Value[Identity]{V: id, Set: true, Source: b.source(n)}
}

// account reads the name or the number of a user or group.
func (b *binder) account(key string, n *node) (string, bool) {
	if n.kind == nodeInt {
		text, ok := b.number(key, n)
		if ok && text[0] == '-' {
			b.fail(n, key, "a negative number: "+text, "a name or a number from 0")
			return "", false
		}
		return text, ok
	}
	text, ok := b.str(key, n)
	if !ok {
		return "", false
	}
	for i := range len(text) {
		c := text[i]
		if c <= ' ' || c >= 0x7f || c == ':' || c == ',' || c == '/' {
			ok = false
		}
	}
	if !ok || text == "" || text[0] == '-' || text[0] == '+' {
		b.fail(n, key, "not a user or group: "+strconv.Quote(text), "a name or a number from 0")
		return "", false
	}
	return text, true
}
