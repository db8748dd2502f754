package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Where bash wants a number, or the name of a variable, it evaluates the text that it
// finds there, and that of the variables in it: with x='a[$(rm y)]', $((x)) runs rm. So a
// variable may stand there only if the text gives it nothing but numbers; one that the
// text never sets is as harmless as the environment is.

// numbers looks for variables of a text that may hold no number.
type numbers struct {
	r     *reader
	other map[string]bool // names that are given something else
	all   bool            // any name may be
	args  bool            // $1 and the like may be
}

// evaluates looks for a place where bash would evaluate what may be no number, and for
// one that sets a variable which changes how programs are found.
func (r *reader) evaluates(stmts []*syntax.Stmt) {
	if !strings.ContainsAny(r.text, "[{") && !strings.Contains(r.text, "((") && !strings.Contains(r.text, "let") &&
		!strings.Contains(r.text, "-i") {
		return
	}
	n := numbers{r: r, other: map[string]bool{}}
	for _, s := range stmts {
		syntax.Walk(s, n.sets)
	}
	for _, s := range stmts {
		syntax.Walk(s, n.uses)
	}
}

// sets notes the names that a node gives a value which may be no number.
func (n *numbers) sets(node syntax.Node) bool {
	switch x := node.(type) {
	case *syntax.FuncDecl:
		n.args = true
	case *syntax.Assign:
		if x.Name != nil && (x.Array != nil || x.Value != nil && !n.number(x.Value.Parts)) {
			n.other[x.Name.Value] = true
		}
	case *syntax.WordIter:
		for _, w := range x.Items {
			if !n.number(w.Parts) && !counts(w.Lit()) {
				n.other[x.Name.Value] = true
			}
		}
		if len(x.Items) == 0 {
			n.other[x.Name.Value] = true
		}
	case *syntax.ParamExp:
		if assigns(x) && x.Param != nil {
			n.other[x.Param.Value] = true
		}
	case *syntax.CallExpr:
		n.call(x)
	}
	return true
}

// call notes what a command may set.
func (n *numbers) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	switch c.Args[0].Lit() {
	case "set", "shift":
		n.args = true
	case "read", "printf", "mapfile", "readarray", "getopts", "command", "builtin", "declare", "typeset", "local", "export", "readonly":
		for _, a := range c.Args[1:] {
			name := strings.TrimPrefix(a.Lit(), "-v")
			n.other[name] = true
			n.all = n.all || a.Lit() == ""
		}
	}
}

// counts reports whether a word is {1..9} or the like.
func counts(s string) bool {
	body, ok := strings.CutPrefix(s, "{")
	return ok && strings.HasSuffix(body, "}") && strings.Trim(body, "0123456789.,-}") == ""
}

// number reports whether a word is a number whatever happens.
func (n *numbers) number(parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !numeral(p.Value) {
				return false
			}
		case *syntax.SglQuoted:
			if !numeral(p.Value) || p.Dollar {
				return false
			}
		case *syntax.DblQuoted:
			if !n.number(p.Parts) {
				return false
			}
		case *syntax.ArithmExp:
		case *syntax.ParamExp:
			if !p.Length && (p.Param == nil || !strings.Contains("#?$!", p.Param.Value)) {
				return false
			}
		case *syntax.CmdSubst:
			if !prints(p.Stmts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// numeral is 12, -1, 0x1f, 16#ff; and nothing.
func numeral(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return s == "" || s[0] >= '0' && s[0] <= '9' && strings.Trim(s, "0123456789abcdefABCDEFx#") == ""
}

// prints reports whether commands print numbers: seq, nproc, wc -l <file, date +%s.
func prints(stmts []*syntax.Stmt) bool {
	if len(stmts) != 1 {
		return false
	}
	c, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || len(c.Assigns) > 0 {
		return false
	}
	for _, a := range c.Args[1:] {
		switch lit := a.Lit(); c.Args[0].Lit() {
		case "seq":
			if !numeral(lit) || lit == "" {
				return false
			}
		case "wc":
			if lit != "-l" && lit != "-c" && lit != "-w" {
				return false
			}
		case "date":
			if lit != "+%s" && lit != "-u" {
				return false
			}
		}
	}
	switch c.Args[0].Lit() {
	case "seq", "wc", "date":
		return len(c.Args) > 1
	case "nproc":
		return len(c.Args) == 1
	}
	return false
}

// uses looks at one place.
func (n *numbers) uses(node syntax.Node) bool {
	switch x := node.(type) {
	case *syntax.ArithmExp:
		n.arithm(x.X)
	case *syntax.ArithmCmd:
		n.arithm(x.X)
	case *syntax.LetClause:
		for _, e := range x.Exprs {
			n.arithm(e)
		}
	case *syntax.CStyleLoop:
		n.arithm(x.Init)
		n.arithm(x.Cond)
		n.arithm(x.Post)
	case *syntax.Assign:
		n.arithm(x.Index)
	case *syntax.ArrayElem:
		n.arithm(x.Index)
	case *syntax.ParamExp:
		n.arithm(x.Index)
		if x.Slice != nil {
			n.arithm(x.Slice.Offset)
			n.arithm(x.Slice.Length)
		}
		if x.Excl && x.Names == 0 && x.Index == nil && (x.Param == nil || n.bad(x.Param.Value)) {
			n.r.odd = true // ${!x}
		}
	case *syntax.DeclClause:
		n.declares(x)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			n.test(x.X)
			n.test(x.Y)
		default:
		}
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			n.test(x.X)
		}
	}
	return true
}

