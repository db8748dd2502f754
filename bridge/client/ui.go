package client

import (
	"context"
	"fmt"
	"time"

	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// UI is an operator's connection, for any number of goroutines.
type UI struct {
	conn    *conn
	welcome wire.Welcome
	events  *queue
}

// OpenUI connects to ui.sock and proves that it can read the key in keyFile.
func OpenUI(ctx context.Context, socket, keyFile string) (*UI, error) {
	key, err := wire.ReadKey(keyFile)
	if err != nil {
		return nil, err
	}
	f, err := dialPath(socket, defaultWait)
	if err != nil {
		return nil, err
	}
	u := &UI{events: newQueue()}
	greeting := make(chan [wire.NonceSize]byte, 1)
	u.conn = newConn(f, 0, func(m *wire.Message) { u.take(m, greeting) })
	if err := u.hello(ctx, key, greeting); err != nil {
		u.conn.close(nil)
		return nil, err
	}
	return u, nil
}

func (u *UI) hello(ctx context.Context, key wire.Key, greeting <-chan [wire.NonceSize]byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, defaultWait, errNoHello)
	defer cancel()
	select {
	case nonce := <-greeting:
		h := wire.Hello{Protocol: wire.Protocol, Client: "brainbox", Proof: key.Proof(nonce)}
		var err error
		u.welcome, err = u.conn.hello(ctx, h, defaultWait)
		return err
	case <-u.conn.done:
		return u.conn.reason()
	case <-ctx.Done():
		return fmt.Errorf("greeting: %w", context.Cause(ctx))
	}
}

// take sorts what the host says by itself.
func (u *UI) take(m *wire.Message, greeting chan<- [wire.NonceSize]byte) {
	if nonce, err := wire.ReadNonce(m); err == nil {
		select {
		case greeting <- nonce:
		default: // a second one counts for nothing
		}
		return
	}
	if m.Method != wire.MethodEvent {
		return
	}
	if e, err := wire.ReadEvent(m.Params); err == nil {
		u.events.put(e)
	}
}

// Session is the session whose operator this is.
func (u *UI) Session() string { return u.welcome.Session }

// Done is closed when the connection has ended.
func (u *UI) Done() <-chan struct{} { return u.conn.done }

// Close ends the connection.
func (u *UI) Close() error {
	u.conn.close(nil)
	return nil
}

// Subscribe begins the stream of events that [UI.Next] returns: of the topics, all with
// none; since is the number of the last one that was seen, nil: from now on. seq is that
// of the newest one. It is called once.
func (u *UI) Subscribe(ctx context.Context, topics []string, since *uint64) (seq uint64, err error) {
	params := strictjson.Object(strictjson.Pair("topics", strictjson.Texts(topics)))
	if since != nil {
		params.Add("since", strictjson.Uint(*since))
	}
	v, err := u.conn.call(ctx, wire.MethodEventsSubscribe, &params)
	if err != nil {
		return 0, err
	}
	f := strictjson.BindLenient(v)
	seq = uint64(f.Int("seq", 0, 1<<62)) //nolint:gosec // not negative
	return seq, f.Err()
}

// Next returns the next event. What was not delivered is told by one with [TopicGap] in
// its place. At the end of the connection the error is [ErrClosed].
func (u *UI) Next(ctx context.Context) (wire.Event, error) {
	for {
		if e, ok := u.events.get(); ok {
			return e, nil
		}
		select {
		case <-u.events.more:
		case <-ctx.Done():
			return wire.Event{}, context.Cause(ctx)
		case <-u.conn.done:
			if e, ok := u.events.get(); ok {
				return e, nil
			}
			return wire.Event{}, u.conn.reason()
		}
	}
}

// Prompts returns the pending prompts, the one that is shown first.
func (u *UI) Prompts(ctx context.Context) ([]strictjson.Value, error) {
	return u.list(ctx, wire.MethodPromptList, "prompts")
}

// Prompt returns one pending prompt, with more of it than may be in the list; nil: there is
// none with this id.
func (u *UI) Prompt(ctx context.Context, id string) (*strictjson.Value, error) {
	params := strictjson.Object(strictjson.Pair("requestId", strictjson.Text(id)))
	list, err := u.listOf(ctx, wire.MethodPromptList, "prompts", &params)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// Grants returns what was approved for the rest of the session.
func (u *UI) Grants(ctx context.Context) ([]strictjson.Value, error) {
	return u.list(ctx, wire.MethodGrantsList, "grants")
}

func (u *UI) list(ctx context.Context, method, key string) ([]strictjson.Value, error) {
	return u.listOf(ctx, method, key, nil)
}

func (u *UI) listOf(ctx context.Context, method, key string, params *strictjson.Value) ([]strictjson.Value, error) {
	v, err := u.conn.call(ctx, method, params)
	if err != nil {
		return nil, err
	}
	list := v.Get(key)
	if list == nil || list.Kind != strictjson.KindArray {
		return nil, fmt.Errorf("%s: the host's answer has no list of %s", method, key)
	}
	return list.Items, nil
}

// Reply is what a person says to one prompt.
type Reply struct {
	RequestID string
	Digest    string        // of what was shown
	Decision  string        // approve, approve_session or deny
	Scope     string        // of approve_session: this_agent or whole_session; empty: absent
	For       time.Duration // of approve_session, in whole milliseconds; 0: for the session
	Reason    string        // of a denial; empty: absent
	Edited    *strictjson.Value
}

// Answer answers a prompt. A *[wire.Error] with stale_prompt says that it is closed, or
// that another snapshot of it was shown.
func (u *UI) Answer(ctx context.Context, r Reply) error {
	params := strictjson.Object(
		strictjson.Pair("requestId", strictjson.Text(r.RequestID)), strictjson.Pair("decision", strictjson.Text(r.Decision)),
		strictjson.Pair("digest", strictjson.Text(r.Digest)))
	add(&params, "scope", r.Scope)
	add(&params, "reason", r.Reason)
	if r.For > 0 {
		params.Add("forMs", strictjson.Int(r.For.Milliseconds()))
	}
	if r.Edited != nil {
		params.Add("editedInput", *r.Edited)
	}
	_, err := u.conn.call(ctx, wire.MethodPromptAnswer, &params)
	return err
}

// Revoke takes back one approval of the session; false: there is none with this id.
func (u *UI) Revoke(ctx context.Context, id string) (bool, error) {
	params := strictjson.Object(strictjson.Pair("id", strictjson.Text(id)))
	v, err := u.conn.call(ctx, wire.MethodGrantsRevoke, &params)
	if err != nil {
		return false, err
	}
	f := strictjson.BindLenient(v)
	return f.Bool("revoked"), f.Err()
}
