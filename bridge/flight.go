package bridge

import (
	"context"
	"errors"
	"runtime/debug"

	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// reply is what a call answers: a value, and another one for when that makes too long a
// frame.
type reply struct {
	value *strictjson.Value
	short func(code string) *strictjson.Value // is told why: a code of strictjson; nil: an internal error
	after func(sent bool)                     // is called once: the answer is queued, or never will be
}

// handler answers one call, in a goroutine of its own.
type handler func(c *conn, ctx context.Context, params *strictjson.Value) (reply, error)

// handlers are the methods that take a place among the calls in flight.
var handlers = map[string]handler{
	wire.MethodToolCall:         (*conn).toolCall,
	wire.MethodFSWrite:          mediated(wire.MethodFSWrite),
	wire.MethodFSMkdir:          mediated(wire.MethodFSMkdir),
	wire.MethodFSRename:         mediated(wire.MethodFSRename),
	wire.MethodFSRemove:         mediated(wire.MethodFSRemove),
	wire.MethodFSMask:           mediated(wire.MethodFSMask),
	wire.MethodPermissionCheck:  (*conn).permissionCheck,
	wire.MethodPermissionPrompt: (*conn).permissionPrompt,
	wire.MethodDelegate:         (*conn).delegate,
	wire.MethodEventsSubscribe:  (*conn).subscribe,
	wire.MethodPromptList:       (*conn).promptList,
	wire.MethodPromptAnswer:     (*conn).promptAnswer,
	wire.MethodGrantsList:       (*conn).grantsList,
	wire.MethodGrantsRevoke:     (*conn).grantsRevoke,
}

// start begins a call, or says why it cannot be made now. What is refused so was not
// looked into: the same request may come again.
func (c *conn) start(m *wire.Message, weight int64) error {
	h := handlers[m.Method]
	bucket := c.lane.bucket(m.Method)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case h == nil:
		return &wire.Error{Code: wire.CodeMethodUnknown, Message: "there is no such method"}
	case c.flights[m.ID] != nil:
		return &wire.Error{Code: wire.CodeIDInUse, Message: "a call with this id is in flight"}
	case len(c.flights) >= c.s.l.InFlight:
		return &wire.Error{Code: wire.CodeOverloaded, Message: "too many calls are in flight"}
	case !bucket.Take():
		return &wire.Error{Code: wire.CodeOverloaded, Message: "too many calls a second"}
	}
	if err := c.s.enter(c.role, weight); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	f := &flight{cancel: cancel, weight: weight}
	c.flights[m.ID] = f
	c.wg.Add(1)
	go c.fly(ctx, f, h, m.ID, params(m))
	return nil
}

// fly makes the call and answers it. The place is free before the answer is read.
func (c *conn) fly(ctx context.Context, f *flight, h handler, id string, params *strictjson.Value) {
	defer c.wg.Done()
	r, err := c.run(ctx, h, params)
	c.mu.Lock()
	delete(c.flights, id)
	c.mu.Unlock()
	gone := errors.Is(context.Cause(ctx), errGone)
	f.cancel(nil)
	sent := !gone && c.deliver(id, r, err)
	if r.after != nil {
		r.after(sent)
	}
	c.s.exit(c.role, f.weight)
}

// run makes the call; a panic is an internal error, whose stack only the log has.
func (c *conn) run(ctx context.Context, h handler, params *strictjson.Value) (r reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.s.log.Error("panic", "stack", strictjson.Escape(string(debug.Stack())))
			r, err = reply{}, &wire.Error{Code: wire.CodeInternal, Message: "internal error"}
		}
	}()
	return h(c, ctx, params)
}

// deliver queues the answer of a call.
func (c *conn) deliver(id string, r reply, err error) bool {
	if err != nil {
		return c.fail(id, wire.Refusal(err))
	}
	frame, code := c.frame(id, r.value)
	if code != "" && r.short != nil {
		frame, code = c.frame(id, r.short(code))
	}
	if code != "" {
		return c.fail(id, &wire.Error{Code: wire.CodeInternal, Message: "the answer is too long for a frame"})
	}
	return c.queue(frame)
}

// frame makes the frame of a result, or says why no client could read it.
func (c *conn) frame(id string, v *strictjson.Value) (frame []byte, code string) {
	if code := wire.Unreadable(v); code != "" {
		return nil, code
	}
	m := wire.Message{Kind: wire.Result, ID: id, Result: v}
	if frame = m.Append(nil); len(frame) > c.s.l.Frame {
		return nil, wire.CodeFrameTooLarge
	}
	return frame, ""
}

// withdrawn is the error of a call whose context ended, or nil.
func withdrawn(ctx context.Context) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return nil
	case errors.Is(cause, errCancelled):
		return &wire.Error{Code: wire.CodeCancelled, Message: "cancelled by the caller"}
	default:
		return &wire.Error{Code: wire.CodeShuttingDown, Message: "the session is over"}
	}
}
