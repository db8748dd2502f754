// Package prompt puts requests before people, one at a time, and brings back what they
// said.
//
//	b, err := prompt.New(prompt.Options{Hub: hub})
//	go b.Serve(ctx, "terminal", tty.New(tty.Options{...}))
//
//	rec := hub.Begin(event.Request{Surface: "bash", Value: "npm publish"})
//	defer rec.End()
//	out := b.Ask(ctx, prompt.Request{Record: rec, Facts: facts})
//	rec.Decide(out.Verdict())
//	if out.Spend(facts.Digest()) == nil { // once, and only for what was shown
//		publish()
//	}
//
// A [Broker] is one session's queue. A request is [Facts], not prose; what is shown is a
// snapshot of them with a digest that the answer must carry, and that whoever performs
// the effect compares again with [Outcome.Spend]. The first valid answer of any user
// interface wins; every later one is [ErrStale].
//
// Only a person denies as a person: a missing interface, a timeout, a full queue, a caller
// that is gone and a shutdown are confirmation_unavailable, each with its [Code]. All of
// them deny, as the zero [Outcome] does.
//
// # Time
//
// All deadlines are on the monotonic clock: a jump of the wall clock neither answers a
// prompt nor lengthens a grant. The time for an answer runs from the request, not from
// when it is shown, so that no call waits longer.
//
// # Limits
//
// A queue protects people from being asked too often, and a session from filling it; what
// is refused so is denied, never allowed. Requests with one digest that come within five
// seconds, while the first is pending, are one prompt, and one answer counts for each of
// them. Grants that last longer than one use are brought back, not kept: remembering them
// is the caller's. A user interface that ignores its context keeps its own goroutine and
// nothing else.
package prompt
