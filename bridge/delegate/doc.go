// Package delegate hands a piece of work from a sandbox to whatever the host has for it, and
// checks both directions (contract bridge-and-gate, section B; schemas
// wp-codebox/host-delegation-{request,result,event}/v1).
//
//	d, err := delegate.New(delegate.Options{Adapter: adapter, Redact: redact})
//	…
//	result := d.Do(ctx, request)
//
// Do is total: whatever the request is and whatever the adapter does, there is one complete
// result, with the event "requested" and one terminal event in it. A failure carries no result
// of the adapter's. Nothing runs in the sandbox instead.
//
// # Limits
//
// An adapter cannot be stopped: one that goes on after its deadline is told by its context,
// its answer is dropped, and it counts towards Options.Running until it returns.
//
// The source digest guards against stale work, not against a lying adapter: it is compared
// only when both sides give one. Of an answer the members request_id, sandbox_session_id,
// session_id and source_digest are compared, in the answer itself and in its result; an id
// under another name is the adapter's own.
//
// Accepted means queued. What becomes of it is a record that the product keeps.
package delegate
