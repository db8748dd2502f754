package gate

import (
	"context"
	"strings"
	"time"

	"brainbox/gate/action"
	"brainbox/gate/event"
	"brainbox/gate/grant"
	"brainbox/gate/permit"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
	"brainbox/gate/shell"
	"brainbox/gate/wild"
)

// ask puts the whole call before people, once, with every reason.
func (w *work) ask(ctx context.Context) Decision {
	switch {
	case w.call.Posture.NoGrantSurface:
		return w.nobody(ctx)
	case w.g.c.Broker == nil:
		return w.unanswered(prompt.NoUI, "nobody is there to answer")
	}
	original, err := w.call.input()
	if err != nil {
		return w.fault("field_invalid: its arguments are not JSON that two readers read alike")
	}
	r := prompt.Request{Record: w.rec, Facts: w.show()}
	if r.Facts.Editable {
		r.Rejudge = func(ctx context.Context, edited []byte) prompt.Rejudged { return w.rejudge(ctx, original, edited) }
	}
	out := w.g.c.Broker.Ask(ctx, r)
	if !out.Approved {
		return w.refused(&out)
	}
	return w.approved(ctx, &out)
}

// refused is what people said, or nobody.
func (w *work) refused(out *prompt.Outcome) Decision {
	w.let()
	d := Decision{Resolution: out.Resolution, Code: out.Code, Reason: out.Reason, Asks: w.f.Asks, once: &spending{out: *out, asked: true}}
	switch {
	case d.Resolution == event.PolicyDeny: // an edit
		d.Origin, d.Pattern = string(w.f.Answer.Origin), w.f.Answer.Pattern
	case d.Resolution == event.UserDenied:
		d.Reason = strings.TrimSuffix("the user denied it: "+out.Reason, ": ")
	case d.Reason == "":
		d.Reason = "nobody could answer: " + string(out.Code)
	}
	return d
}

// approved holds an answer against the policy that holds by now: what that denies does
// not pass, and what it asks about must have been shown.
func (w *work) approved(ctx context.Context, out *prompt.Outcome) Decision {
	for range tries {
		if w.g.ended.Load() {
			return w.unanswered(prompt.ShuttingDown, "the session is over")
		}
		if w.g.state.Load() == w.st {
			if !w.g.book.Use(w.f.Grants) {
				return w.unanswered(prompt.Replayed, "an approval that it relied on was withdrawn; issue the call again")
			}
			d := w.allowed(out.Resolution)
			d.Asks, d.once.asked, d.once.out = w.f.Asks, true, *out
			w.remember(out)
			return d
		}
		w.let()
		if why := w.look(ctx, &w.call); why != "" {
			return w.fault(why)
		}
		switch w.f.Action {
		case action.Allow:
		case action.Ask:
			if !covered(w.f.Asks, w.shown) {
				return w.unanswered(prompt.Replayed, "the policy changed while it was asked about; issue the call again")
			}
		case action.Deny:
			return w.denied()
		default:
			return w.denied()
		}
	}
	return w.fault("the policy changes all the time")
}

// covered reports whether every question is among those that were shown. That what was
// allowed is now only asked about, because a policy cannot be read, is no other question:
// the call was seen whole.
func covered(asks, shown []rule.Answer) bool {
	for i := range asks {
		a, found := &asks[i], asks[i].Origin == rule.OriginFailClosed
		for k := range shown {
			s := &shown[k]
			found = found || a.Layer == s.Layer && a.Surface == s.Surface && a.Value == s.Value && a.Row == s.Row &&
				a.Shown() == s.Shown() && a.Floor == s.Floor
		}
		if !found {
			return false
		}
	}
	return true
}

