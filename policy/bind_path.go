package policy

import "strconv"

// path reads "…" or { path = "…", missing = "skip", literal = true }. needed
// says that the value may not go missing.
func (b *binder) path(key string, n *node, needed bool) (Path, bool) {
	p := Path{}
	at := n
	if n.kind == nodeTable {
		var ok bool
		if at, ok = b.pathTable(key, n, needed, &p); !ok {
			return p, false
		}
	}
	if at.kind != nodeString && at.kind != nodeText {
		b.wrongType(at, key, "a path", `write "…" or { path = "…", missing = "skip" }`)
		return p, false
	}
	p.Text = at.text
	if err := checkWritten(b.l.Kind, p); err != nil {
		b.failWith(at, key, err)
		return p, false
	}
	p.Source = b.source(at)
	return p, true
}

func (b *binder) pathTable(key string, n *node, needed bool, p *Path) (at *node, ok bool) {
	ok = true
	for _, f := range n.pairs {
		switch f.key {
		case "path":
			at = f.val
		case "missing":
			if f.val.kind != nodeString || f.val.text != "skip" {
				b.fail(f.val, key, "unknown word for missing", `missing = "skip", or leave it out: then a missing path is an error`)
				ok = false
			} else if needed {
				b.fail(f.val, key, key+" cannot be skipped", "leave the key out if it may be missing")
				ok = false
			}
			p.Skip = true
		case "literal":
			if f.val.kind != nodeBool {
				b.wrongType(f.val, "literal", "a boolean", "write literal = true")
				ok = false
			}
			p.Literal = f.val.text == "true"
		default:
			b.failAt(f.line, f.col, key, "unknown key "+strconv.Quote(f.key)+" in a path",
				oneOf([]string{"path", "missing", "literal"}))
			ok = false
		}
	}
	if at == nil && ok {
		b.fail(n, key, "a path table without path", `{ path = "…", missing = "skip" }`)
		ok = false
	}
	return at, ok
}

// checkWritten checks a path as it stands in a source of this kind.
func checkWritten(kind SourceKind, p Path) error {
	if !p.Literal {
		return CheckPath(kind, p.Text)
	}
	if err := checkBytes(p.Text); err != nil {
		return err
	}
	if kind == KindExec && p.Text[0] != '/' {
		return flawf("write an absolute path", "a path that depends on the caller: ", strconv.Quote(p.Text))
	}
	return nil
}

// expandPath sets p.Abs.
func expandPath(kind SourceKind, p *Path, v Vars) (err error) {
	if p.Literal {
		if err = checkWritten(kind, *p); err == nil {
			p.Abs, err = absolute(kind, p.Text, v)
		}
		return err
	}
	p.Abs, err = Expand(kind, p.Text, v)
	return err
}

func (b *binder) filesystem(key, name string, n *node) {
	r, err := ParseRight(name)
	if err != nil {
		b.failWith(n, key, err)
		return
	}
	b.list(key, n, func(n *node) {
		if p, ok := b.path(key, n, false); ok {
			b.l.Policy.Grants = append(b.l.Policy.Grants, Grant{p, r})
		}
	})
}

// paths appends a list of paths.
func (b *binder) paths(key string, n *node, dst *[]Path) {
	b.list(key, n, func(n *node) {
		if p, ok := b.path(key, n, false); ok {
			*dst = append(*dst, p)
		}
	})
}

// onePath sets a single path.
func (b *binder) onePath(key string, n *node, needed bool, dst **Path) {
	if p, ok := b.path(key, n, needed); ok {
		*dst = &p
	}
}

// remove records the entries of a remove table.
func (b *binder) remove(key string, n *node) {
	b.list("remove", n, func(n *node) {
		r := removal{key: key}
		var ok bool
		var bad error
		switch key {
		case "network.connect_tcp", "network.bind_tcp", "network.publish":
			if r.text, ok = b.number(key, n); ok {
				_, bad = ParsePort(r.text)
			}
		case "network.allow_hosts":
			if r.text, ok = b.str(key, n); ok {
				_, bad = ParseHost(r.text)
			}
		case "env.allow":
			if r.text, ok = b.str(key, n); ok {
				_, bad = ParseEnvPattern(r.text)
			}
		case "env.set":
			if r.text, ok = b.str(key, n); ok {
				_, bad = ParseEnvName(r.text)
			}
		default:
			r.path, ok = b.path(key, n, false)
			r.text = r.path.Text
		}
		switch {
		case bad != nil:
			b.failWith(n, key, bad)
		case ok:
			r.source = b.source(n)
			b.l.removes = append(b.l.removes, r)
		}
	})
}
