package gate

import (
	"context"
	"path"
	"slices"
	"strings"

	"brainbox/gate/action"
	"brainbox/gate/permit"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
)

// The layers of the gate's own, named so that no surface and no tool can be one.
const (
	toolList   = "<allowed-tools>" // the tool is not on the list
	singleUse  = "<confirm>"       // this use is confirmed, each time
	doubtful   = "<doubtful-name>" // the name of a tool or program may not be what it looks like
	writeTable = rule.PathWrite    // with a row: the place is protected
)

// judged is what all layers say about a call, and the places that it writes to.
type judged struct {
	answers  []rule.Answer
	held     []*protect.Held // one for each target
	judgment protect.Judgment
	enforced bool // the list of tools is a boundary
	person   bool // nothing but a person's answer settles it
}

// let lets go of all places. A second call has no effect.
func (j *judged) let() {
	j.judgment.Close()
	for _, h := range j.held {
		h.Close()
	}
}

// judge has every layer answer. With a reason the call cannot be judged, and is denied.
func (g *Gate) judge(ctx context.Context, st *state, c *Call) (j judged, why string) {
	done := false
	defer func() {
		if !done {
			j.let()
		}
	}()
	j.enforced = c.Posture.EnforceAllowedTools
	if why = g.protect(ctx, c, &j); why != "" {
		return j, why
	}
	g.hold(ctx, c, &j)
	answers, ok := g.evaluate(ctx, st, c, &j)
	if !ok {
		return j, "where its paths lead could not be looked at in time"
	}
	if why = j.uses(st, c, &answers); why != "" {
		return j, why
	}
	answers = append(answers, doubts(c)...)
	if st.clamp != "" {
		for i := range answers {
			if a := &answers[i]; a.Action == action.Allow {
				a.Action, a.Origin, a.Reason = action.Ask, rule.OriginFailClosed, st.clamp
			}
		}
	}
	j.answers = append(answers, j.answers...)
	done = true
	return j, ""
}

// evaluate asks the rules. Without a resolver there is nothing to wait for.
func (g *Gate) evaluate(ctx context.Context, st *state, c *Call, j *judged) ([]rule.Answer, bool) {
	q := c.query(pin(g.c.Resolver, c, j.held))
	c.also(&q, j.held)
	if g.c.Resolver == nil {
		return st.set.Evaluate(q), true
	}
	return within(ctx, g.c.Wait, func(context.Context) []rule.Answer { return st.set.Evaluate(q) }, nil)
}

// uses adds what the list of tools and the patterns say: a tool that is not on the list
// asks for itself, and a use of any tool may have to be confirmed.
func (j *judged) uses(st *state, c *Call, answers *[]rule.Answer) (why string) {
	if c.Tool == st.permit.Shell && c.Surface != rule.Bash && !c.noTool {
		return "field_invalid: the shell tool is asked about on another surface"
	}
	r := st.permits(c)
	listed := st.anyTool || c.Tool != "" && contains(r.Allowed, c.Tool) || c.noTool
	if !listed {
		j.person = j.person || j.enforced
		*answers = append(*answers, rule.Answer{
			Surface: toolList, Value: c.Tool, Action: action.Ask, Origin: rule.OriginGlobal,
			Reason: r.Decide(c.Tool, permit.Input{}).Reason,
		})
	}
	command, use := c.command(r.Shell), ""
	if command != "" {
		var told []string // several patterns may stand for one effect
		for _, p := range r.Patterns.Matching(command) {
			use = p.Effect()
			if use == "" {
				use = "run a command that this installation wants confirmed each time"
			}
			if contains(told, use) {
				continue
			}
			told = append(told, use)
			*answers = append(*answers, rule.Answer{
				Surface: singleUse, Value: command, Action: action.Ask, Pattern: p.Source(), Origin: rule.OriginGlobal, Reason: use,
			})
		}
	}
	in, err := c.input()
	if err != nil { // of any tool: what is done is read from them by somebody else
		return "field_invalid: its arguments are not JSON that two readers read alike"
	}
	if (c.Tool == r.Shell || c.Tool == r.Update) && c.Tool != "" && len(c.Args) > 0 {
		if text, ok := in.String("command"); c.Surface == rule.Bash && (ok && text != c.Value || in.Doubtful("command")) {
			return "field_invalid: the command is not the one in its arguments"
		}
		r.Allowed, r.Shell = []string{c.Tool}, ""
		if a := r.Decide(c.Tool, in); !a.None {
			use = a.Reason
			*answers = append(*answers, rule.Answer{
				Surface: singleUse, Value: c.Tool, Action: action.Ask, Origin: rule.OriginBuiltin, Reason: use,
			})
		}
	}
	j.person = j.person || use != "" && c.Posture.NoGrantSurface
	return ""
}

