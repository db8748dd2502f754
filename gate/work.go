package gate

import (
	"context"
	"strings"

	"brainbox/gate/action"
	"brainbox/gate/event"
	"brainbox/gate/grant"
	"brainbox/gate/permit"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
	"brainbox/gate/show"
)

// work is one call on its way to its decision.
type work struct {
	g    *Gate
	rec  *event.Record
	call Call
	st   *state
	j    judged
	f    rule.Decision

	edited  bool
	shown   []rule.Answer // the reasons that people have seen
	offered []grant.Grant // what an answer for longer was said to approve
}

// let lets go of what is held so far.
func (w *work) let() { w.j.let() }

// fault is a denial for a reason that is not the policy's.
func (w *work) fault(why string) Decision {
	w.let()
	return Decision{Resolution: event.GateError, Reason: "it did not run: " + why}
}

// decide decides, and leaves nothing held but what an allowed call is given.
func (w *work) decide(ctx context.Context) Decision {
	if why := w.call.flaw(); why != "" {
		return w.fault(why)
	}
	for range tries {
		if why := w.look(ctx, &w.call); why != "" {
			return w.fault(why)
		}
		switch {
		case w.f.Action == action.Deny:
			return w.denied()
		case w.g.ended.Load():
			return w.unanswered(prompt.ShuttingDown, "the session is over")
		case w.f.Action == action.Ask:
			return w.ask(ctx)
		case w.f.Action == action.Allow:
			if w.g.state.Load() == w.st && w.g.book.Use(w.f.Grants) {
				return w.allowed(event.Resolution(w.f.Resolution))
			}
			w.let()
		default:
			return w.denied()
		}
	}
	return w.fault("the policy and the approvals change all the time")
}

// look judges a call by the policy that holds now, authorizers included.
func (w *work) look(ctx context.Context, c *Call) (why string) {
	w.st = w.g.state.Load()
	j, why := w.g.judge(ctx, w.st, c)
	if why != "" {
		return why
	}
	w.j = j
	w.f = w.g.fold(&w.j, c, nil)
	if len(w.g.c.Authorizers) == 0 || !w.open() {
		return ""
	}
	w.f = w.g.fold(&w.j, c, w.g.authorize(ctx, &w.j, c, w.f.Asks))
	return ""
}

// open says that a question is left for an authorizer, whom a standing consent comes
// after. The reasons are then those of the fold without it.
func (w *work) open() bool {
	if w.f.Resolution == rule.AutoApproved {
		w.f = rule.Fold(w.j.answers, rule.Inputs{Approvals: approvals{w.g.book.For(who(&w.call)), w.j.enforced}})
	}
	return w.f.Action == action.Ask
}

// allowed makes the decision of a call that may run.
func (w *work) allowed(r event.Resolution) Decision {
	return Decision{
		Allowed: true, Resolution: r, Origin: string(w.f.Answer.Origin), Pattern: w.f.Answer.Shown(),
		Surface: w.call.Surface, Args: w.call.Args, Reading: w.call.Reading, Edited: w.edited,
		Digest: w.call.digest(), Held: w.j.held, once: &spending{},
	}
}

// denied makes the decision of a call that a layer denies.
func (w *work) denied() Decision {
	w.let()
	a := &w.f.Answer
	d := Decision{Resolution: event.Resolution(w.f.Resolution), Origin: string(a.Origin), Pattern: a.Pattern}
	switch {
	case w.f.Resolution == rule.AuthorizerDenies:
		d.Reason, d.Origin, d.Pattern = "it was denied by "+show.Field(w.f.By), "", ""
	case a.Layer == rule.Judge:
		d.Reason = a.Reason
	default:
		d.Reason = sentence(a)
	}
	return d
}

// sentence says why a rule denies.
func sentence(a *rule.Answer) string {
	s := "it is denied by a rule of " + show.Field(a.Surface)
	if a.Pattern != "" {
		s += ": " + show.Field(a.Pattern)
	}
	if a.Reason != "" {
		s += " (" + show.Field(a.Reason) + ")"
	}
	return s
}

// unanswered is a question that nobody could answer.
func (w *work) unanswered(code prompt.Code, why string) Decision {
	w.let()
	return Decision{Resolution: event.ConfirmationUnavailable, Code: code, Reason: why, Asks: w.f.Asks}
}

// nobody denies in a turn in which nobody can answer: nobody is asked, and the host is
// told (contract brainkit §3.4).
func (w *work) nobody(ctx context.Context) Decision {
	w.let()
	in, _ := w.call.input()
	call := permit.Call{ID: w.call.ID, Tool: tool(&w.call), Input: in}
	a := permit.Approval{Kind: permit.Command}
	for i := range w.f.Asks {
		if w.f.Asks[i].Surface == toolList {
			a.Kind = permit.Tool
		}
		if call.Description == "" {
			call.Description = w.f.Asks[i].Reason
		}
	}
	outside := w.j.enforced && a.Kind == permit.Tool
	type answer struct {
		d   permit.Decision
		err error
	}
	got, _ := within(ctx, w.g.c.Wait, func(ctx context.Context) (a2 answer) {
		a2.d, a2.err = permit.Ask(ctx, w.g.c.Host, permit.NewRequest(call, a, outside), permit.Options{NoGrantSurface: true})
		return a2
	}, nil)
	out := w.unanswered(prompt.NoUI, got.d.Message)
	if out.Err = got.err; got.err != nil || strings.TrimSpace(out.Reason) == "" {
		out.Reason = "nobody can answer in this turn"
	}
	return out
}
