package prompt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"brainbox/gate/event"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// desk is a session with its hub, its broker and all events.
type desk struct {
	t   *testing.T
	hub *event.Hub
	b   *Broker
	sub *event.Subscription
}

func newDesk(t *testing.T, o Options) *desk {
	t.Helper()
	d := &desk{t: t, hub: event.New(event.Options{Session: "s1"})}
	o.Hub = d.hub
	var err error
	if d.b, err = New(o); err != nil {
		t.Fatal(err)
	}
	if d.sub, err = d.hub.Subscribe(event.Subscribe{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.b.Close(); d.hub.Close() })
	return d
}

// ask asks and records as the gate does.
func (d *desk) ask(ctx context.Context, r Request) Outcome {
	if r.Record == nil {
		r.Record = d.hub.Begin(event.Request{Surface: r.Facts.Surface, Value: r.Facts.Value, AgentName: r.Facts.Agent})
	}
	defer r.Record.End()
	out := d.b.Ask(ctx, r)
	r.Record.Decide(out.Verdict())
	return out
}

// asking asks in a goroutine.
func (d *desk) asking(r Request) <-chan Outcome {
	got := make(chan Outcome, 1)
	go func() { got <- d.ask(context.Background(), r) }()
	return got
}

// told lists what was published since the last call, as topic:word.
func (d *desk) told() string {
	d.t.Helper()
	var words []string
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		e, err := d.sub.Next(ctx)
		if errors.Is(err, context.Canceled) || errors.Is(err, event.ErrClosed) {
			return strings.Join(words, " ")
		}
		if err != nil {
			d.t.Fatal(err)
		}
		_, name, _ := strings.Cut(string(e.Topic), ":")
		for _, member := range []string{"reason", "resolution", "value"} {
			if _, rest, ok := strings.Cut(e.Data, `"`+member+`":"`); ok {
				word, _, _ := strings.Cut(rest, `"`)
				words = append(words, name+"="+word)
				break
			}
		}
	}
}

// bash is a request that can be granted.
func bash(command string) Facts {
	return Facts{Session: "s1", Agent: "a", Source: ToolCall, Surface: "bash", Tool: "bash", Value: command, Grant: command}
}

// attach adds a user interface that answers when it is told to.
func (d *desk) attach() *Attachment {
	d.t.Helper()
	a, err := d.b.Attach("test")
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

// answer answers the prompt that is shown.
func (d *desk) answer(a *Attachment, ans Answer) error {
	d.t.Helper()
	all := d.b.List()
	if len(all) == 0 {
		d.t.Fatal("nothing is pending")
	}
	ans.ID, ans.Digest = all[0].ID, all[0].Digest
	return a.Answer(ans)
}

// uiFunc is a UI.
type uiFunc func(ctx context.Context, v View) (Answer, error)

func (f uiFunc) Prompt(ctx context.Context, v View) (Answer, error) { return f(ctx, v) }
