package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"brainbox/gate"
	"brainbox/gate/action"
	"brainbox/gate/confirm"
	"brainbox/gate/event"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
	"brainbox/internal/toolask"
)

// answerTool answers a request. The error is one of the question; what is wrong with the
// policy is in the reply.
func answerTool(r *toolask.Request) (toolask.Reply, error) {
	for _, dir := range slices.Concat(r.Homes, r.Roots, []string{r.Dir}) {
		if dir != "" && (!path.IsAbs(dir) || path.Clean(dir) != dir) {
			return toolask.Reply{}, fmt.Errorf("%q is not absolute and clean", dir)
		}
	}
	p, problems := policyOf(r, nil)
	reply := toolask.Reply{Problems: problems}
	if slices.ContainsFunc(problems, func(p toolask.Problem) bool { return !p.Warns }) || r.Tool == "" {
		return reply, nil
	}
	compiled, _, err := gate.Compile(p)
	if err != nil {
		return reply, err
	}
	d, err := explain(compiled, r)
	if err != nil {
		return reply, err
	}
	reply.Answer = answer(&d)
	return reply, nil
}

// policyOf makes the gate's policy, with tools that are declared elsewhere, and looks at every entry by itself: all that is wrong
// is told, not only the first.
func policyOf(r *toolask.Request, declared []string) (gate.Policy, []toolask.Problem) {
	var problems []toolask.Problem
	add := func(list string, i int, text string, warns bool) {
		problems = append(problems, toolask.Problem{List: list, Index: i, Text: text, Warns: warns})
	}
	var raw []rule.Raw
	for i, x := range r.Rules {
		one := rule.Raw{Surface: x.Surface, Pattern: x.Pattern, Action: x.Action, Tighten: x.Tighten, Where: x.Where, Reason: x.Reason}
		raw = append(raw, one)
		text, warns := flaw(one, r, declared)
		if text != "" {
			add("rule", i, text, warns)
		}
	}
	scopes, err := rule.FromRaw(raw)
	if err != nil && len(problems) == 0 {
		add("", 0, err.Error(), false)
	}
	c := confirm.Config{Confirm: sources(r.Confirm), More: sources(r.ConfirmMore), None: r.NoConfirm}
	_, err = confirm.Compile(c, func(i confirm.Issue) {
		list := "confirm"
		if i.More {
			list = "confirm_more"
		}
		add(list, i.Index, fmt.Sprintf("pattern %q: %s", i.Source, i.Reason), i.Kept)
	})
	if err != nil && len(problems) == 0 {
		add("", 0, err.Error(), false)
	}
	tools := surfaces(r, declared)
	if r.AllowReads && !slices.ContainsFunc(r.Rules, func(x toolask.Rule) bool { return x.Surface == rule.Fallback }) {
		scopes, tools = append(scopes, reads()), append(tools, readTools[:]...)
	}
	return gate.Policy{
		Rules:   rule.Config{Scopes: scopes, Homes: r.Homes, Roots: r.Roots, Tools: tools},
		Confirm: c, Tools: r.Tools, AnyTool: r.AnyTool,
	}, problems
}

// readTools are the surfaces of the tools that change nothing: what lies in a root may be
// read, and a person may be asked something, without leave (contract brainkit, section 8.1).
var readTools = [...]string{"read", "grep", "ask_user", "ask_user_list", "ask_user_rank", "ask_user_form", "query_activity"}

// reads is the scope below the operator's own that allows them. A rule of his about every
// surface stands in place of it: it would not be asked otherwise.
func reads() rule.Scope {
	s := rule.Scope{Kind: rule.Builtin, Name: "built in"}
	for _, name := range readTools {
		s.Rules = append(s.Rules, rule.Rule{Surface: name, Pattern: "*", Action: action.Allow, Reason: "it changes nothing"})
	}
	return s
}

func sources(list []toolask.Pattern) (out []confirm.Source) {
	for _, p := range list {
		out = append(out, confirm.Source{Pattern: p.Pattern, Effect: p.Effect})
	}
	return out
}

