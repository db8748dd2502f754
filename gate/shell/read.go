package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Read takes a command's text apart. It always returns: what cannot be read is a
// unit with a floor. The same text and Env give the same Command.
func Read(text string, env Env) Command {
	cmd := Command{Text: text}
	if len(text) > MaxText {
		cmd.Units = []Unit{unread(text)}
		return cmd
	}
	r := reader{text: text, env: env}
	if !r.all() {
		r = reader{text: text, env: env, units: []Unit{unread(text)}}
		r.crude(text, r.start())
	}
	cmd.Units, cmd.Paths = r.units, r.paths
	return cmd
}

// unread is a text as one unit that has to be asked about.
func unread(text string) Unit {
	return Unit{Text: text, Source: text, Form: text, Floor: Unparsed}
}

// all reads the whole text. A mistake of the parser's own is reported as false.
func (r *reader) all() (ok bool) {
	defer func() { ok = recover() == nil }()
	stmts, rest, whole := parse(r.text)
	r.survey(stmts)
	r.evaluates(stmts)
	if !whole {
		r.add(unread(r.text))
	}
	end := r.list(stmts, r.start())
	if !whole {
		r.crude(r.text[rest:], end.any)
	}
	if at := commentEnd(r.text); at > 0 {
		r.odd = true
		r.crude(r.text[at:], lost())
	}
	if r.odd || controls(r.text) || subscript(r.text) {
		r.raise(0, Subtree)
		if !r.judged() { // x=${y@P} is no command, and runs one
			r.add(Unit{Text: r.text, Source: r.text, Form: r.text, Floor: Subtree})
		}
	}
	return true
}

// judged reports whether there is a unit of which more counts than that it is denied.
func (r *reader) judged() bool {
	for i := range r.units {
		if !r.units[i].DenyOnly {
			return true
		}
	}
	return false
}

// reader is the state of one Read.
type reader struct {
	text  string
	env   Env
	units []Unit
	paths []Path
	inner int // wrappers and texts inside each other

	setsHome, setsPwd bool // somewhere in the text
	hasFunc, hasCd    bool
	odd               bool // shells may differ about the text
	denyOnly          bool // what is read is run by a wrapper
	crudely           bool // what is read is no text that the parser reads
	seen              map[string]struct{}
	done              map[syntax.Node]struct{} // what stands in words is read once: nested it would be twice at each depth
}

// add appends a unit unless the same one is there.
func (r *reader) add(u Unit) {
	u.DenyOnly = u.DenyOnly || r.denyOnly
	if len(r.units) < 8 {
		for i := range r.units {
			if r.units[i] == u {
				return
			}
		}
	} else {
		if r.seen == nil {
			r.seen = make(map[string]struct{}, 64)
			for i := range r.units {
				r.seen[r.units[i].key()] = struct{}{}
			}
		}
		key := u.key()
		if _, ok := r.seen[key]; ok {
			return
		}
		r.seen[key] = struct{}{}
	}
	r.units = append(r.units, u)
}

func (u *Unit) key() string {
	only := "a"
	if u.DenyOnly {
		only = "d"
	}
	return only + string(u.Floor) + "\x00" + u.Text + "\x00" + u.Source + "\x00" + u.Form
}

// raise gives the units from the one at index on a floor, unless they have one.
func (r *reader) raise(from int, f Floor) {
	for i := from; i < len(r.units); i++ {
		if r.units[i].Floor == None && !r.units[i].DenyOnly {
			r.units[i].Floor = f
		}
	}
}

// survey looks for what changes the meaning of the rest of the text, wherever it
// stands: the variables that path words use, functions, and changes of folder.
func (r *reader) survey(stmts []*syntax.Stmt) {
	if !strings.Contains(r.text, "HOME") && !strings.Contains(r.text, "PWD") && !strings.Contains(r.text, "(") &&
		!strings.Contains(r.text, "function") {
		return
	}
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.FuncDecl:
				r.hasFunc = true
			case *syntax.Assign:
				if n.Name != nil {
					r.sets(n.Name.Value)
				}
			case *syntax.WordIter:
				r.sets(n.Name.Value)
			case *syntax.ParamExp:
				if assigns(n) && n.Param != nil {
					r.sets(n.Param.Value)
				}
			case *syntax.CallExpr:
				r.surveyCall(n)
			}
			return true
		})
	}
}

func (r *reader) sets(name string) {
	r.setsHome = r.setsHome || name == "HOME"
	r.setsPwd = r.setsPwd || name == "PWD"
}

// surveyCall treats a call that may set a variable as one that does.
func (r *reader) surveyCall(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	switch n.Args[0].Lit() {
	case "cd", "pushd", "popd":
		r.hasCd = true
	case "eval", "source", ".", "trap":
		r.setsHome, r.setsPwd = true, true
	case "read", "printf", "unset", "mapfile", "readarray", "getopts", "declare", "typeset", "local":
		for _, a := range n.Args[1:] {
			lit := a.Lit()
			name, _, _ := strings.Cut(lit, "=")
			r.sets(name)
			if lit == "" { // computed: may be any name
				r.setsHome, r.setsPwd = true, true
			}
		}
	}
}
