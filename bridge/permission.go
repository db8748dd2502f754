package bridge

import (
	"context"
	"errors"
	"slices"

	"brainbox/bridge/wire"
	"brainbox/gate"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
	"brainbox/internal/strictjson"
)

// permissionCheck is permission.check: what a call would be met with. Nobody is asked.
func (c *conn) permissionCheck(ctx context.Context, params *strictjson.Value) (reply, error) {
	f := strictjson.Bind(params, "surface", "value", "agentName")
	q := gate.Call{
		Surface: f.String("surface"), Reading: gate.Reading{Value: optional(f, "value")},
		Claimed: optional(f, "agentName"), Agent: c.s.c.Agent, Cwd: c.s.c.Cwd,
	}
	if err := f.Err(); err != nil {
		return reply{}, err
	}
	a, err := c.s.c.Gate.Check(ctx, q)
	switch {
	case errors.Is(err, rule.ErrUnknownSurface):
		return reply{}, &wire.Error{Code: wire.CodeSurfaceUnknown, Message: "neither a surface nor a declared tool"}
	case err != nil && withdrawn(ctx) != nil:
		return reply{}, withdrawn(ctx)
	case err != nil:
		return reply{}, &wire.Error{Code: wire.CodeFieldInvalid, Message: "it cannot be judged"}
	}
	v := strictjson.Object(
		strictjson.Pair("result", strictjson.Text(a.Action.String())),
		strictjson.Pair("matchedPattern", orNull(a.Pattern)),
		strictjson.Pair("origin", orNull(string(a.Origin))),
	)
	return reply{value: &v}, nil
}

// permissionPrompt is permission.prompt: advice for the program that asks, which permits
// nothing. What is said in it is shown as the agent's.
func (c *conn) permissionPrompt(ctx context.Context, params *strictjson.Value) (reply, error) {
	f := strictjson.Bind(params, "surface", "value", "message", "sessionLabel", "agentName")
	q := gate.Call{
		Surface: f.String("surface"), Reading: gate.Reading{Value: f.String("value")},
		Message: optional(f, "message"), Label: optional(f, "sessionLabel"),
		Claimed: optional(f, "agentName"), Agent: c.s.c.Agent, Cwd: c.s.c.Cwd, Source: prompt.RPCPrompt,
	}
	if f.Has("surface") && q.Surface == "" {
		f.Invalid("surface", "empty")
	}
	if err := f.Err(); err != nil {
		return reply{}, err
	}
	out := c.s.c.Gate.Advise(ctx, q)
	if err := withdrawn(ctx); err != nil && !out.Approved {
		return reply{}, err
	}
	switch out.Code {
	case prompt.NoUI:
		return reply{}, &wire.Error{Code: wire.CodeNoUI, Message: "no user interface is connected"}
	case prompt.Overloaded, prompt.Cooldown:
		return reply{}, &wire.Error{Code: wire.CodeOverloaded, Message: "too many prompts"}
	case prompt.ShuttingDown:
		return reply{}, &wire.Error{Code: wire.CodeShuttingDown, Message: "the session is over"}
	case prompt.Timeout, prompt.CallerGone, prompt.Replayed, prompt.Faulty: // denied, with the code
	}
	v := strictjson.Object(
		strictjson.Pair("approved", strictjson.Bool(out.Approved)),
		strictjson.Pair("state", strictjson.Text(out.State())),
		strictjson.Pair("requestId", strictjson.Text(out.ID)),
	)
	switch {
	case out.Reason != "":
		v.Add("denialReason", strictjson.Text(out.Reason))
	case out.Code != "":
		v.Add("denialReason", strictjson.Text(string(out.Code)))
	}
	return reply{value: &v}, nil
}

// delegate is delegate.request, which is the host's.
func (c *conn) delegate(ctx context.Context, params *strictjson.Value) (reply, error) {
	if c.s.c.Delegate == nil {
		return reply{}, &wire.Error{Code: wire.CodeNotReady, Message: "nothing can be delegated"}
	}
	if c.s.halted.Load() {
		return reply{}, &wire.Error{Code: wire.CodeNotReady, Message: unrecorded}
	}
	v, err := c.s.c.Delegate(ctx, params)
	switch {
	case err != nil && withdrawn(ctx) != nil:
		return reply{}, withdrawn(ctx)
	case err != nil:
		return reply{}, err
	case v == nil:
		return reply{}, errors.New("no result")
	}
	return reply{value: v}, nil
}

// capabilities of a role, for hello.
func (s *Server) capabilities(role wire.Role) wire.Capabilities {
	c := wire.Capabilities{Methods: []string{}}
	if role != wire.Agent {
		if s.c.Broker != nil {
			c.Methods = append(c.Methods, wire.MethodPromptAnswer, wire.MethodPromptList)
		}
		return c
	}
	c.Tools, c.Roots = []string{}, s.c.Roots
	for name := range s.tools {
		c.Tools = append(c.Tools, name)
	}
	if s.c.Parent != nil {
		for name := range s.c.Parent.Tools {
			c.Tools = append(c.Tools, name)
		}
	}
	for method, name := range fsTools {
		if _, ok := s.tools[name]; ok {
			c.Methods = append(c.Methods, method)
		}
	}
	if s.c.Delegate != nil {
		c.Methods = append(c.Methods, wire.MethodDelegate)
	}
	slices.Sort(c.Methods)
	slices.Sort(c.Tools)
	if len(c.Tools) > wire.MostTools { // no client would read them
		c.Tools = nil
	}
	return c
}

func optional(f *strictjson.Fields, key string) string {
	if !f.Has(key) {
		return ""
	}
	return f.String(key)
}

func orNull(s string) strictjson.Value {
	if s == "" {
		return strictjson.Null()
	}
	return strictjson.Text(s)
}
