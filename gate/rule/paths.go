package rule

import (
	"path"
	"slices"
	"strings"

	"brainbox/gate/action"
	"brainbox/gate/shell"
)

// devices are files that are outside of every workspace and no boundary.
func device(name string) bool {
	switch name {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	return false
}

// located is a path under all its names.
type located struct {
	sub     subject // as spelled, and as resolved if that is another path
	ext     subject // for the external family; empty: inside
	value   string  // what answers show: the resolved path where it is known
	exists  bool
	outside bool
}

// locate finds the names of a path relative to a base, which may be unknown.
func (e *evaluation) locate(text, base string) located {
	abs := text
	if !path.IsAbs(abs) {
		if base == "" {
			return e.adrift(text)
		}
		abs = base + "/" + text
	}
	written := abs
	abs = path.Clean(abs)
	spelled := e.names(text, abs)
	loc := located{exists: true}
	loc.sub.add(spelled)
	real, exists, known := abs, true, true
	if r := e.q.Resolver; r != nil {
		var err error
		if real, exists, err = r.Resolve(written); err != nil || !path.IsAbs(real) {
			real, exists, known = abs, true, false
		}
	}
	loc.exists, loc.value = exists, real
	if real != abs {
		loc.sub.add(e.names("", real))
	}
	if device(abs) {
		return loc
	}
	if loc.outside = !known || e.set.outside(real); loc.outside {
		var g group
		g.add(real)
		loc.ext.add(g)
		if real != abs && e.set.outside(abs) {
			g = group{}
			g.add(abs)
			loc.ext.add(g)
		}
	}
	return loc
}

// adrift is a relative path whose base is not known: it counts by its spelling,
// and is outside if it climbs.
func (e *evaluation) adrift(text string) located {
	loc := located{sub: single(text), exists: true, value: text}
	if climbs(text) {
		loc.outside, loc.ext = true, single(text)
	}
	return loc
}

// climbs reports whether a path has a part "..".
func climbs(text string) bool {
	return text == ".." || strings.HasPrefix(text, "../") || strings.HasSuffix(text, "/..") || strings.Contains(text, "/../")
}

// names are the spellings of one absolute path: as written, absolute, relative to
// the working directory and to the workspace.
func (e *evaluation) names(text, abs string) group {
	var g group
	g.add(abs)
	if rest, ok := below(abs, e.q.Dir); ok {
		g.add(rest)
	}
	for _, root := range e.set.roots {
		if rest, ok := below(abs, root); ok {
			g.add(rest)
			break
		}
	}
	g.add(text)
	return g
}

// below returns the rest of a path under a folder.
func below(abs, dir string) (string, bool) {
	if dir == "" || !strings.HasPrefix(abs, dir) {
		return "", false
	}
	if dir == "/" {
		return abs[1:], len(abs) > 1
	}
	if len(abs) > len(dir)+1 && abs[len(dir)] == '/' {
		return abs[len(dir)+1:], true
	}
	return "", false
}

// outside reports whether a resolved path is in no workspace root.
func (s *Set) outside(real string) bool {
	for _, root := range s.roots {
		if real == root {
			return false
		}
		if _, ok := below(real, root); ok {
			return false
		}
	}
	return true
}

// target judges a path of a call: on the call's own surface if that takes paths,
// and in both families.
func (e *evaluation) target(t Target, own bool) {
	base := t.Base
	if base == "" {
		base = e.q.Dir
	}
	loc := e.locate(t.Path, base)
	if own {
		e.add(Tool, e.q.Surface, loc.value, &loc.sub, e.set.judge(e.q.Surface, &loc.sub, e.views, true))
	}
	e.families(&loc, t.Access)
}

// families asks the path and external families in the directions of an access.
func (e *evaluation) families(loc *located, access Access) {
	for _, d := range [...]struct {
		on             bool
		path, external string
	}{{access.Reads(), PathRead, ExternalRead}, {access.Writes(), PathWrite, ExternalWrite}} {
		if !d.on {
			continue
		}
		e.add(Path, d.path, loc.value, &loc.sub, e.set.judge(d.path, &loc.sub, e.views, false))
		if loc.outside {
			e.add(External, d.external, loc.value, &loc.ext, e.set.judge(d.external, &loc.ext, e.views, true))
		}
	}
}

// family answers for one surface of a family that is asked by its name.
func (e *evaluation) family(surface string) {
	loc := e.locate(e.q.Value, e.q.Dir)
	if surface == PathRead || surface == PathWrite {
		e.add(Path, surface, loc.value, &loc.sub, e.set.judge(surface, &loc.sub, e.views, false))
	} else if loc.outside {
		e.add(External, surface, loc.value, &loc.ext, e.set.judge(surface, &loc.ext, e.views, true))
	}
	if len(e.out) == 0 {
		e.empty()
	}
}

// word judges a path that a command names.
func (e *evaluation) word(p *shell.Path) {
	if from := len(e.out); p.DenyOnly {
		defer func() {
			e.out = append(e.out[:from], slices.DeleteFunc(slices.Clone(e.out[from:]), func(a Answer) bool { return a.Action != action.Deny })...)
		}()
	}
	if p.Hole {
		e.holed(p)
		return
	}
	bases := p.Bases
	if len(bases) == 0 || path.IsAbs(p.Text) {
		bases = []string{""}
	}
	for _, base := range bases {
		loc := e.locate(p.Text, base)
		if p.Bare && !loc.exists {
			continue
		}
		if p.Bare { // any file has some name: only a rule about this one counts
			for i := range loc.sub.n {
				loc.sub.groups[i].only = true
			}
		}
		e.families(&loc, p.Access)
	}
}

// holed judges a path of which a part is computed: rules that match whatever it
// is count, and the folder before the hole tells whether it is outside.
func (e *evaluation) holed(p *shell.Path) {
	g := group{form: true, only: true}
	g.add(p.Text)
	known, rest, _ := strings.Cut(p.Text, hole)
	shown := strings.ReplaceAll(p.Text, hole, "…")
	if slash := strings.LastIndexByte(known, '/'); slash >= 0 {
		known = known[:slash+1]
	} else {
		known = "."
	}
	var loc located
	bases := p.Bases
	if len(bases) == 0 || path.IsAbs(p.Text) {
		bases = []string{""}
	}
	for _, base := range bases {
		if p.Text[0] == hole[0] || base == "" && !path.IsAbs(known) {
			if climbs("/" + rest) { // nothing is known of where it starts, but that it leaves there
				loc.outside, loc.ext = true, single(shown)
			}
			continue
		}
		at := e.locate(known, base)
		if at.outside || climbs("/"+rest) {
			var ext group
			ext.add(path.Join(at.sub.groups[0].alias[0], strings.TrimPrefix(shown, known)))
			loc.outside = true
			loc.ext.add(ext)
		}
		abs := at.sub.groups[at.sub.n-1].alias[0]
		if abs != "/" {
			abs += "/"
		}
		g.add(abs + p.Text[min(len(known), len(p.Text)):])
	}
	loc.sub.add(g)
	loc.value = shown
	e.families(&loc, p.Access)
}
