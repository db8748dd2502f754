// Package gate decides about the calls that a sandboxed program makes: it joins the
// rules, the patterns that confirm, the judge of writes, what a session approved, and
// the people who are asked.
//
//	compiled, notices, err := gate.Compile(gate.Policy{Rules: rules, AnyTool: true})
//	g, err := gate.New(gate.Config{Policy: compiled, Judge: judge, Broker: broker, Hub: hub})
//	...
//	d := g.Decide(ctx, gate.Call{Surface: "write", Tool: "write_file", Reading: reading})
//	defer d.Close()
//	if err := d.Spend(call); err == nil {
//		root.Write(ctx, d.Held[0].Rel(), dirchain.WriteRequest{Held: d.Held[0].Target(), …})
//	}
//
// A decision is about one snapshot of a call. All layers answer; what denies goes first
// and is beaten by nothing; approvals of the session, floors, authorizers and a standing
// consent come then, in the order of contract bridge-and-gate §D.5; what is left is one
// question with every reason. The snapshot has a digest, which the question shows and
// [Decision.Spend] compares with what is about to be done, once.
//
// Exactly one decision event is published for a request, whatever happens: a panic
// anywhere, also in what was handed in, is a denial (gate_error).
//
// # Time
//
// Every wait has a bound: the look at paths and each authorizer [Config.Wait], the judge
// its own, a question that of its broker. Deadlines are monotonic.
//
// # Limits
//
// The gate knows no sockets and performs nothing. A look at a file system that never
// returns, and an authorizer that does, keep a goroutine each. A call of more than 1 MiB
// is refused, since nobody could be shown it. What an allowed command then does is the
// kernel's to say.
package gate
