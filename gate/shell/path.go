package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect reads the target of a redirection, and the commands in it.
func (r *reader) redirect(red *syntax.Redirect, at place) {
	if red.Hdoc != nil {
		r.words(red.Hdoc, at)
	}
	if red.N != nil && risky(strings.Trim(red.N.Value, "{}")) {
		r.odd = true // {PATH}>file sets it
	}
	if red.Word == nil {
		return
	}
	access := Both
	switch red.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		r.words(red.Word, at)
		return
	case syntax.RdrIn:
		access = ReadOnly
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob, syntax.AppClob, syntax.RdrAllClob, syntax.AppAllClob:
		access = WriteOnly
	case syntax.DplIn, syntax.DplOut:
		if lit := red.Word.Lit(); lit == "-" || lit != "" && strings.Trim(lit, "0123456789") == "" ||
			strings.Trim(strings.TrimSuffix(lit, "-"), "0123456789") == "" && lit != "" {
			return // another descriptor
		}
		access = WriteOnly
	default: // <> and what other shells have
	}
	w := r.read(red.Word, at)
	r.path(&w, access, false, at)
}

// assignPath reads the values of an assignment: PATH lists and the like name files.
func (r *reader) assignPath(a *syntax.Assign, at place) {
	if a.Value != nil {
		r.named([]*syntax.Word{a.Value}, at)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				r.named([]*syntax.Word{e.Value}, at)
			}
		}
	}
}

// named reads words that may become paths: values, what a loop goes over, defaults.
func (r *reader) named(words []*syntax.Word, at place) {
	for _, w := range words {
		word := r.read(w, at)
		r.shaped(&word, at)
	}
}

// testPaths reads the words of [[ … ]].
func (r *reader) testPaths(c *syntax.TestClause, at place) {
	syntax.Walk(c, func(n syntax.Node) bool {
		w, ok := n.(*syntax.Word)
		if ok {
			word := r.read(w, at)
			r.shaped(&word, at)
		}
		return !ok
	})
}

// tokens reads the words of a call for paths.
func (r *reader) tokens(words []word, at place) {
	if strings.IndexByte(words[0].text, '/') >= 0 {
		r.path(&words[0], ReadOnly, false, at)
	}
	args := words[1:]
	skip := scriptAt(words)
	for i := range args {
		if i != skip {
			r.shaped(&args[i], at)
		}
	}
}

// scriptAt finds the argument of sed, awk, grep and jq that is a program or an
// expression and no file, where options leave no doubt; else -1.
func scriptAt(words []word) int {
	switch words[0].text {
	case "sed", "gsed", "awk", "gawk", "mawk", "grep", "egrep", "fgrep", "rg", "jq":
	default:
		return -1
	}
	at := -1
	for i := range words[1:] {
		w := &words[i+1]
		switch {
		case w.hole && !w.quoted, strings.HasPrefix(w.text, "--") && !strings.HasPrefix(w.text, "--include=") && !strings.HasPrefix(w.text, "--exclude"),
			strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "ef"):
			return -1
		case at < 0 && !strings.HasPrefix(w.text, "-"):
			at = i
		}
	}
	return at
}

// shaped adds what in a word looks like a path: the word, and what stands behind
// a sign that programs put before one.
func (r *reader) shaped(w *word, at place) {
	for _, alt := range w.alts {
		if alt != "" {
			r.shaped(&word{text: alt}, at)
		}
	}
	text := w.text
	if text == "" || text == "-" || text == "--" {
		return
	}
	switch text[0] {
	case '-':
		if _, value, ok := strings.Cut(text, "="); ok {
			r.part(w, value, at)
		} else if slash := strings.IndexByte(text, '/'); slash > 0 {
			r.part(w, text[slash:], at) // -I/usr/include
		}
		if len(text) > 2 && text[1] != '-' && looksLikePath(text[2:]) {
			r.part(w, text[2:], at) // -f.env, -C..
		}
		return
	case '@': // curl -d @file
		r.part(w, text[1:], at)
	}
	if i := strings.Index(text, "://"); i > 0 && !strings.HasPrefix(text, "file:") {
		return // an address
	}
	if i := strings.LastIndexAny(text, "=:"); i > 0 && i+1 < len(text) { // dd of=x, host:x, a:b
		for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '=' || c == ':' }) {
			if looksLikePath(part) {
				r.part(w, part, at)
			}
		}
	}
	r.path(w, Both, !looksLikePath(text) && w.plain == "", at)
}

func (r *reader) part(w *word, text string, at place) {
	text = strings.TrimLeft(text, "@<") // curl -F x=@file
	if strings.HasPrefix(text, "///") { // of file:///x
		text = text[2:]
	}
	v := word{text: text, quoted: false, hole: w.hole && strings.Contains(text, hole)}
	if text != "" {
		r.path(&v, Both, !looksLikePath(text), at)
	}
}

// looksLikePath tells a path from any other word by its shape.
func looksLikePath(text string) bool {
	return text[0] == '.' || text[0] == '~' || strings.IndexByte(text, '/') >= 0 || strings.Contains(text, "..") ||
		strings.HasPrefix(text, "$HOME") || strings.HasPrefix(text, "$PWD")
}

// path adds a path. One whose start is computed is not worked out, and counts by
// the rest of its name; where the text sets HOME or PWD, also as without that.
func (r *reader) path(w *word, access Access, bare bool, at place) {
	text, known := r.expandHome(w)
	if text == "" {
		return
	}
	if w.plain != "" {
		r.path(&word{text: w.plain}, access, bare, at)
	}
	p := Path{Text: text, Access: access, Bare: bare, Hole: w.hole, DenyOnly: r.crudely}
	if known || text != w.text {
		r.addPath(p, at)
	}
	if !known && w.text[0] != hole[0] {
		start, rest := hole, w.text
		if slash := strings.IndexByte(rest, '/'); slash >= 0 {
			rest = rest[slash:]
		}
		if w.text[0] == '~' {
			start = "/" + hole // somebody's home
		}
		p.Text, p.Hole = start+rest, true
		r.addPath(p, at)
	}
}

func (r *reader) addPath(p Path, at place) {
	if p.Text[0] != '/' {
		p.Bases = at.dirs
	}
	if p.Bare && p.Hole {
		return // a computed word that looks like none
	}
	for i := range r.paths {
		if q := &r.paths[i]; i < 64 && q.Text == p.Text && q.Access == p.Access && q.Bare == p.Bare && q.DenyOnly == p.DenyOnly &&
			same(place{q.Bases}, place{p.Bases}) {
			return
		}
	}
	r.paths = append(r.paths, p)
}
