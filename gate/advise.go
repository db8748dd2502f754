package gate

import (
	"context"

	"brainbox/gate/action"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
)

// Advise asks people a question that a program in the sandbox has for its own use
// (permission.prompt). The answer permits nothing here, is for one use and never becomes
// an approval of the session; what the policy denies nobody is asked about. One decision
// event is published. It never panics.
func (g *Gate) Advise(ctx context.Context, c Call) (out prompt.Outcome) {
	c = g.prepare(c)
	c.Source, c.noTool, c.Reread = prompt.RPCPrompt, c.Tool == "", nil
	rec := g.c.Hub.Begin(event.Request{ClientRequestID: c.ID, Surface: c.Surface, Value: c.shownValue(), AgentName: c.Agent})
	w := &work{g: g, rec: rec, call: c}
	func() {
		defer func() {
			if recover() != nil {
				out = prompt.Outcome{Resolution: event.GateError, Code: prompt.Faulty}
			}
			w.let()
		}()
		out = w.advise(ctx)
	}()
	out.ID = rec.ID()
	rec.Decide(out.Verdict())
	return out
}

func (w *work) advise(ctx context.Context) prompt.Outcome {
	why := w.call.flaw()
	if why == "" {
		w.st = w.g.state.Load()
		w.j, why = w.g.judge(ctx, w.st, &w.call)
	}
	if why != "" {
		return prompt.Outcome{Resolution: event.GateError, Code: prompt.Faulty, Reason: why}
	}
	w.f = rule.Fold(w.j.answers, rule.Inputs{})
	switch {
	case w.f.Action == action.Deny:
		return prompt.Outcome{Resolution: event.PolicyDeny, Reason: sentence(&w.f.Answer)}
	case w.g.ended.Load():
		return prompt.Outcome{Resolution: event.ConfirmationUnavailable, Code: prompt.ShuttingDown}
	case w.g.c.Broker == nil || w.call.Posture.NoGrantSurface:
		return prompt.Outcome{Resolution: event.ConfirmationUnavailable, Code: prompt.NoUI}
	}
	f := w.facts()
	f.Grant, f.Editable = "", false
	return w.g.c.Broker.Ask(ctx, prompt.Request{Record: w.rec, Facts: f})
}

// End ends the session: its approvals are gone, and nothing is allowed any more. What is
// being asked is the broker's to close.
func (g *Gate) End() {
	g.ended.Store(true)
	g.book.RevokeAll()
}
