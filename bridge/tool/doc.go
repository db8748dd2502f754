// Package tool has the shape of the tools that a host answers itself.
//
//	p, err := t.Plan(input)                // nothing is done, and nothing shown
//	part, ok := p.(tool.Partial)           // a piece of a call has no effect to decide about
//	call := gate.Call{Surface: tool.SurfaceOf(t), Tool: t.Name(), Args: args, Reading: p.Reading()}
//	d := g.Decide(ctx, call)               // a denied call ends here
//	defer d.Close()
//	unlock, err := locks.Lock(ctx, p.Locks()...)
//	err = d.Spend(call)
//	out, err := p.Do(ctx, &d)              // through the places that d holds
//
// The permission comes before the locks, and is spent under them. The tools are in the
// packages beneath this one.
//
// # Limits
//
// A tool trusts whoever serves it to have spent the decision that it hands to Do. Do compares
// the effect that was decided with its own, and refuses another one.
package tool
