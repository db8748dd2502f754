package gate

import (
	"encoding/json"
	"slices"
	"strings"

	"brainbox/gate/permit"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
	"brainbox/gate/shell"
)

// Target is one path of a call.
type Target struct {
	Path   string       // exactly the text that the tool will use
	Access shell.Access // the zero value is both, and judged as a write
	Base   string       // what the tool resolves a relative path in; empty: the call's Cwd

	// Canonical: Path is resolved already, and the entry itself is meant (what is removed
	// or renamed): a link in the last place is not followed.
	Canonical bool
}

// Reading is what the arguments of a call mean.
type Reading struct {
	Value   string // the whole command, the path, the skill, "server:tool"
	Targets []Target
	Env     []string // NAME=VALUE that the call sets
	Hosts   []string
	Content []byte // SHA-256 of what is written; nil: nothing is
	Size    int64  // of what is written, in bytes
	Earlier int64  // bytes of that which came before, and are not in the arguments
	Effect  []byte // digest of the effect as whoever performs it computes it; nil: none
}

// Call is one call to be decided. The strings are what the tool will use.
type Call struct {
	ID      string // the caller's own name for it
	Surface string // what rules name it; empty: as Tool, and bash for the shell tool
	Tool    string
	Args    json.RawMessage // a JSON value; empty: none
	Reading

	// Reread tells what other arguments would mean. nil: an edit of the call is not
	// offered. It may be called while Decide runs, and never after.
	Reread func(args json.RawMessage) (Reading, error)

	Cwd     string // absolute and clean: where relative paths start; empty: not known
	Agent   string // bound to the connection
	Claimed string // what the request calls itself; it can only tighten
	Source  prompt.Source
	Posture permit.Posture // added to that of the gate

	Message string // the agent's own words
	Label   string // the agent's own words for "for this session"

	noTool bool // of Check: the question is about a surface alone
}

// mostCall bounds a call, in bytes: nobody could be asked about more.
const mostCall = 1 << 20

// surface is what rules name a call.
func (p *Compiled) surface(c *Call) string {
	switch {
	case c.Surface != "":
		return c.Surface
	case c.Tool == p.permit.Shell:
		return rule.Bash
	}
	return c.Tool
}

// snapshot is a copy that nobody else can change.
func (c Call) snapshot() Call {
	c.Args = slices.Clone(c.Args)
	c.Reading = c.Reading.snapshot()
	if c.Source == "" {
		c.Source = prompt.ToolCall
	}
	return c
}

func (r Reading) snapshot() Reading {
	r.Targets, r.Env, r.Hosts = slices.Clone(r.Targets), slices.Clone(r.Env), slices.Clone(r.Hosts)
	r.Content, r.Effect = slices.Clone(r.Content), slices.Clone(r.Effect)
	return r
}

// flaw says why a call cannot be judged at all, or is empty.
func (c *Call) flaw() string {
	n := len(c.Value) + len(c.Args) + len(c.Tool) + len(c.Surface) + len(c.Message) + len(c.Label)
	for _, t := range c.Targets {
		if strings.IndexByte(t.Path, 0) >= 0 {
			return "field_invalid: U+0000 in a path"
		}
		n += len(t.Path) + len(t.Base)
	}
	for _, list := range [...][]string{c.Env, c.Hosts} {
		for _, s := range list {
			n += len(s)
		}
	}
	switch {
	case n > mostCall:
		return "the call is larger than 1 MiB, and nobody could be shown it"
	case c.Surface == "" || strings.HasPrefix(c.Surface, "<"):
		return "field_invalid: no surface"
	case c.Posture.NoGrantSurface && !c.Posture.EnforceAllowedTools:
		return "field_invalid: noGrantSurface without enforceAllowedTools"
	}
	return ""
}

// input decodes the arguments where a single use may depend on them.
func (c *Call) input() (permit.Input, error) {
	if len(c.Args) == 0 {
		return permit.Input{}, nil
	}
	return permit.ParseInput(c.Args)
}

// query is the call for the rules.
func (c *Call) query(r rule.Resolver) rule.Query {
	q := rule.Query{Surface: c.Surface, Value: c.Value, Dir: c.Cwd, Agent: c.Agent, Claimed: c.Claimed, Resolver: r}
	if len(c.Targets) > 0 {
		q.Targets = make([]rule.Target, len(c.Targets))
		for i, t := range c.Targets {
			q.Targets[i] = rule.Target{Path: t.Path, Access: t.Access, Base: t.Base}
		}
	}
	return q
}
