package rule

import (
	"fmt"

	"brainbox/gate/action"
)

// Rule is one rule as it was written. Its place in a list is meaning.
type Rule struct {
	Surface string
	Pattern string
	Action  action.Action
	Reason  string // shown with a denial; may be empty
	Where   string // the place it was written at, for people
}

// Kind is where a scope comes from; a later kind has the last word within a
// surface.
type Kind uint8

// The kinds of scope.
const (
	Builtin Kind = iota
	Global
	Project
	Agent
	Session
)

// Origin names on an answer where it came from.
type Origin string

// The origins of contract bridge-and-gate, section D.4.
const (
	OriginBuiltin    Origin = "builtin"
	OriginGlobal     Origin = "global"
	OriginProject    Origin = "project"
	OriginAgent      Origin = "agent"
	OriginSession    Origin = "session"
	OriginYolo       Origin = "yolo"
	OriginFailClosed Origin = "fail-closed"
)

func (k Kind) origin() Origin {
	switch k {
	case Builtin:
		return OriginBuiltin
	case Global:
		return OriginGlobal
	case Project:
		return OriginProject
	case Agent:
		return OriginAgent
	case Session:
		return OriginSession
	}
	return OriginProject
}

// Scope is the rules of one source. The zero Trusted is the safe one: the scope
// can only tighten. Built-in and global scopes are always trusted; a session's
// rules may turn ask into allow and never undo a denial.
type Scope struct {
	Kind    Kind
	Agent   string // with kind Agent: for this one only; empty for all
	Trusted bool   // by the operator's own configuration
	Rules   []Rule
	Err     error  // why the source could not be read; Rules are then ignored
	Name    string // of the source, for notices
}

// Config is what a [Set] is made of.
type Config struct {
	Scopes []Scope  // at most 14
	Homes  []string // spellings of the home folder; see wild.Options
	Roots  []string // the workspace: absolute, clean, links followed. None: every path is outside
	Tools  []string // declared tools: surfaces besides the built-in ones
}

// Notice is something that the operator should know and that stops nothing.
type Notice struct {
	Scope string
	Where string
	Text  string
}

// Error is a rule that cannot be.
type Error struct {
	Where string // where it was written
	Text  string
	Err   error // may be nil
}

func (e *Error) Error() string {
	s := "rule: " + e.Text
	if e.Where != "" {
		s = "rule: " + e.Where + ": " + e.Text
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func flaw(where, format string, args ...any) *Error {
	return &Error{Where: where, Text: fmt.Sprintf(format, args...)}
}

// Raw is one [[gate.rule]] of a policy.
type Raw struct {
	Surface, Pattern, Action string
	Tighten                  bool // of a layer that can only narrow
	Where                    string
	Reason                   string // told to whoever is denied; may be empty
}

// FromRaw makes the scopes of a policy's [[gate.rule]]: the operator's rules, and
// if there are any the rules that can only tighten.
func FromRaw(rules []Raw) ([]Scope, error) {
	scopes := []Scope{{Kind: Global, Name: "policy"}, {Kind: Project, Name: "policy, tighten"}}
	for _, r := range rules {
		a, err := action.Parse(r.Action)
		if err != nil {
			return nil, &Error{Where: r.Where, Text: "gate.rule", Err: err}
		}
		to := &scopes[0]
		if r.Tighten {
			to = &scopes[1]
		}
		to.Rules = append(to.Rules, Rule{Surface: r.Surface, Pattern: r.Pattern, Action: a, Reason: r.Reason, Where: r.Where})
	}
	if len(scopes[1].Rules) == 0 {
		scopes = scopes[:1]
	}
	return scopes, nil
}
