package gate

import (
	"fmt"
	"slices"

	"brainbox/gate/confirm"
	"brainbox/gate/permit"
	"brainbox/gate/rule"
)

// Policy is what the operator wrote, as data. The zero Policy allows nothing by itself:
// every tool is asked about.
type Policy struct {
	Rules   rule.Config
	Confirm confirm.Config
	Tools   []string // the names of allowed tools; any other one is asked about
	AnyTool bool     // there is no such list
	Shell   string   // the runtime's name of its shell tool; empty: bash
	Update  string   // of its tool that updates documents; empty: it has none

	// PlainKeys is that of a [permit.Edit].
	PlainKeys bool
}

// Compiled is a policy that can be asked. It does not change and may be shared.
type Compiled struct {
	set     *rule.Set
	permit  permit.Rules
	anyTool bool
	plain   bool
	scopes  []rule.Scope
	roots   []string
}

// Compile compiles a policy. What is wrong in a scope that can only tighten, and a
// pattern that is none beside others, are notices; anything else that is wrong is the
// error, and there is no policy.
func Compile(p Policy) (*Compiled, []rule.Notice, error) {
	set, notices, err := rule.Compile(p.Rules)
	if err != nil {
		return nil, nil, err
	}
	patterns, err := confirm.Compile(p.Confirm, func(i confirm.Issue) {
		notices = append(notices, rule.Notice{Scope: "confirm", Text: i.String()})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("gate: %w", err)
	}
	shell := p.Shell
	if shell == "" {
		shell = rule.Bash
	}
	return &Compiled{
		set: set, anyTool: p.AnyTool, plain: p.PlainKeys,
		permit: permit.Rules{Allowed: slices.Clone(p.Tools), Shell: shell, Update: p.Update, Patterns: patterns},
		scopes: slices.Clone(p.Rules.Scopes), roots: slices.Clone(p.Rules.Roots),
	}, notices, nil
}

// permits are the rules of single uses for one call: whatever runs a command is a shell.
func (p *Compiled) permits(c *Call) permit.Rules {
	r := p.permit
	if c.Surface == rule.Bash {
		r.Shell = c.Tool
	}
	return r
}

// state is a policy while it holds.
type state struct {
	*Compiled
	clamp string // why all that it allows is asked about; empty: it is not
}