// rejudge judges a person's edit from the start, by the newest policy. It may run without
// another question only if all that it would be asked about was asked.
func (w *work) rejudge(ctx context.Context, original permit.Input, edited []byte) prompt.Rejudged {
	deny := func(why string) prompt.Rejudged { return prompt.Rejudged{Action: action.Deny, Reason: why} }
	in, err := permit.ParseInput(edited)
	if err != nil {
		return deny("the edit is not JSON")
	}
	st := w.g.state.Load()
	r := st.permits(&w.call)
	if err := r.CheckEdit(permit.Edit{Tool: w.call.Tool, Original: original, Edited: in, PlainKeys: st.plain}); err != nil {
		return deny(err.Error())
	}
	next := w.call
	next.Args = in.JSON()
	if next.Reading, err = w.call.Reread(in.JSON()); err != nil {
		return deny("the edit is no call of this tool")
	}
	next.Reading = next.Reading.snapshot()
	if why := next.flaw(); why != "" {
		return deny(why)
	}
	w.let()
	w.j = judged{}
	w.call, w.edited = next, true
	if why := w.look(ctx, &w.call); why != "" {
		return deny(why)
	}
	switch {
	case w.f.Action == action.Allow, w.f.Action == action.Ask && covered(w.f.Asks, w.shown):
		return prompt.Rejudged{Action: action.Allow, Facts: w.facts()}
	case w.f.Action == action.Ask:
		return prompt.Rejudged{Action: action.Ask, Facts: w.show()}
	}
	return prompt.Rejudged{Action: action.Deny, Facts: w.facts(), Reason: sentence(&w.f.Answer)}
}

// show puts the call before people as it is now.
func (w *work) show() prompt.Facts {
	w.shown, w.offered = w.f.Asks, w.offers()
	return w.facts()
}

// facts is what people are shown of the call: all of it.
func (w *work) facts() prompt.Facts {
	c := &w.call
	digest := c.digest()
	f := prompt.Facts{
		Session: w.g.c.Session, Agent: c.Agent, Source: c.Source, Surface: c.Surface, Tool: c.Tool, Value: c.shownValue(),
		Cwd: c.Cwd, Env: c.Env, Hosts: c.Hosts, Input: c.Args, Content: c.Content, Size: c.Size, Earlier: c.Earlier, Effect: digest[:],
		Message: c.Message, Label: c.Label, Editable: c.Reread != nil && len(c.Args) > 0,
	}
	for i := range w.f.Asks {
		a := &w.f.Asks[i]
		f.Reasons = append(f.Reasons, prompt.Reason{Surface: a.Surface, Pattern: a.Shown(), Origin: string(a.Origin), Text: a.Reason})
	}
	if c.Surface == rule.Bash {
		f.Programs = programs(c)
	}
	for i, t := range c.Targets {
		f.Targets = append(f.Targets, prompt.Target{Path: t.Path, Canonical: w.j.canonical(i, t, c.Cwd), Access: access(t.Access)})
	}
	var all []string
	for _, g := range w.offers() {
		all = append(all, g.Surface+" "+g.Pattern)
	}
	f.Grant = strings.Join(all, "; ")
	return f
}

func access(a shell.Access) string {
	switch a {
	case shell.ReadOnly:
		return "read"
	case shell.WriteOnly:
		return "write"
	case shell.Both:
	}
	return "read and write"
}

// grantable reports whether an approval for longer than one use may answer: never one of
// a single use, nor for a tool outside a list that is enforced, nor for a place whose
// canonical path is not known.
func grantable(a *rule.Answer, enforced bool) bool {
	return a.Surface != singleUse && (a.Surface != toolList || !enforced) && a.Value != ""
}

// offers is what an answer for longer than once approves: for each question the widest
// pattern that is suggested for it and that covers it.
func (w *work) offers() []grant.Grant {
	var out []grant.Grant
next:
	for i := range w.f.Asks {
		a := &w.f.Asks[i]
		if !grantable(a, w.j.enforced) {
			continue
		}
		all := grant.Suggest(a)
		if strings.HasPrefix(a.Surface, "<") {
			all = all[:1] // a name is no path, whatever it looks like
		}
		g := all[len(all)-1]
		if !g.Exact {
			p, err := wild.Compile(g.Pattern, wild.Options{})
			if err != nil || !a.Covered(p) {
				g = all[0]
			}
		}
		for _, have := range out {
			if have == g {
				continue next
			}
		}
		out = append(out, g)
	}
	return out
}

// remember keeps what was approved for longer. What does not fit is asked about again.
func (w *work) remember(out *prompt.Outcome) {
	life := grant.Run()
	switch out.Scope.Lasts {
	case prompt.ForRun:
	case prompt.ForTime:
		life = grant.For(time.Until(out.Expires))
	case prompt.Once:
		return
	default:
		return
	}
	for _, g := range w.offered { // what was shown, and nothing that is asked about since
		if g.Whole = out.Scope.WholeSession; !g.Whole {
			g.Agent = who(&w.call)
		}
		_, _ = w.g.book.Add(g, life)
	}
}
