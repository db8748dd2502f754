package files

import (
	"context"
	"path"
	"slices"
	"strings"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/action"
	"brainbox/gate/rule"
	"brainbox/gate/shell"
)

// Rules say what a path would meet, and ask nobody: a *gate.Gate.
type Rules interface {
	Explain(ctx context.Context, c gate.Call) (rule.Decision, error)
}

// SetRules has rules asked about what lies beneath a folder that a call names: a search of a
// folder reads its files, and a folder that is renamed or removed takes them along, while the
// gate decides about the folder alone. Agent is what calls are made as. Without rules no folder is
// searched, renamed or removed with what is in it. It is called before the first call.
func (rs *Roots) SetRules(rules Rules, agent string) { rs.given, rs.agent = rules, agent }

// Bounds of the look at a folder before it is renamed or removed.
var treeLimits = dirchain.WalkLimits{Time: 2 * searchTime}

// inner judges paths beneath one that was decided about.
type inner struct {
	rs      *Roots
	surface string
	access  shell.Access
	entry   bool
	asked   []rule.Answer // what the decision was asked about
}

// inner makes the judge for what is beneath at, which is absolute.
func (rs *Roots) inner(ctx context.Context, surface string, a shell.Access, at string) (*inner, error) {
	if rs.given == nil {
		return nil, unknown()
	}
	in := &inner{rs: rs, surface: surface, access: a, entry: surface == "write"}
	d, err := in.explain(ctx, at)
	if err != nil || d.Action == action.Deny { // since it was decided
		return nil, unknown()
	}
	in.asked = d.Asks
	return in, nil
}

func unknown() *tool.Refusal {
	return &tool.Refusal{Status: "denied", Code: "policy_denied", Message: "what the rules say of the folder's contents is not known"}
}

func (in *inner) explain(ctx context.Context, at string) (rule.Decision, error) {
	return in.rs.given.Explain(ctx, gate.Call{
		Surface: in.surface, Agent: in.rs.agent, Cwd: in.rs.Dir(),
		Reading: gate.Reading{Value: at, Targets: []gate.Target{{Path: at, Access: in.access, Canonical: in.entry}}},
	})
}

// allows: no rule denies the path, and what asks about it has asked about the call.
func (in *inner) allows(ctx context.Context, at string) bool {
	d, err := in.explain(ctx, at)
	switch {
	case err != nil:
		return false
	case d.Action == action.Allow:
		return true
	case d.Action != action.Ask:
		return false
	}
	return !slices.ContainsFunc(d.Asks, func(a rule.Answer) bool {
		return !slices.ContainsFunc(in.asked, func(b rule.Answer) bool {
			return a.Layer == b.Layer && a.Surface == b.Surface && a.Pattern == b.Pattern && a.Where == b.Where && a.Row == b.Row
		})
	})
}

// side is one end of a change of a folder.
type side struct {
	*inner
	rel string
}

// side makes the judge of one end.
func (rs *Roots) side(ctx context.Context, r *root, rel string, a shell.Access) (side, error) {
	in, err := rs.inner(ctx, "write", a, path.Join(r.at, rel))
	return side{in, rel}, err
}

// contents refuses the change of a folder when something in it may not be changed so, or cannot
// be looked at.
func (r *root) contents(ctx context.Context, rel string, sides ...side) error {
	err := r.Dir.Walk(ctx, rel, treeLimits, func(e dirchain.Entry) error {
		if e.Err != nil {
			return e.Err
		}
		for _, s := range sides {
			if !s.allows(ctx, path.Join(r.at, s.rel, strings.TrimPrefix(e.Path, rel+"/"))) {
				return refuse("policy_denied", rel, "something in it may not be changed, or is to be decided about by itself")
			}
		}
		return nil
	})
	if err != nil {
		return explain(err, rel)
	}
	return nil
}