// command is what confirm patterns are matched with.
func (c *Call) command(shell string) string {
	if c.Surface != rule.Bash && c.Tool != shell || strings.TrimSpace(c.Value) == "" {
		return ""
	}
	return c.Value
}

func contains(all []string, name string) bool {
	for _, s := range all {
		if s == name {
			return true
		}
	}
	return false
}

// hold holds what is only read, where that can be held: a read is decided about the place
// that it will meet, as a write is.
func (g *Gate) hold(ctx context.Context, c *Call, j *judged) {
	if g.c.Judge == nil || g.c.Judge.View() != protect.WithTarget {
		return
	}
	for i, t := range c.Targets {
		if t.Access.Writes() || t.Path == "" {
			continue
		}
		h, err := g.c.Judge.Hold(ctx, t.Path, protect.Where{Cwd: c.Cwd, Base: t.Base, Canonical: t.Canonical}, t.Canonical)
		if err != nil {
			continue // nothing is held, and the rules say what they say about the path
		}
		if j.held == nil {
			j.held = make([]*protect.Held, len(c.Targets))
		}
		j.held[i] = h
	}
}

// protect has the judge look at what is written, and holds the places.
func (g *Gate) protect(ctx context.Context, c *Call, j *judged) (why string) {
	if g.c.Unjudged || !slices.ContainsFunc(c.Targets, func(t Target) bool { return t.Access.Writes() }) {
		return ""
	}
	call := protect.Call{Cwd: c.Cwd}
	for _, t := range c.Targets {
		a := protect.Aim{Path: t.Path, Base: t.Base, Canonical: t.Canonical, Access: protect.Write}
		if !t.Access.Writes() {
			a.Access = protect.Read
		}
		call.Aims = append(call.Aims, a)
	}
	got, mine, err := g.c.Judge.Check(ctx, call)
	if err != nil {
		return err.Error()
	}
	j.judgment = got
	if !mine {
		return ""
	}
	if got.Unresolved() {
		d, _ := got.Decide(tool(c))
		j.answers = append(j.answers, rule.Answer{Layer: rule.Judge, Surface: writeTable, Value: c.Value, Action: action.Deny, Origin: rule.OriginBuiltin, Reason: d.Message})
		return ""
	}
	j.held = make([]*protect.Held, len(c.Targets))
	next := 0
	for _, each := range got.Each {
		for c.Targets[next].Path == "" || !c.Targets[next].Access.Writes() {
			next++
		}
		j.place(ctx, g.c.Judge, call.Cwd, tool(c), each, next)
		next++
	}
	return ""
}

// place keeps what is held of one target, and asks about a row that matched: by its
// canonical path, which alone an approval is for. Where that is not known there is none.
func (j *judged) place(ctx context.Context, judge *protect.Judge, cwd, tool string, each protect.Aimed, at int) {
	v := each.Verdict
	held := v.Held
	if held == nil && v.Outcome == protect.Hit && judge.View() == protect.WithTarget {
		h, err := judge.Hold(ctx, each.Path, protect.Where{Cwd: cwd, Base: each.Base, Canonical: each.Canonical}, each.Canonical)
		if err == nil {
			held = h
		}
	}
	j.held[at] = held
	d, asked := v.Decide(tool)
	if !asked {
		return
	}
	j.answers = append(j.answers, rule.Answer{
		Layer: rule.Judge, Surface: writeTable, Value: held.Path(), Action: d.Action,
		Origin: rule.OriginBuiltin, Reason: d.Message, Pattern: v.Row.Name, Row: v.Row.Name,
	})
}

func tool(c *Call) string {
	if c.Tool == "" {
		return c.Surface
	}
	return c.Tool
}

// canonical is where a target leads, as far as it is known.
func (j *judged) canonical(i int, t Target, cwd string) string {
	if i < len(j.held) && j.held[i] != nil {
		return j.held[i].Path()
	}
	base := t.Base
	if base == "" {
		base = cwd
	}
	if path.IsAbs(t.Path) || base == "" {
		return ""
	}
	return path.Join(base, t.Path)
}
