// Package permit decides whether a tool call runs, is asked about, or is refused.
//
//	turn, err := permit.NewTurn(permit.Config{
//		Rules:  permit.Rules{Shell: "bash", Allowed: []string{"read_file", "bash"}},
//		Bridge: host,
//	})
//	...
//	result, err := turn.Do(ctx, permit.Call{ID: "c1", Tool: "bash", Input: input}, run)
//
// The steps are those of contract brainkit §3, each a function of its own for an adapter
// that cannot use a [Turn]: [Rules.Decide], [NewRequest], [Ask], [Rules.CheckEdit]. None
// of them executes a tool. The adapter waits for the decision, honours a denial, has an
// edit checked, and dispatches the checked [Input] and nothing else.
//
// An Input is decoded once: what is decided, shown, compared and dispatched is the same
// tree. Package conform checks an adapter by what its tools did.
//
// # Limits
//
// What the tool then does is not seen here: a shell command that is allowed may run
// anything that the sandbox lets it run. Allowed tools are named, not described: a tool
// that lies about its name is the host's mistake.
package permit
