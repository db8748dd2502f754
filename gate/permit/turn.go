package permit

import "context"

// Config of a turn.
type Config struct {
	Rules   Rules
	Posture Posture
	Bridge  Bridge // nil: whatever needs an approval is denied
	// Granted says whether a tool that is not on the list was granted before, by a
	// remembered answer or by a shortcut of the runtime. It is not asked in a turn that
	// enforces the list, and never about a single use. nil: nothing was.
	Granted func(tool string) bool
	// PlainKeys is that of an Edit.
	PlainKeys bool
}

// Turn is one turn's gate: all steps from a call to its dispatch. It keeps no state, and
// any number of calls may be under way.
type Turn struct{ c Config }

// NewTurn rejects an impossible posture with a *[RequestError]. It does all that a turn
// can be asked for; an adapter calls it before it acquires anything.
func NewTurn(c Config) (*Turn, error) {
	if err := c.Posture.Check(Support{EnforceAllowedTools: true, NoGrantSurface: true}); err != nil {
		return nil, err
	}
	return &Turn{c}, nil
}

// Result is what became of a call. The zero value is a call that did not run.
type Result struct {
	Dispatched bool
	Denial     string // the error result for the model, when it was not dispatched
}

// Do decides about the call, and dispatches what was approved and checked: the call's own
// input, or the snapshot of the edit, which replaces it as a whole. The error is the
// bridge's (then nothing was dispatched) or dispatch's.
func (t *Turn) Do(ctx context.Context, c Call, dispatch func(context.Context, Input) error) (Result, error) {
	in, denial, err := t.clear(ctx, c)
	if err != nil || denial != "" {
		return Result{Denial: denial}, err
	}
	return Result{Dispatched: true}, dispatch(ctx, in)
}

// clear gives the input to dispatch, or why nothing is.
func (t *Turn) clear(ctx context.Context, c Call) (in Input, denial string, err error) {
	a := t.needs(c)
	if a.None {
		return c.Input, "", nil
	}
	if c.Description == "" {
		c.Description = a.Reason
	}
	outside := t.c.Posture.EnforceAllowedTools && a.Kind == Tool
	d, err := Ask(ctx, t.c.Bridge, NewRequest(c, a, outside), Options{NoGrantSurface: t.c.Posture.NoGrantSurface})
	if err != nil {
		return Input{}, deniedWord, err
	}
	if !d.Allow {
		return Input{}, d.Message, nil
	}
	if !d.Edited {
		return c.Input, "", nil
	}
	err = t.c.Rules.CheckEdit(Edit{Tool: c.Tool, Original: c.Input, Edited: d.Edit, PlainKeys: t.c.PlainKeys})
	if err != nil {
		return Input{}, err.Error(), nil
	}
	return d.Edit, "", nil
}

// needs is Decide with the grants that count. A granted tool is like one on the list: a
// single use of it may still have to be confirmed.
func (t *Turn) needs(c Call) Approval {
	a := t.c.Rules.Decide(c.Tool, c.Input)
	if a.None || a.Kind != Tool || t.c.Granted == nil || t.c.Posture.EnforceAllowedTools || !t.c.Granted(c.Tool) {
		return a
	}
	return t.c.Rules.decideAllowed(c.Tool, c.Input)
}
