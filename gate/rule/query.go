package rule

import (
	"errors"
	"slices"

	"brainbox/gate/action"
	"brainbox/gate/shell"
)

// Access is what is done to a path; the zero Access is both.
type Access = shell.Access

// Resolver tells what a path is in truth. It may look at the file system; nothing
// else here does.
type Resolver interface {
	// Resolve takes an absolute path, as it was written: ".." in it is where the
	// kernel goes, after the links before it. It follows all links that exist, also
	// if the entry itself does not, and returns a clean absolute path. exists is
	// about the entry. An error means that it cannot be told; the path then counts
	// as outside.
	Resolve(path string) (real string, exists bool, err error)
}

// Query is a call to be judged. The strings are what the tool will use.
type Query struct {
	Surface string // a built-in surface, or the name of a tool
	Value   string // the command, the path, the skill, "server:tool"

	// Targets are the paths that the call names. Without any, the value of a
	// surface whose calls take a path is the target.
	Targets []Target

	Dir     string // absolute and clean: where relative paths start; empty: not known
	Agent   string // bound to the connection
	Claimed string // what the request calls itself; it can only tighten

	// Resolver may be nil: paths are then taken as they are spelled, with ".." taken
	// off as text, and every word of a command that could be a path counts as one.
	Resolver Resolver
}

// Target is one path of a call.
type Target struct {
	Path   string // literal: nothing in it expands
	Access Access
	Base   string // absolute; empty: the query's Dir
}

// Layer says which part of the evaluation an answer comes from.
type Layer uint8

// The layers. Judge is for answers that a judge of protected names adds.
const (
	Tool     Layer = iota // the surface of the call itself
	Path                  // path_read, path_write
	External              // external_directory_read, external_directory_write
	Judge
)

// Answer is what one layer says about one part of a call. The zero Answer denies.
type Answer struct {
	Layer   Layer
	Surface string
	Value   string // what was judged: a command, a path
	Action  action.Action
	Pattern string // of the rule that decided; empty: the default
	Origin  Origin
	Reason  string // as the operator wrote it
	Where   string // place of the rule

	// Floor says why the question is asked even if Action is Allow. The pattern
	// shown is then the floor, if no rule asks.
	Floor shell.Floor

	// Row is the name of the protected row that a Judge answer is about.
	Row string

	subject *subject
}

// Errors of [Set.Check].
var (
	ErrNoSurface      = errors.New("rule: surface is required")     // field_invalid
	ErrUnknownSurface = errors.New("rule: no surface of this name") // surface_unknown
)

// Known reports whether a name is a built-in surface or a declared tool.
func (s *Set) Known(surface string) bool {
	return slices.Contains(builtinSurfaces, surface) || slices.Contains(s.tools, surface)
}

// Check answers what a call would be met with, without approvals and without a
// question: the strictest answer. A surface that is not known is an error here,
// and asked about in [Set.Evaluate].
func (s *Set) Check(q Query) (Answer, error) {
	if q.Surface == "" {
		return Answer{}, ErrNoSurface
	}
	if !s.Known(q.Surface) {
		return Answer{}, ErrUnknownSurface
	}
	d := Fold(s.Evaluate(q), Inputs{})
	a := d.Answer
	a.Pattern, a.Action = a.Shown(), d.Action
	return a, nil
}

// Shown is the pattern to show for an answer: the rule's, or the floor where that
// is what asks.
func (a *Answer) Shown() string {
	if a.Floor != shell.None && a.Action == action.Allow {
		return string(a.Floor)
	}
	return a.Pattern
}

// Evaluate returns the answers of all layers for a call: of its surface, of the
// path family and of the external family for every path, of every command in a
// text. It is pure but for the resolver. There is at least one answer.
func (s *Set) Evaluate(q Query) []Answer {
	v := s.views(q.Agent, q.Claimed)
	e := evaluation{set: s, q: &q, views: &v, out: make([]Answer, 0, 6)}
	access, takesPath := direction(q.Surface)
	switch {
	case q.Surface == Bash:
		e.bash()
	case q.Surface == PathRead || q.Surface == PathWrite || q.Surface == ExternalRead || q.Surface == ExternalWrite:
		e.family(q.Surface)
		for _, t := range q.Targets {
			if t.Path != q.Value || t.Base != "" { // the value is asked about by one surface
				e.target(t, false)
			}
		}
	case len(q.Targets) == 0 && takesPath && q.Value != "":
		e.target(Target{Path: q.Value, Access: access}, true)
	case len(q.Targets) == 0 || !takesPath:
		sub := single(q.Value)
		e.add(Tool, q.Surface, q.Value, &sub, s.judge(q.Surface, &sub, e.views, true))
		fallthrough
	default:
		for _, t := range q.Targets {
			e.target(t, takesPath)
		}
	}
	return e.out
}

// direction of a surface whose calls take a path.
func direction(surface string) (Access, bool) {
	switch surface {
	case "read", "grep", "find", "ls":
		return shell.ReadOnly, true
	case "write":
		return shell.WriteOnly, true
	case "edit":
		return shell.Both, true
	}
	return shell.Both, false
}

// evaluation is the state of one Evaluate.
type evaluation struct {
	set   *Set
	q     *Query
	views *views
	out   []Answer
}

// add makes an answer of a hit. Nothing is added where nothing is said.
func (e *evaluation) add(layer Layer, surface, value string, sub *subject, h hit) *Answer {
	if h.none && h.denied == nil {
		return nil
	}
	kept := *sub // most subjects get no answer, and stay on the stack
	a := Answer{Layer: layer, Surface: surface, Value: value, Action: h.act, subject: &kept, Origin: OriginBuiltin}
	if h.none {
		a.Action = action.Allow
	}
	if h.entry != nil {
		a.fill(e.set, h.entry)
	}
	if h.denied != nil {
		a.Floor = shell.Unresolved
		a.Reason = h.denied.rule.Reason
	}
	if e.set.clamped != "" && a.Action == action.Allow {
		a.Action, a.Origin, a.Reason = action.Ask, OriginFailClosed, e.set.clamped
	}
	e.out = append(e.out, a)
	return &e.out[len(e.out)-1]
}

func (a *Answer) fill(s *Set, e *entry) {
	a.Pattern, a.Reason, a.Where = e.rule.Pattern, e.rule.Reason, e.rule.Where
	a.Origin = s.scopes[e.scope].Kind.origin()
}

// empty is the answer for a text that runs nothing.
func (e *evaluation) empty() {
	e.out = append(e.out, Answer{
		Surface: e.q.Surface, Value: e.q.Value, Action: action.Allow, Origin: OriginBuiltin, Reason: "nothing to judge",
	})
}
