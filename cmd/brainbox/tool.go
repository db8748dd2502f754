package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"brainbox/internal/strictjson"
	"brainbox/internal/toolask"
	"brainbox/launcher"
	"brainbox/policy"
)

// whyTool answers what a call of a tool would be met with: allowed, denied, or unknown
// where a person would be asked. The answer is brainbox-host's.
func whyTool(c *cli.Context, tool, text string) (verdict, error) {
	place, err := launcher.Look(os.Environ())
	if err != nil {
		return verdict{}, err
	}
	p, err := resolve(c, place)
	if err != nil {
		return verdict{}, err
	}
	if !utf8.ValidString(tool + text) {
		return verdict{}, refuse("the tool or its arguments are not UTF-8", "")
	}
	if _, err := policy.ParseTool(tool); err != nil {
		return verdict{}, refuse(quote(tool)+": "+err.Error(), "brainbox why tool bash 'git push', or why tool read_file '{\"path\":\"x\"}'")
	}
	r := gateRequest(p, place)
	r.Tool, r.Text = tool, text
	reply, err := launcher.AskTool(&r)
	if err != nil {
		return verdict{}, err
	}
	if err := gateErrors(p, reply.Problems); err != nil {
		return verdict{}, err
	}
	if reply.Answer == nil {
		return verdict{}, refuse("brainbox-host gave no answer", "install it from the same build")
	}
	return toolVerdict(reply.Answer), nil
}

// toolVerdict says an answer in one line, and in a hint what else would be asked.
func toolVerdict(a *toolask.Answer) verdict {
	v := verdict{status: whyUnknown, reason: toolReason(&a.By), tool: a}
	switch a.Action {
	case "allow":
		v.status = whyAllowed
	case "deny":
		v.status = whyDenied
	case "ask":
		v.reason = "a person is asked: " + v.reason
		if n := len(a.Asks) - 1; n > 0 {
			var more []string
			for i := range a.Asks[1:min(len(a.Asks), 6)] {
				more = append(more, toolReason(&a.Asks[i+1]))
			}
			if n > len(more) {
				more = append(more, strconv.Itoa(n-len(more))+" more")
			}
			v.hint = "and about: " + strings.Join(more, "; ")
		}
	}
	return v
}

// toolReason names the rule or the layer behind an answer.
func toolReason(r *toolask.Reason) string {
	s := r.Surface
	switch {
	case r.Row != "":
		s = "write protection: " + quote(r.Row)
	case r.Floor != "" && r.Pattern == r.Floor:
		s += " " + r.Floor + " on " + quote(r.Value)
	case r.Pattern != "":
		s += " " + quote(r.Pattern) + " on " + quote(r.Value)
	case r.Value != "":
		s += ", no rule is about " + quote(r.Value)
	}
	if r.Where != "" {
		s += " (" + r.Where + ")"
	}
	if r.Text != "" {
		s += ": " + r.Text
	}
	return s
}

