package prompt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"brainbox/gate/event"
)

// Options configures a [Broker]. A zero field means its default.
type Options struct {
	Hub        *event.Hub    // required: where prompts are announced
	Timeout    time.Duration // for an answer: 10 minutes, at least 1 second
	Grace      time.Duration // without a user interface: 2 seconds
	Coalesce   time.Duration // identical requests are one prompt: 5 seconds
	Denials    int           // in a row, until nothing is asked for a while: 10
	Cooldown   time.Duration // for how long: 30 seconds
	Pending    int           // prompts at a time: 32
	PerSecond  int           // requests, and twice as many at once: 5
	neverCount bool          // tests: no limit a second
}

// The defaults.
const (
	DefaultTimeout  = 10 * time.Minute
	LeastTimeout    = time.Second
	DefaultGrace    = 2 * time.Second
	DefaultCoalesce = 5 * time.Second
	DefaultDenials  = 10
	DefaultCooldown = 30 * time.Second
	DefaultPending  = 32
)

// Broker is the queue of one session. All methods may be called by several goroutines.
type Broker struct {
	o      Options
	bucket *Bucket

	mu       sync.Mutex
	queue    []*entry // the first is the one that is shown
	uis      map[*Attachment]bool
	changed  chan struct{} // closed and made anew when user interfaces have to look again
	closed   bool
	denials  int
	cooledAt time.Time // nothing is asked before
	refused  int       // since the last prompt was shown
}

// entry is one prompt.
type entry struct {
	id       string
	facts    Facts
	digest   Digest
	view     View
	opened   event.Prepared
	created  time.Time
	shown    bool
	waiters  []*waiter
	timeout  *time.Timer
	grace    *time.Timer // runs while nobody could answer
	graces   int         // counts them: one that was stopped too late is of an earlier number
	ctx      context.Context
	end      context.CancelFunc // the prompt is closed
	declined map[*Attachment]bool
}

// waiter is one request that waits for the prompt: several, if they are identical.
type waiter struct{ got chan settlement }

// settlement is how a prompt ended: with an answer, or with a code.
type settlement struct {
	answer Answer
	by     string
	at     time.Time
	code   Code
}

// reason is the settlement in the words of prompt_closed.
func (s settlement) reason() string {
	if s.code == Timeout {
		return "timeout"
	}
	return cmp.Or(string(s.code), "answered")
}

// New returns a broker without a user interface.
func New(o Options) (*Broker, error) {
	if o.Hub == nil {
		return nil, errors.New("prompt: no event hub")
	}
	if o.Timeout != 0 && o.Timeout < LeastTimeout {
		return nil, fmt.Errorf("prompt: a timeout of %v is less than a second", o.Timeout)
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.Timeout, DefaultTimeout}, {&o.Grace, DefaultGrace}, {&o.Coalesce, DefaultCoalesce}, {&o.Cooldown, DefaultCooldown}} {
		if *d.field < 0 {
			return nil, errors.New("prompt: a negative time")
		}
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	for _, n := range []struct {
		field *int
		value int
	}{{&o.Denials, DefaultDenials}, {&o.Pending, DefaultPending}, {&o.PerSecond, PromptsPerSecond}} {
		if *n.field <= 0 {
			*n.field = n.value
		}
	}
	return &Broker{o: o, bucket: NewBucket(o.PerSecond), uis: map[*Attachment]bool{}, changed: make(chan struct{})}, nil
}

// Close settles what is pending as shutting_down, and ends [Broker.Serve]. What is asked
// later is refused.
func (b *Broker) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.settleAll(ShuttingDown)
	b.wake()
}

// List returns the pending prompts, the one that is shown first.
func (b *Broker) List() []View {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]View, 0, len(b.queue))
	for _, e := range b.queue {
		all = append(all, e.view)
	}
	return all
}

// wake lets user interfaces look again.
func (b *Broker) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// settleAll ends all prompts for one reason, the last first: none becomes the active one.
func (b *Broker) settleAll(code Code) {
	for len(b.queue) > 0 {
		b.settle(b.queue[len(b.queue)-1], settlement{code: code})
	}
}

// settle ends a prompt once. Whoever comes second finds it gone.
func (b *Broker) settle(e *entry, s settlement) {
	if !b.remove(e) {
		return
	}
	e.timeout.Stop()
	if e.grace != nil {
		e.grace.Stop()
	}
	e.end()
	b.o.Hub.Send(b.o.Hub.Prepare(event.PromptClosed{RequestID: e.id, Reason: s.reason(), Shown: e.shown}))
	for _, w := range e.waiters {
		w.got <- s // has room for one, and gets one
	}
	b.activate()
}

// remove takes a prompt out of the queue.
func (b *Broker) remove(e *entry) bool {
	for i, other := range b.queue {
		if other == e {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			return true
		}
	}
	return false
}

// activate shows the first prompt, once there is somebody to show it to: the event is for
// the moment at which a person is asked.
func (b *Broker) activate() {
	if len(b.queue) == 0 || len(b.uis) == 0 || b.queue[0].shown {
		return
	}
	e := b.queue[0]
	e.shown = true
	e.view.Refused, b.refused = b.refused, 0
	b.o.Hub.Send(e.opened)
	b.wake()
}

// watch runs the grace of each prompt that nobody could answer, and stops that of others.
func (b *Broker) watch() {
	for _, e := range b.queue {
		alone := true
		for a := range b.uis {
			alone = alone && e.declined[a]
		}
		switch {
		case alone && e.grace == nil:
			e.graces++
			which := e.graces
			e.grace = time.AfterFunc(b.o.Grace, func() { b.abandon(e, which) })
		case !alone && e.grace != nil:
			e.grace.Stop()
			e.grace = nil
		}
	}
}

// abandon ends a prompt after its grace, unless somebody came in the same moment.
func (b *Broker) abandon(e *entry, which int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.grace != nil && e.graces == which {
		b.settle(e, settlement{code: NoUI})
	}
}
