package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call reads a simple command.
func (r *reader) call(c *syntax.CallExpr, at place) after {
	start := int(c.Pos().Offset()) //nolint:gosec // below MaxText
	var floor Floor
	for _, a := range c.Assigns {
		r.words(a, at)
		if a.Name != nil && risky(a.Name.Value) {
			floor = Assignment
		}
		r.assignPath(a, at)
	}
	if len(c.Args) == 0 { // sets variables of this shell, runs nothing
		if floor != None {
			end := int(c.End().Offset()) //nolint:gosec // below MaxText
			text := r.slice(start, end)
			r.add(Unit{Text: text, Source: text, Form: text, Floor: floor})
		}
		return stay(at)
	}
	words := make([]word, len(c.Args))
	for i, w := range c.Args {
		words[i] = r.read(w, at)
	}
	end := words[len(words)-1].end
	u := Unit{Text: r.slice(start, end), Source: r.slice(words[0].start, end)}
	if len(c.Assigns) == 0 {
		u.Text = u.Source
	}
	r.simple(u, words, floor, false, at)
	switch words[0].text {
	case "cd", "pushd", "popd":
		return r.cd(words, at)
	}
	return stay(at)
}

// simple adds the unit of a command's words, and what it runs in turn. The words
// of a nested one are read for paths already.
func (r *reader) simple(u Unit, words []word, floor Floor, nested bool, at place) {
	u.Form = form(words)
	if name := words[0].text; strings.IndexByte(name, '/') >= 0 {
		last := name[strings.LastIndexByte(name, '/')+1:]
		if !strings.Contains(last, hole) { // ../b*n/x is x, wherever it is
			u.Base = last + u.Form[len(name):]
		}
		if !words[0].hole {
			u.Path = name
			if full, ok := r.expandHome(&words[0]); ok {
				u.Path = full
			}
		}
	}
	if at := gitVerb(words); at > 1 {
		u.Base = strings.TrimSuffix("git "+form(words[at:]), " ")
	}
	v := look(words)
	if u.Floor = floor; u.Floor == None {
		u.Floor = v.floor
	}
	r.add(u)
	if !nested {
		r.tokens(words, at)
	}
	r.runs(v, at)
}

// runs reads what a wrapper runs: only that it is denied counts, since the
// wrapper is asked about anyway.
func (r *reader) runs(v verdict, at place) {
	if r.inner >= maxInner || len(v.inner) == 0 && v.code == "" {
		return
	}
	was := r.denyOnly
	r.denyOnly = true
	r.inner++
	if len(v.inner) > 0 && v.inner[0].text != "" {
		src := r.slice(v.inner[0].start, v.inner[len(v.inner)-1].end)
		r.simple(Unit{Text: src, Source: src}, v.inner, None, true, at)
	}
	if v.code != "" && len(v.code) <= maxCode {
		sub := reader{text: v.code, env: r.env, inner: r.inner, denyOnly: true, paths: r.paths}
		stmts, rest, ok := parse(v.code)
		sub.survey(stmts)
		end := sub.list(stmts, at)
		if !ok {
			sub.crude(v.code[rest:], end.any)
		}
		for _, u := range sub.units {
			u.Floor = None
			r.add(u)
		}
		r.paths = sub.paths
	}
	r.denyOnly = was
	r.inner--
}

const (
	maxInner = 4       // wrappers inside each other that are looked into
	maxCode  = 8 << 10 // bytes of text that a wrapper runs
)

// declare reads export, declare and the like.
func (r *reader) declare(c *syntax.DeclClause, unit int, at place) {
	for _, a := range c.Args {
		r.words(a, at)
		r.assignPath(a, at)
		name := ""
		if a.Name != nil {
			name = a.Name.Value
		} else if a.Value != nil {
			w := r.read(a.Value, at)
			name, _, _ = strings.Cut(w.text, "=")
			if w.hole || strings.HasPrefix(name, "-") && strings.Contains(name, "n") {
				r.raise(unit, Assignment) // a computed name, or another name for a variable
			}
		}
		if risky(name) {
			r.raise(unit, Assignment)
		}
	}
}