// gateRequest is the [gate] part of a policy for brainbox-host. The workspace is what
// [bridge] names as roots, else defaultRoot, else the current directory.
func gateRequest(p *policy.Policy, place *launcher.Place) toolask.Request {
	r := toolask.Request{
		AnyTool: len(p.Gate.AllowedTools) == 0, OtherTools: p.Bridge.Envelope != nil,
		NoConfirm: p.Gate.NoConfirm.V, AllowReads: !p.Sandbox.Identity.Set, // else the host reads as somebody else
		Dir: place.Cwd, Homes: []string{}, Roots: []string{},
	}
	for _, t := range p.Gate.AllowedTools {
		r.Tools = append(r.Tools, t.V)
	}
	for _, list := range []struct {
		from []policy.Item[policy.Confirm]
		to   *[]toolask.Pattern
	}{{p.Gate.Confirm, &r.Confirm}, {p.Gate.ConfirmMore, &r.ConfirmMore}} {
		for _, i := range list.from {
			*list.to = append(*list.to, toolask.Pattern{Pattern: i.V.Pattern, Effect: i.V.Effect})
		}
	}
	for _, x := range p.Gate.Rules {
		r.Rules = append(r.Rules, toolask.Rule{
			Surface: x.Surface, Pattern: x.Pattern, Action: x.Action, Tighten: x.Tighten, Where: placeOf(p, x.Source), Reason: x.Reason,
		})
	}
	add := func(to *[]string, dir string) {
		if dir == "" {
			return
		}
		if dir = filepath.Clean(dir); !slices.Contains(*to, dir) {
			*to = append(*to, dir)
		}
	}
	if place.Home != "" { // a user without an entry in /etc/passwd has none
		add(&r.Homes, place.Home)
		add(&r.Homes, resolvedSocket(place.Home))
	}
	for _, root := range p.Bridge.Roots {
		add(&r.Roots, resolvedSocket(root.Abs))
	}
	if len(r.Roots) == 0 {
		root := defaultRoot(p, place)
		if root == "" { // a run would be refused
			root = place.Cwd
		}
		add(&r.Roots, resolvedSocket(root))
	}
	return r
}

// placeOf is a source as an error would spell it.
func placeOf(p *policy.Policy, i int) string {
	if i < 0 || i >= len(p.Sources) {
		return ""
	}
	e := policy.Error{Source: p.Sources[i], Msg: "x"}
	return strings.TrimSuffix(e.Error(), ": x")
}

// gateErrors are the problems that make a policy unusable, each with its place.
func gateErrors(p *policy.Policy, problems []toolask.Problem) error {
	var all policy.Errors
	for _, x := range problems {
		if !x.Warns {
			all = append(all, gateError(p, x))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// gateError puts a problem where the policy has it.
func gateError(p *policy.Policy, x toolask.Problem) *policy.Error {
	e := &policy.Error{Key: "gate", Msg: "[gate]: " + x.Text}
	source := -1
	switch g := &p.Gate; {
	case x.List == "rule" && x.Index < len(g.Rules):
		source, e.Key = g.Rules[x.Index].Source, "gate.rule"
	case x.List == "confirm" && x.Index < len(g.Confirm):
		source, e.Key = g.Confirm[x.Index].Source, "gate.confirm"
	case x.List == "confirm_more" && x.Index < len(g.ConfirmMore):
		source, e.Key = g.ConfirmMore[x.Index].Source, "gate.confirm_more"
	}
	if source >= 0 && source < len(p.Sources) {
		e.Source, e.Msg = p.Sources[source], e.Key+": "+x.Text
	}
	return e
}

// validateGate looks at the [gate] part of a policy; what only warns is returned apart.
func validateGate(p *policy.Policy, place *launcher.Place) (warnings policy.Errors, err error) {
	g := &p.Gate
	if len(g.Rules) == 0 && len(g.Confirm) == 0 && len(g.ConfirmMore) == 0 {
		return nil, nil
	}
	r := gateRequest(p, place)
	reply, err := launcher.AskTool(&r)
	if err != nil {
		return nil, err
	}
	for _, x := range reply.Problems {
		if x.Warns {
			warnings = append(warnings, gateError(p, x))
		}
	}
	return warnings, gateErrors(p, reply.Problems)
}

// JSON is the verdict as one object, schema brainbox/why/v1.
func (v verdict) JSON() strictjson.Value {
	out := strictjson.Object(
		strictjson.Pair("schema", strictjson.Text("brainbox/why/v1")),
		strictjson.Pair("result", strictjson.Text(whyWords[v.status])),
		strictjson.Pair("reason", strictjson.Text(v.reason)),
		strictjson.Pair("hint", strictjson.Text(v.hint)),
	)
	tool := strictjson.Null()
	if v.tool != nil {
		tool = v.tool.JSON()
	}
	out.Add("tool", tool)
	addJudgement(&out, v.plan, v.judged)
	out.Add("verified", text(v.verified))
	return out
}
