package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// list reads statements that run one after the other.
func (r *reader) list(stmts []*syntax.Stmt, at place) after {
	end := stay(at)
	for _, s := range stmts {
		end = r.stmt(s, end.any)
	}
	return end
}

// stmt reads one statement and tells where it leaves the shell.
func (r *reader) stmt(s *syntax.Stmt, at place) after {
	for _, red := range s.Redirs {
		r.redirect(red, at)
	}
	end := stay(at)
	if s.Cmd != nil {
		end = r.command(s.Cmd, at)
	}
	if s.Background || s.Coprocess {
		return stay(at)
	}
	if s.Negated {
		return after{end.any, end.any}
	}
	return end
}

func (r *reader) command(c syntax.Command, at place) after {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return r.call(c, at)
	case *syntax.BinaryCmd:
		return r.binary(c, at)
	}
	unit := len(r.units)
	r.add(r.whole(c))
	switch c := c.(type) {
	case *syntax.Block:
		return r.list(c.Stmts, at)
	case *syntax.Subshell:
		r.list(c.Stmts, at)
	case *syntax.IfClause:
		return r.branches(c, at)
	case *syntax.WhileClause:
		return r.loop(c.Cond, c.Do, at)
	case *syntax.ForClause:
		r.words(c.Loop, at)
		if it, ok := c.Loop.(*syntax.WordIter); ok {
			r.named(it.Items, at)
			if risky(it.Name.Value) {
				r.raise(unit, Assignment)
			}
		}
		return r.loop(nil, c.Do, at)
	case *syntax.CaseClause:
		return r.cases(c, at)
	case *syntax.FuncDecl:
		if r.hasCd {
			r.raise(unit, Subtree) // it may be called from another folder
		}
		r.stmt(c.Body, at)
	case *syntax.TimeClause:
		r.raise(unit, Indirection)
		if c.Stmt != nil {
			return r.stmt(c.Stmt, at)
		}
	case *syntax.CoprocClause:
		r.stmt(c.Stmt, at)
	case *syntax.DeclClause:
		r.declare(c, unit, at)
	case *syntax.TestClause:
		r.words(c, at)
		r.testPaths(c, at)
	case *syntax.ArithmCmd, *syntax.LetClause:
		r.words(c, at)
	default:
		r.words(c, at)
		r.raise(unit, Subtree) // of a language that is not bash
	}
	return stay(at)
}

// binary reads a list of && and ||, or a pipe, without descending on its left,
// which is as deep as it is long.
func (r *reader) binary(c *syntax.BinaryCmd, at place) after {
	spine := []*syntax.BinaryCmd{c}
	for {
		x, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if !ok || len(c.X.Redirs) > 0 || c.X.Background || c.X.Coprocess {
			break
		}
		c = x
		spine = append(spine, c)
	}
	end := r.stmt(c.X, at)
	for i := len(spine) - 1; i >= 0; i-- {
		b := spine[i]
		switch b.Op {
		case syntax.AndStmt:
			y := r.stmt(b.Y, end.ok)
			end = after{y.ok, join(end.any, y.any)}
		case syntax.OrStmt:
			y := r.stmt(b.Y, end.any)
			end = after{join(end.ok, y.ok), join(end.any, y.any)}
		default: // a pipe: each side in a shell of its own
			r.stmt(b.Y, at)
			end = stay(at)
		}
	}
	return end
}

func (r *reader) branches(c *syntax.IfClause, at place) after {
	out, first := after{}, true
	for ; c != nil; c = c.Else {
		cond := r.list(c.Cond, at)
		then := r.list(c.Then, cond.any)
		at = cond.any
		if first {
			out, first = then, false
			continue
		}
		out = after{join(out.ok, then.ok), join(out.any, then.any)}
	}
	out.any = join(out.any, at)
	return after{out.any, out.any}
}

// loop reads a body that may run again from where it ended, or not at all.
func (r *reader) loop(cond, body []*syntax.Stmt, at place) after {
	end := r.list(cond, at)
	end = r.list(body, end.any)
	if !same(join(at, end.any), at) {
		r.odd = true // each round is elsewhere
	}
	return stay(join(at, end.any))
}

func (r *reader) cases(c *syntax.CaseClause, at place) after {
	r.words(c.Word, at)
	out := at
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			r.words(p, at)
		}
		out = join(out, r.list(item.Stmts, out).any)
	}
	return stay(out)
}

// whole is the unit of a command with others inside it.
func (r *reader) whole(c syntax.Command) Unit {
	text := r.slice(int(c.Pos().Offset()), int(c.End().Offset())) //nolint:gosec // below MaxText
	return Unit{Text: text, Source: text, Form: text}
}

// slice is a part of the text that was read.
func (r *reader) slice(start, end int) string {
	if start < 0 || start > end || end > len(r.text) {
		r.odd = true
		return r.text
	}
	return r.text[start:end]
}

// words reads the commands inside the words of a node that are no words of a
// call: conditions, patterns, arithmetic.
func (r *reader) words(n syntax.Node, at place) {
	if n == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool { return r.inside(n, at) })
}

// inside reads a substitution that Walk meets; what it does to the folder stays
// in it.
func (r *reader) inside(n syntax.Node, at place) bool {
	switch n.(type) {
	case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ParamExp, *syntax.ExtGlob:
		if _, ok := r.done[n]; ok { // words are read for commands, and for paths
			return false
		}
		if r.done == nil {
			r.done = make(map[syntax.Node]struct{}, 4)
		}
		r.done[n] = struct{}{}
	}
	switch n := n.(type) {
	case *syntax.CmdSubst:
		r.list(n.Stmts, at)
		return false
	case *syntax.ProcSubst:
		r.list(n.Stmts, at)
		return false
	case *syntax.Stmt:
		r.stmt(n, at)
		return false
	case *syntax.ExtGlob: // of which the parser gives no more than the text
		if strings.ContainsAny(n.Pattern.Value, "$`<>") {
			r.odd = true
			r.crude(n.Pattern.Value, at)
		}
		for text := range strings.FieldsFuncSeq(unquote.Replace(n.Pattern.Value), func(c rune) bool { return strings.ContainsRune("|()", c) }) {
			r.shaped(&word{text: text}, at)
		}
	case *syntax.ParamExp:
		if n.Exp != nil && n.Exp.Word != nil && defaults(n.Exp.Op) {
			r.named([]*syntax.Word{n.Exp.Word}, at)
		}
		if assigns(n) && (n.Param == nil || risky(n.Param.Value)) || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
			r.odd = true // ${x@P} runs what is in x
		}
	}
	return true
}

// defaults reports whether an expansion may be its word: ${x:-y} and the like.
func defaults(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return true
	default:
		return false
	}
}

// assigns reports whether an expansion is ${x=y} or ${x:=y}.
func assigns(n *syntax.ParamExp) bool {
	return n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull)
}
