package prompt

import (
	"context"
	"slices"
	"time"

	"brainbox/gate/action"
	"brainbox/gate/event"
)

// Request is one question.
type Request struct {
	// Record is the request's record; its id is the prompt's. A record is asked once.
	Record *event.Record
	Facts  Facts

	// Rejudge judges the arguments that a person has changed, as if they were a new call.
	// It is required when Facts.Editable, and runs in the goroutine of Ask.
	Rejudge func(ctx context.Context, edited []byte) Rejudged
}

// Rejudged is the answer to an edit. The zero value denies.
type Rejudged struct {
	Action action.Action // Ask: a person is asked again, about Facts
	Facts  Facts         // of the edited call; session, agent and source stay
	Reason string        // with Deny
}

// mostEdits bounds how often a person may change one request.
const mostEdits = 3

// Ask puts a request before people and waits for the outcome. It returns at the latest
// after the timeout (a further one for each edit), and when ctx ends. It never panics: a
// fault, of a callback too, is gate_error.
func (b *Broker) Ask(ctx context.Context, r Request) (out Outcome) {
	if r.Record == nil {
		return unanswered("", Faulty)
	}
	id := r.Record.ID()
	defer func() {
		if recover() != nil {
			out = unanswered(id, Faulty)
		}
	}()
	if !r.Record.Claim() {
		return unanswered(id, Replayed)
	}
	if !b.o.neverCount && !b.bucket.Take() {
		return b.refuse(id, Overloaded)
	}
	f := r.Facts.clone()
	if f.check() != nil || f.Editable && r.Rejudge == nil {
		return unanswered(id, Faulty)
	}
	for range mostEdits + 1 {
		s := b.wait(ctx, id, &f)
		if s.code != "" {
			return unanswered(id, s.code)
		}
		out = answered(id, s)
		if out.Edited == nil {
			return out
		}
		j := r.Rejudge(ctx, slices.Clone(out.Edited))
		next := j.Facts.clone()
		next.Session, next.Agent, next.Source = f.Session, f.Agent, f.Source
		out.value, out.Digest = next.Value, next.Digest()
		switch j.Action {
		case action.Allow:
			return out
		case action.Ask:
			if next.check() != nil || next.Editable && r.Rejudge == nil {
				return unanswered(id, Faulty)
			}
			f = next
		case action.Deny:
			return denied(out, j.Reason)
		default:
			return denied(out, j.Reason)
		}
	}
	return denied(out, "it was changed too often")
}

// denied is an edit that must not run.
func denied(o Outcome, reason string) Outcome {
	return Outcome{ID: o.ID, Resolution: event.PolicyDeny, By: o.By, Reason: reason, value: o.value}
}

// refuse answers without asking, and counts it for the next prompt.
func (b *Broker) refuse(id string, code Code) Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused++
	return unanswered(id, code)
}

// wait queues a snapshot, or joins an identical one, and waits for its end.
func (b *Broker) wait(ctx context.Context, id string, f *Facts) settlement {
	e := b.prepare(id, f)
	w := &waiter{got: make(chan settlement, 1)}
	e, code := b.enqueue(e, w)
	if code != "" {
		return settlement{code: code}
	}
	select {
	case s := <-w.got:
		return s
	case <-ctx.Done():
		b.leave(e, w)
		return <-w.got
	}
}

// prepare makes all that needs no lock: what is shown, and the event.
func (b *Broker) prepare(id string, f *Facts) *entry {
	now := time.Now()
	e := &entry{id: id, facts: *f, digest: f.Digest(), created: now, declined: map[*Attachment]bool{}}
	e.view = view(id, f, e.digest, now.Add(b.o.Timeout))
	e.opened = b.o.Hub.Prepare(event.UIPrompt{
		RequestID: id, Source: string(f.Source), Surface: f.Surface, Value: f.Value, AgentName: f.Agent,
		Digest: e.digest.String(), Request: facts(f),
	})
	return e
}

// enqueue returns the prompt that the waiter waits for.
func (b *Broker) enqueue(e *entry, w *waiter) (*entry, Code) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ShuttingDown
	}
	if time.Now().Before(b.cooledAt) {
		b.refused++
		return nil, Cooldown
	}
	for _, other := range b.queue {
		if other.digest == e.digest && e.created.Sub(other.created) < b.o.Coalesce {
			other.waiters = append(other.waiters, w)
			return other, ""
		}
	}
	if len(b.queue) >= b.o.Pending {
		b.refused++
		return nil, Overloaded
	}
	e.waiters = []*waiter{w}
	e.ctx, e.end = context.WithCancel(context.Background())
	e.timeout = time.AfterFunc(b.o.Timeout, func() { b.expire(e) })
	b.queue = append(b.queue, e)
	b.activate()
	b.watch()
	return e, ""
}

func (b *Broker) expire(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle(e, settlement{code: Timeout})
}

// leave takes a caller that is gone off a prompt; the last one closes it. If it was settled
// in the same moment, the waiter has that.
func (b *Broker) leave(e *entry, w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(e.waiters, w)
	if i < 0 || !slices.Contains(b.queue, e) {
		return
	}
	if len(e.waiters) == 1 {
		b.settle(e, settlement{code: CallerGone})
		return
	}
	e.waiters = slices.Delete(e.waiters, i, i+1)
	w.got <- settlement{code: CallerGone}
}
