package bridge

import (
	"context"
	"errors"
	"strconv"
	"time"

	"brainbox/bridge/wire"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/internal/strictjson"
)

// subscribe is events.subscribe. A connection has one stream, which begins behind the
// answer.
func (c *conn) subscribe(_ context.Context, params *strictjson.Value) (reply, error) {
	f := strictjson.Bind(params, "topics", "since")
	topics := f.Strings("topics", len(event.Topics()))
	opts := event.Subscribe{Topics: make([]event.Topic, len(topics))}
	for i, t := range topics {
		opts.Topics[i] = event.Topic(t)
	}
	if f.Has("since") {
		since := uint64(f.Int("since", 0, 1<<62)) //nolint:gosec // not negative
		opts.Since = &since
	}
	if err := f.Err(); err != nil {
		return reply{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed {
		return reply{}, &wire.Error{Code: wire.CodeFieldInvalid, Message: "the connection is subscribed"}
	}
	sub, err := c.s.c.Hub.Subscribe(opts)
	if errors.Is(err, event.ErrClosed) {
		return reply{}, &wire.Error{Code: wire.CodeShuttingDown, Message: "the session is over"}
	}
	if err != nil {
		return reply{}, &wire.Error{Code: wire.CodeFieldInvalid, Message: "there is no such topic"}
	}
	c.subscribed = true
	if len(topics) == 0 || contains(topics, string(event.TopicUIPrompt)) {
		if _, err := c.attached(); err != nil {
			sub.Close()
			return reply{}, err
		}
	}
	v := strictjson.Object(
		strictjson.Pair("seq", strictjson.Uint(c.s.c.Hub.Seq())),
		strictjson.Pair("ready", strictjson.Bool(c.s.c.Hub.IsReady())),
	)
	return reply{value: &v, after: func(sent bool) {
		if !sent {
			sub.Close()
			return
		}
		c.wg.Add(1) // the call itself is still counted
		go c.stream(sub)
	}}, nil
}

// stream sends events until the connection is over, or the subscriber does not keep up:
// then the connection is closed.
func (c *conn) stream(sub *event.Subscription) {
	defer c.wg.Done()
	defer sub.Close()
	for {
		e, err := sub.Next(c.ctx)
		if err != nil {
			if errors.Is(err, event.ErrSlow) {
				c.s.log.Warn("slow subscriber closed", "pid", c.peer.PID)
				c.cancel(errGone)
			}
			return
		}
		frame := wire.AppendEvent(nil, string(e.Topic), e.Seq, e.Time, e.Data)
		if !c.out.putEvent(c.ctx, frame) {
			return
		}
	}
}

// attached is the connection's place among the user interfaces, taken when it is first
// needed: with it, prompts wait for an answer. The lock is held.
func (c *conn) attached() (*prompt.Attachment, error) {
	if c.detached { // its calls may end after it
		return nil, &wire.Error{Code: wire.CodeShuttingDown, Message: "the connection is over"}
	}
	if c.attachment != nil {
		return c.attachment, nil
	}
	if c.s.c.Broker == nil {
		return nil, nil //nolint:nilnil // there are no prompts
	}
	a, err := c.s.c.Broker.Attach("ui " + strictjson.Escape(c.client))
	if err != nil {
		return nil, &wire.Error{Code: wire.CodeShuttingDown, Message: "the session is over"}
	}
	c.attachment = a
	return a, nil
}

func (c *conn) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detached = true
	if c.attachment != nil {
		c.attachment.Detach()
	}
}

// promptAnswer is prompt.answer.
func (c *conn) promptAnswer(_ context.Context, params *strictjson.Value) (reply, error) {
	ans, err := readAnswer(params)
	if err != nil {
		return reply{}, err
	}
	c.mu.Lock()
	a, err := c.attached()
	c.mu.Unlock()
	switch {
	case err != nil:
		return reply{}, err
	case a == nil:
		return reply{}, &wire.Error{Code: wire.CodeStalePrompt, Message: "there are no prompts"}
	}
	switch err := a.Answer(ans); {
	case errors.Is(err, prompt.ErrStale):
		return reply{}, &wire.Error{Code: wire.CodeStalePrompt, Message: "the prompt is closed, or is another one than was shown"}
	case errors.Is(err, prompt.ErrInvalid):
		return reply{}, &wire.Error{Code: wire.CodeFieldInvalid, Message: err.Error()}
	case err != nil:
		return reply{}, &wire.Error{Code: wire.CodeShuttingDown, Message: "the session is over"}
	}
	v := strictjson.Object()
	return reply{value: &v}, nil
}

// readAnswer binds the params of prompt.answer.
func readAnswer(params *strictjson.Value) (prompt.Answer, error) {
	f := strictjson.Bind(params, "requestId", "decision", "scope", "forMs", "reason", "editedInput", "digest")
	a := prompt.Answer{ID: f.String("requestId"), Reason: optional(f, "reason")}
	decision := f.Enum("decision", "approve", "approve_session", "deny")
	if decision != "deny" {
		a.Decision = prompt.Approve
	}
	if decision == "approve_session" {
		a.Scope.Lasts = prompt.ForRun
	} else if f.Has("scope") || f.Has("forMs") {
		f.Invalid("scope", "only with approve_session")
	}
	if f.Has("scope") {
		a.Scope.WholeSession = f.Enum("scope", "this_agent", "whole_session") == "whole_session"
	}
	if f.Has("forMs") {
		a.Scope.Lasts = prompt.ForTime
		a.Scope.For = time.Duration(f.Int("forMs", 1, prompt.MostFor.Milliseconds())) * time.Millisecond
	}
	if f.Has("editedInput") {
		a.Edited = strictjson.Append(nil, f.Opaque("editedInput", 0))
	}
	var err error
	if a.Digest, err = prompt.ParseDigest(f.String("digest")); err != nil {
		f.Invalid("digest", "64 lower-case hexadecimal digits expected")
	}
	return a, f.Err()
}

// grantsList is grants.list.
func (c *conn) grantsList(_ context.Context, params *strictjson.Value) (reply, error) {
	if err := noParams(params); err != nil {
		return reply{}, err
	}
	all := strictjson.Array()
	for _, e := range c.s.c.Gate.Grants() {
		g := strictjson.Object(
			strictjson.Pair("id", strictjson.Text(strconv.FormatUint(e.ID, 10))),
			strictjson.Pair("surface", strictjson.Text(e.Grant.Surface)),
			strictjson.Pair("pattern", strictjson.Text(e.Grant.Pattern)),
			strictjson.Pair("exact", strictjson.Bool(e.Grant.Exact)),
			strictjson.Pair("row", orNull(e.Grant.Row)),
			strictjson.Pair("agentName", orNull(e.Grant.Agent)),
			strictjson.Pair("wholeSession", strictjson.Bool(e.Grant.Whole)),
			strictjson.Pair("once", strictjson.Bool(e.Once)),
			strictjson.Pair("leftMs", strictjson.Null()),
		)
		if e.Left > 0 {
			*g.Get("leftMs") = strictjson.Int(e.Left.Milliseconds())
		}
		all.Items = append(all.Items, g)
	}
	v := strictjson.Object(strictjson.Pair("grants", all))
	return reply{value: &v}, nil
}

// grantsRevoke is grants.revoke.
func (c *conn) grantsRevoke(_ context.Context, params *strictjson.Value) (reply, error) {
	f := strictjson.Bind(params, "id")
	id, err := strconv.ParseUint(f.String("id"), 10, 64)
	if err != nil {
		f.Invalid("id", "not the id of an approval")
	}
	if err := f.Err(); err != nil {
		return reply{}, err
	}
	v := strictjson.Object(strictjson.Pair("revoked", strictjson.Bool(c.s.c.Gate.Revoke(id))))
	return reply{value: &v}, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
