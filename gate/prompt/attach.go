package prompt

import (
	"context"
	"errors"
	"time"
)

// ErrClosed says that the broker is closed, or that the user interface was detached.
var ErrClosed = errors.New("prompt: closed")

// UI asks one person. Prompt shows a view and returns the answer; ID and Digest may stay
// empty, and are then the view's. It returns when ctx ends, which is when the prompt was
// closed elsewhere. An error means that this user interface cannot ask about this prompt.
type UI interface {
	Prompt(ctx context.Context, v View) (Answer, error)
}

// Attachment is a user interface that can answer. While there is none, prompts wait for the
// grace only.
type Attachment struct {
	b    *Broker
	name string
}

// Attach adds a user interface under a name that is recorded with its answers, such as
// "terminal". It is for user interfaces that read [Broker.List] and events; one that asks
// by itself uses [Broker.Serve].
func (b *Broker) Attach(name string) (*Attachment, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	a := &Attachment{b: b, name: name}
	b.uis[a] = true
	b.activate()
	b.watch()
	return a, nil
}

// Detach removes a user interface. A second call has no effect.
func (a *Attachment) Detach() {
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	if !a.b.uis[a] {
		return
	}
	delete(a.b.uis, a)
	for _, e := range a.b.queue {
		delete(e.declined, a)
	}
	a.b.watch()
}

// Answer answers a prompt. [ErrStale] and [ErrInvalid] had no effect; nil settled it.
func (a *Attachment) Answer(ans Answer) error {
	b := a.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.uis[a] {
		return ErrClosed
	}
	for _, e := range b.queue {
		if e.id != ans.ID {
			continue
		}
		if !e.shown { // nobody can have seen it
			return ErrStale
		}
		ans, err := ans.read(&e.facts, e.digest)
		if err != nil {
			return err
		}
		b.accept(e, ans, a.name)
		return nil
	}
	return ErrStale
}

// accept settles a prompt with an answer, and counts denials in a row: after too many,
// people are left alone for a while, and what is pending is refused with the rest.
func (b *Broker) accept(e *entry, ans Answer, by string) {
	if ans.Decision == Approve {
		b.denials = 0
	} else {
		b.denials++
	}
	if b.denials >= b.o.Denials {
		b.denials, b.cooledAt = 0, time.Now().Add(b.o.Cooldown)
		for len(b.queue) > 1 { // the first is the answered one: only it is shown
			last := b.queue[len(b.queue)-1]
			b.refused += len(last.waiters)
			b.settle(last, settlement{code: Cooldown})
		}
	}
	b.settle(e, settlement{answer: ans, by: by, at: time.Now()})
}

// decline says that this user interface cannot ask about a prompt.
func (a *Attachment) decline(e *entry) {
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	e.declined[a] = true
	a.b.watch()
}

// next waits for a prompt that is shown and that this user interface can still answer.
func (a *Attachment) next(ctx context.Context) (*entry, View, error) {
	for {
		e, v, changed, err := a.look()
		if e != nil || err != nil {
			return e, v, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, View{}, ctx.Err()
		}
	}
}

func (a *Attachment) look() (*entry, View, <-chan struct{}, error) {
	b := a.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, View{}, nil, ErrClosed
	}
	if len(b.queue) > 0 && b.queue[0].shown && !b.queue[0].declined[a] {
		return b.queue[0], b.queue[0].view, nil, nil
	}
	return nil, View{}, b.changed, nil
}

// Serve attaches ui and lets it ask, one prompt after the other, until ctx ends or the
// broker is closed, and detaches it. A ui that fails or panics cannot answer that prompt.
func (b *Broker) Serve(ctx context.Context, name string, ui UI) error {
	a, err := b.Attach(name)
	if err != nil {
		return err
	}
	return a.Serve(ctx, ui)
}

// Serve is [Broker.Serve] for who must be there before the first prompt, which may come before
// a goroutine runs: Attach, and then serve.
func (a *Attachment) Serve(ctx context.Context, ui UI) error {
	defer a.Detach()
	for {
		e, v, err := a.next(ctx)
		if err != nil {
			return err
		}
		asked, cancel := context.WithCancel(e.ctx)
		stop := context.AfterFunc(ctx, cancel)
		ans, err := call(asked, ui, v)
		stop()
		cancel()
		if err == nil {
			if ans.ID == "" && ans.Digest == (Digest{}) {
				ans.ID, ans.Digest = v.ID, v.Digest
			}
			err = a.Answer(ans)
		}
		if err != nil && e.ctx.Err() == nil {
			a.decline(e)
		}
	}
}

func call(ctx context.Context, ui UI, v View) (ans Answer, err error) {
	defer func() {
		if recover() != nil {
			ans, err = Answer{}, errors.New("prompt: the user interface failed")
		}
	}()
	return ui.Prompt(ctx, v)
}
