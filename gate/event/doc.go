// Package event tells what the gate does: which prompt is shown, what was decided and by
// whom. It decides nothing.
//
//	hub := event.New(event.Options{Session: "s1", Redact: secrets.Mask})
//	rec := hub.Begin(event.Request{Surface: "bash", Value: "npm publish"})
//	defer rec.End() // nothing decided, or a panic: gate_error
//	rec.Decide(event.Verdict{Resolution: event.PolicyDeny, Origin: "project"})
//
//	sub, err := hub.Subscribe(event.Subscribe{Since: &last})
//	for {
//		e, err := sub.Next(ctx)
//		...
//	}
//
// A [Record] is the only way to a decision event, and gives out exactly one: the first
// verdict counts, and one that is ended without a verdict is a denial. Result and decider
// follow from the resolution, so that they cannot contradict it.
//
// Every event has a number; numbers have no holes within a hub. Its data is JSON, made when
// it is published: redacted, then bounded and escaped as package gate/show does, so that
// no reader has to remember to. Times are the wall clock's; no deadline is taken from them.
//
// Publishing never waits: who does not read loses the oldest events and is told with
// [TopicGap], and is closed after three gaps within 30 seconds.
//
// # Limits
//
// Events are kept in memory: 4096, or 8 MiB of data. What is older is gone, and a subscriber
// that asks for it is told. Redaction is the caller's; without it values are shown as they
// are. A redactor runs in the goroutine that publishes and must not block.
package event