// surfaces are the names that rules may be about besides the built-in ones: of the listed
// tools, and of the one that is asked about.
func surfaces(r *toolask.Request, declared []string) []string {
	var out []string
	for _, name := range slices.Concat(r.Tools, declared, []string{r.Tool}) {
		if surface, _ := gate.ReadText(name, ""); name != "" && surface == name {
			out = append(out, name)
		}
	}
	return out
}

// flaw says what is wrong with one rule, and whether it only warns.
func flaw(x rule.Raw, r *toolask.Request, declared []string) (text string, warns bool) {
	if surface, _ := gate.ReadText(x.Surface, ""); surface != x.Surface {
		return fmt.Sprintf("surface %q is never asked: calls of this tool are judged by %q", x.Surface, surface), false
	}
	scopes, err := rule.FromRaw([]rule.Raw{x})
	var notices []rule.Notice
	if err == nil {
		_, notices, err = rule.Compile(rule.Config{Scopes: scopes, Homes: r.Homes, Tools: surfaces(r, declared)})
	}
	var bad *rule.Error
	switch {
	case errors.As(err, &bad):
		text = bad.Text
		if bad.Err != nil {
			text += ": " + bad.Err.Error()
		}
		return text, false
	case err != nil:
		return err.Error(), false
	}
	for _, n := range notices {
		text = n.Text
		set, _, err := rule.Compile(rule.Config{Tools: surfaces(r, declared)})
		unknown := err == nil && x.Surface != rule.Fallback && x.Surface != "path" && x.Surface != "external_directory" && !set.Known(x.Surface)
		return text, !unknown || r.OtherTools
	}
	return "", false
}

// explain has the gate explain a call.
func explain(p *gate.Compiled, r *toolask.Request) (rule.Decision, error) {
	places := gate.Places{}
	judge, mounted, err := protect.Compile(protect.Seat{}, protect.Options{Env: looking{places, r.Dir}})
	if err != nil || !mounted {
		return rule.Decision{}, errors.Join(err, errors.New("no table"))
	}
	g, err := gate.New(gate.Config{Policy: p, Hub: event.New(event.Options{}), Judge: judge, Resolver: places})
	if err != nil {
		return rule.Decision{}, err
	}
	c, err := call(r)
	if err != nil {
		return rule.Decision{}, err
	}
	return g.Explain(context.Background(), c)
}

// call reads the question: arguments in JSON, or what they would say.
func call(r *toolask.Request) (gate.Call, error) {
	c := gate.Call{Tool: r.Tool, Cwd: r.Dir}
	surface, reading, known, err := gate.ReadTool(r.Tool, json.RawMessage(r.Text))
	if object := strings.HasPrefix(strings.TrimLeft(r.Text, " \t\r\n"), "{") && json.Valid([]byte(r.Text)); object {
		c.Surface, c.Reading, c.Args = surface, reading, json.RawMessage(r.Text)
		if known && err != nil {
			return c, err
		}
		return c, nil
	}
	c.Surface, c.Reading = gate.ReadText(r.Tool, r.Text)
	return c, nil
}

// looking is where writes lead, without holding anything: nothing is written here.
type looking struct {
	places gate.Places
	dir    string
}

func (l looking) Dir() string {
	if l.dir == "" {
		return "/"
	}
	return l.dir
}

// Resolve is that of protect.Environment.
func (l looking) Resolve(_ context.Context, name string, _ bool) (protect.Place, error) {
	real, _, err := l.places.Resolve(name)
	return protect.Place{Path: real}, err
}

func answer(d *rule.Decision) *toolask.Answer {
	a := &toolask.Answer{Action: d.Action.String(), By: reason(&d.Answer)}
	for i := range d.Asks {
		a.Asks = append(a.Asks, reason(&d.Asks[i]))
	}
	return a
}

func reason(a *rule.Answer) toolask.Reason {
	return toolask.Reason{
		Action: a.Action.String(), Layer: layer(a.Layer), Surface: a.Surface, Value: a.Value, Pattern: a.Shown(),
		Origin: string(a.Origin), Text: a.Reason, Where: a.Where, Floor: string(a.Floor), Row: a.Row,
	}
}

func layer(l rule.Layer) string {
	switch l {
	case rule.Tool:
		return "tool"
	case rule.Path:
		return "path"
	case rule.External:
		return "external"
	case rule.Judge:
		return "write_protection"
	}
	return ""
}
