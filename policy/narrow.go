package policy

import (
	"maps"
	"slices"
	"strconv"
)

// Narrow returns p as a project file leaves it: never wider. p is not changed.
// The error is an *Error with the line of the project file.
func Narrow(p *Policy, project *Layer, in Input) (*Policy, error) {
	if project.Kind != KindProject {
		return nil, &Error{Source: Source{Kind: project.Kind, Name: project.Name}, Msg: "not a project file"}
	}
	m := &merger{in: in, out: &Policy{}}
	if err := m.apply(project, reach{}, nil); err != nil {
		return nil, err
	}
	m.collapse()
	own := m.out
	n := &narrower{in: in, out: clone(p), own: own, empty: project.empty}
	base := len(n.out.Sources)
	n.out.Sources = append(n.out.Sources, own.Sources...)
	own.eachSource(func(i *int) { *i += base })
	own.Sources = n.out.Sources
	for _, step := range []func() error{n.grants, n.network, n.env, n.process, n.sandbox, n.gate} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	n.out.compact()
	return n.out, nil
}

// narrower has the operator's policy in out, which it changes, and the project's
// in own; both index the same sources.
type narrower struct {
	in       Input
	out, own *Policy
	empty    []string // the project's empty lists: nothing of the operator's is left
}

func (n *narrower) note(text string) { n.out.Notes = append(n.out.Notes, text) }

func (n *narrower) fail(src int, key, msg, hint string) error {
	return &Error{Source: n.out.Sources[src], Key: key, Msg: msg, Hint: hint}
}

// clone copies every list that a merge or a narrowing may change.
func clone(p *Policy) *Policy {
	c := *p
	c.Sources = slices.Clone(p.Sources)
	c.Grants = slices.Clone(p.Grants)
	c.Notes = slices.Clone(p.Notes)
	c.Optional = slices.Clone(p.Optional)
	c.Network.ConnectTCP = slices.Clone(p.Network.ConnectTCP)
	c.Network.BindTCP = slices.Clone(p.Network.BindTCP)
	c.Network.Publish = slices.Clone(p.Network.Publish)
	c.Network.AllowHosts = slices.Clone(p.Network.AllowHosts)
	c.Network.Unix = slices.Clone(p.Network.Unix)
	c.Env.Allow = slices.Clone(p.Env.Allow)
	c.Env.Set = slices.Clone(p.Env.Set)
	c.Env.Files = slices.Clone(p.Env.Files)
	c.Env.CABundle = clonePath(p.Env.CABundle)
	c.Sandbox.Degraded = slices.Clone(p.Sandbox.Degraded)
	c.Sandbox.AllowProtected = slices.Clone(p.Sandbox.AllowProtected)
	c.Sandbox.Callers = slices.Clone(p.Sandbox.Callers)
	c.Sandbox.Cwd = clonePath(p.Sandbox.Cwd)
	c.Sandbox.TmpRoot = clonePath(p.Sandbox.TmpRoot)
	c.Gate.AllowedTools = slices.Clone(p.Gate.AllowedTools)
	c.Gate.Confirm = slices.Clone(p.Gate.Confirm)
	c.Gate.ConfirmMore = slices.Clone(p.Gate.ConfirmMore)
	c.Gate.Rules = slices.Clone(p.Gate.Rules)
	c.Bridge.Envelope = clonePath(p.Bridge.Envelope)
	c.Bridge.Roots = maps.Clone(p.Bridge.Roots)
	return &c
}

func clonePath(p *Path) *Path {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

func rootNames(roots map[string]Path) []string {
	return slices.Sorted(maps.Keys(roots))
}

// sandbox narrows what of [sandbox] a project may name.
func (n *narrower) sandbox() error {
	own, out := &n.own.Sandbox, &n.out.Sandbox
	if own.Isolation.Set {
		have := out.Isolation.V
		if have == "" {
			have = "auto"
		}
		switch own.Isolation.V {
		case have:
		case "namespaces":
			out.Isolation = own.Isolation
		default:
			return n.fail(own.Isolation.Source, "sandbox.isolation",
				"a project file may change the isolation towards namespaces only, not from "+
					strconv.Quote(have)+" to "+strconv.Quote(own.Isolation.V), `isolation = "namespaces"`)
		}
	}
	if err := n.flag("sandbox.git_config", own.GitConfig, &out.GitConfig); err != nil {
		return err
	}
	return n.flag("sandbox.keep_created", own.KeepCreated, &out.KeepCreated)
}

// flag takes a switch back; it never sets one.
func (n *narrower) flag(key string, own Value[bool], out *Value[bool]) error {
	if !own.Set || own.V == out.V {
		return nil
	}
	if own.V {
		return n.fail(own.Source, key, "a project file may not set "+key, "a project file can only narrow")
	}
	*out = own
	return nil
}

// gate adds what the project wants asked or refused. Its rules are a layer of
// their own, see Rule.Tighten.
func (n *narrower) gate() error {
	n.out.Gate.ConfirmMore = unique(append(n.out.Gate.ConfirmMore, n.own.Gate.ConfirmMore...))
	for _, r := range n.own.Gate.Rules {
		if r.Action == "allow" {
			return n.fail(r.Source, "gate.rule", "a project file may not allow", `"ask" or "deny"`)
		}
		r.Tighten = true
		n.out.Gate.Rules = append(n.out.Gate.Rules, r)
	}
	return nil
}