// declares looks for variables that are numbers from now on: every value that they are
// given is evaluated.
func (n *numbers) declares(c *syntax.DeclClause) {
	for _, a := range c.Args {
		if a.Value == nil || a.Name != nil {
			continue
		}
		if lit := a.Value.Lit(); strings.HasPrefix(lit, "-") && strings.Contains(lit, "i") {
			for _, b := range c.Args {
				n.r.odd = n.r.odd || b.Name != nil && (n.bad(b.Name.Value) || b.Value != nil && !n.number(b.Value.Parts))
			}
		}
	}
}

func (n *numbers) test(x syntax.TestExpr) {
	if w, ok := x.(*syntax.Word); ok {
		n.word(w.Parts)
	}
}

// arithm looks at the names in an expression.
func (n *numbers) arithm(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		n.arithm(x.X)
		n.arithm(x.Y)
	case *syntax.UnaryArithm:
		n.arithm(x.X)
	case *syntax.ParenArithm:
		n.arithm(x.X)
	case *syntax.Word:
		n.word(x.Parts)
	case nil:
	default:
		n.r.odd = true
	}
}

// word looks at what is evaluated as a whole: its names, and what it is made of.
func (n *numbers) word(parts []syntax.WordPart) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			n.text(p.Value)
		case *syntax.SglQuoted:
			n.text(p.Value)
		case *syntax.DblQuoted:
			n.word(p.Parts)
		case *syntax.ParamExp:
			if !p.Length && (p.Param == nil || n.bad(p.Param.Value)) || p.Param != nil && risky(p.Param.Value) {
				n.r.odd = true
			}
			if p.Exp != nil && p.Exp.Word != nil && !n.number(p.Exp.Word.Parts) {
				n.r.odd = true
			}
			n.r.odd = n.r.odd || p.Repl != nil
		case *syntax.ArithmExp:
		case *syntax.CmdSubst:
			n.r.odd = n.r.odd || !prints(p.Stmts)
		default:
			n.r.odd = true
		}
	}
}

// text is a part of an expression that stands there: a name, a number, * or @.
func (n *numbers) text(s string) {
	if s != "@" && s != "*" && !numeral(s) {
		n.r.odd = n.r.odd || n.bad(s) || risky(s) || strings.ContainsAny(s, "$`\\")
	}
}

// bad reports whether a variable may hold something other than a number.
func (n *numbers) bad(name string) bool {
	switch {
	case name == "#" || name == "?" || name == "$" || name == "!" || name == "BASHPID" || name == "BASH_SUBSHELL":
		return false
	case name == "" || numeral(name) && name[0] != '0':
		return n.args && name != ""
	case name == "@" || name == "*":
		return n.args
	case name == "_" || name == "REPLY" || name == "MAPFILE" || name == "OPTARG" || name == "PWD" || name == "OLDPWD" || name == "DIRSTACK":
		return true
	}
	return n.all || n.other[name] || strings.HasPrefix(name, "BASH_")
}
