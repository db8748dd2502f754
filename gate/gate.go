package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"brainbox/gate/event"
	"brainbox/gate/grant"
	"brainbox/gate/permit"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
	"brainbox/gate/show"
)

// Config is what a [Gate] is made of. Policy and Hub are required.
type Config struct {
	Policy  *Compiled
	Hub     *event.Hub
	Session string

	// Judge judges what is written. Without one nothing may be written, unless Unjudged
	// says that the operator has switched the table off.
	Judge    *protect.Judge
	Unjudged bool

	Broker *prompt.Broker // nil: there is nobody to ask
	Book   *grant.Book    // what the session approved; nil: one of the gate's own

	// Resolver tells what paths are. nil: they are taken as they are spelled.
	Resolver rule.Resolver

	Authorizers []Authorizer
	OnAskAllow  bool // the operator's standing consent to whatever would be asked
	Posture     permit.Posture

	// Host is told of what is denied because nobody can answer (permit.Reporter,
	// permit.Checkpointer). It is never asked. nil: nobody is told.
	Host permit.Bridge

	// Wait bounds a look at paths, and each authorizer. 0: two seconds.
	Wait time.Duration
}

// DefaultWait is [Config.Wait] where none is named.
const DefaultWait = 2 * time.Second

// tries is how often a call is judged anew when the policy or the approvals change
// meanwhile.
const tries = 4

// Gate decides the calls of one session. All methods may be called by several
// goroutines.
type Gate struct {
	c     Config
	book  *grant.Book
	state atomic.Pointer[state]
	swap  sync.Mutex // one change of the policy at a time
	ended atomic.Bool
}

// New makes a gate.
func New(c Config) (*Gate, error) {
	switch {
	case c.Policy == nil || c.Policy.set == nil:
		return nil, errors.New("gate: no policy")
	case c.Hub == nil:
		return nil, errors.New("gate: no event hub")
	case c.Judge != nil && c.Unjudged:
		return nil, errors.New("gate: a judge, and none")
	case c.Wait < 0:
		return nil, errors.New("gate: a negative time")
	}
	if err := c.Posture.Check(permit.Support{EnforceAllowedTools: true, NoGrantSurface: true}); err != nil {
		return nil, err
	}
	if c.Wait == 0 {
		c.Wait = DefaultWait
	}
	c.Authorizers = slices.Clone(c.Authorizers)
	g := &Gate{c: c, book: c.Book}
	if g.book == nil {
		start := time.Now()
		g.book = grant.NewBook(func() time.Duration { return time.Since(start) }) // monotonic
	}
	g.state.Store(&state{Compiled: c.Policy})
	return g, nil
}

// Decide decides a call and publishes the one decision about it. It never panics, and
// returns within the bounds that package gate names, or when ctx ends. The caller closes
// the decision.
func (g *Gate) Decide(ctx context.Context, c Call) (d Decision) {
	c = g.prepare(c)
	rec := g.c.Hub.Begin(event.Request{ClientRequestID: c.ID, Surface: c.Surface, Value: c.shownValue(), AgentName: c.Agent})
	w := &work{g: g, rec: rec, call: c}
	func() {
		defer func() {
			if p := recover(); p != nil {
				d = w.fault("internal error")
			}
		}()
		d = w.decide(ctx)
	}()
	d.RequestID, d.DecidedBy = rec.ID(), d.Resolution.DecidedBy()
	if !rec.Decide(d.verdict()) && d.Allowed { // not ours any more: never without its record
		w.let()
		d = Decision{RequestID: d.RequestID, Resolution: event.GateError, DecidedBy: event.GateError.DecidedBy(), Reason: "decided elsewhere"}
	}
	return d
}

// prepare makes the snapshot, under the posture of the gate.
func (g *Gate) prepare(c Call) Call {
	c = c.snapshot()
	c.Surface = g.state.Load().surface(&c)
	c.Posture.EnforceAllowedTools = c.Posture.EnforceAllowedTools || g.c.Posture.EnforceAllowedTools
	c.Posture.NoGrantSurface = c.Posture.NoGrantSurface || g.c.Posture.NoGrantSurface
	return c
}

// shownValue is the value of the event: for a tool without one, its name.
func (c *Call) shownValue() string {
	if c.Value == "" {
		return c.Tool
	}
	return c.Value
}

// Check answers what a call would be met with, without approvals and authorizers: nobody
// is asked and nothing is published. The errors are those of [rule.Set.Check], and one of
// a call that cannot be judged.
func (g *Gate) Check(ctx context.Context, c Call) (rule.Answer, error) {
	f, err := g.Explain(ctx, c)
	if err != nil {
		return rule.Answer{}, err
	}
	a := f.Answer
	a.Pattern, a.Action = a.Shown(), f.Action
	return a, nil
}

// Explain is [Gate.Check] with every reason to ask.
func (g *Gate) Explain(ctx context.Context, c Call) (d rule.Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = rule.Decision{}, errors.New("gate: internal error")
		}
	}()
	c = g.prepare(c)
	st := g.state.Load()
	switch why := c.flaw(); {
	case c.Surface == "":
		return d, rule.ErrNoSurface
	case why != "":
		return d, fmt.Errorf("gate: %s", why)
	case !st.set.Known(c.Surface):
		return d, rule.ErrUnknownSurface
	}
	if c.Tool == "" && (c.Surface == rule.Bash || !builtin(c.Surface)) {
		c.Tool = c.Surface
		if c.Surface == rule.Bash {
			c.Tool = st.permit.Shell
		}
	}
	c.noTool = c.Tool == ""
	if len(c.Targets) == 0 && c.Value != "" && writes(c.Surface) {
		c.Targets = []Target{{Path: c.Value}}
	}
	j, why := g.judge(ctx, st, &c)
	defer j.let()
	if why != "" {
		return d, fmt.Errorf("gate: %s", why)
	}
	return rule.Fold(j.answers, rule.Inputs{}), nil
}

func builtin(surface string) bool {
	switch surface {
	case "read", "write", "edit", "grep", "find", "ls", "mcp", "skill",
		rule.PathRead, rule.PathWrite, rule.ExternalRead, rule.ExternalWrite:
		return true
	}
	return false
}

func writes(surface string) bool {
	return surface == "write" || surface == "edit" || surface == rule.PathWrite
}

// Grants lists what the session approved, oldest first.
func (g *Gate) Grants() []grant.Entry { return g.book.List() }

// Revoke ends an approval; it reports whether it still held.
func (g *Gate) Revoke(id uint64) bool { return g.book.Revoke(id) }

// Swap makes p the policy, for what is decided from now on, and for what is being asked:
// an answer counts only as far as the newest policy agrees.
func (g *Gate) Swap(p *Compiled) error {
	if p == nil || p.set == nil {
		return errors.New("gate: no policy")
	}
	g.swap.Lock()
	defer g.swap.Unlock()
	g.state.Store(&state{Compiled: p})
	return nil
}

// Keep is for a policy that could not be read again: the old one is kept, what it allows
// is asked about, and gate:policy_error is published. Origin is the scope that failed.
func (g *Gate) Keep(origin string, err error) {
	g.swap.Lock()
	defer g.swap.Unlock()
	g.state.Store(&state{
		Compiled: g.state.Load().Compiled,
		clamp:    "the policy could not be read again, so what it allows is asked about",
	})
	text := "it could not be read"
	if err != nil {
		text = show.Field(err.Error())
	}
	g.c.Hub.Publish(event.PolicyError{Origin: origin, Message: text})
}
