package client

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// The codes that the reference client has for what goes wrong on this side, and the stage
// that it names (contract bridge-and-gate, section A.4). They are in the diagnostics of
// the result, whose own code is one of section A.5.
const (
	Stage                 = "parent_tool_bridge"
	CodeBridgeMissing     = "parent_tool_bridge_missing"
	CodeDenied            = "parent_tool_denied"
	CodeDispatcherMissing = "parent_tool_dispatcher_missing"
	CodeResultInvalid     = "parent_tool_result_invalid"
)

// DefaultOperation is what a call is when nothing else is said.
const DefaultOperation = "call"

// Call asks for one tool. What became of a well-formed call is the result, also when it is
// denied, failed or the host is gone; nothing is tried again, and nothing is done here
// instead. The error is a *[wire.Error] for a call that the host cannot read, or the
// context's: then the host was told to stop, but the call may have taken effect.
func (c *Client) Call(ctx context.Context, tool string, input *strictjson.Value) (*envelope.Result, error) {
	return c.Do(ctx, c.NewRequest(tool, input))
}

// NewRequest is the request that [Client.Call] makes. A nil input is null.
func (c *Client) NewRequest(tool string, input *strictjson.Value) *envelope.Request {
	r := newRequest(c.session, tool)
	if input != nil {
		r.Input = *input
	}
	return r
}

func newRequest(session, tool string) *envelope.Request {
	return &envelope.Request{
		ID: requestID(), Tool: tool, Operation: DefaultOperation,
		Session: envelope.Session{ID: session}, Metadata: strictjson.Object(),
	}
}

// requestID has the form of the reference client, and enough chance in it that no two
// requests of a session are alike.
func requestID() string {
	return "ptr-" + strconv.FormatInt(time.Now().UnixMilli(), 36) + "-" + newName()
}

// Do is [Client.Call] for a request that the caller filled in.
func (c *Client) Do(ctx context.Context, r *envelope.Request) (*envelope.Result, error) {
	if !strictjson.ToolName(r.Tool) {
		return nil, &wire.Error{Code: wire.CodeFieldInvalid, Message: "no name of a tool"}
	}
	// A courtesy: the host looks for itself.
	if tools := c.Tools(); tools != nil && !slices.Contains(tools, r.Tool) {
		return staged(r.Fail(envelope.Denied, envelope.CodeToolNotAllowed, "the bridge does not offer this tool"), CodeDenied), nil
	}
	params := r.Value()
	value, err := c.conn.call(ctx, wire.MethodToolCall, &params)
	if err != nil {
		return asResult(r, err)
	}
	res, code := envelope.ReadResult(r, value)
	if res == nil {
		return staged(r.Fail(envelope.Failed, code, "the host's answer is no result of this call"), CodeResultInvalid), nil
	}
	return res, nil
}

// asResult says in a result what a host that is not there, or does not want to, means for
// a call. Any other error stays one.
func asResult(r *envelope.Request, err error) (*envelope.Result, error) {
	var e *wire.Error
	told := errors.As(err, &e)
	switch {
	case errors.Is(err, ErrClosed):
		return r.Fail(envelope.Unavailable, envelope.CodeShuttingDown, "the host ended before it answered; the call may have taken effect"), nil
	case !told:
		return nil, err
	case e.Code == wire.CodeShuttingDown:
		return r.Fail(envelope.Unavailable, envelope.CodeShuttingDown, "the host is shutting down"), nil
	case e.Code == wire.CodeOverloaded:
		return r.Fail(envelope.Unavailable, envelope.CodeOverloaded, "the host has too much to do"), nil
	case e.Code == wire.CodeNotReady, e.Code == wire.CodeMethodUnknown:
		return staged(r.Fail(envelope.Unavailable, envelope.CodeBridgeNotConfigured, "the host has no tools to call"), CodeDispatcherMissing), nil
	}
	return nil, err
}

// Unavailable is the result of a call that could not be made because [Open] failed with
// err: no fallback, section E.8.
func Unavailable(tool string, err error) *envelope.Result {
	r := newRequest("", tool)
	message := "there is no bridge here"
	var told *wire.Error
	switch {
	case errors.Is(err, ErrNone):
	case errors.As(err, &told) && told.Code == wire.CodeOverloaded:
		return r.Fail(envelope.Unavailable, envelope.CodeOverloaded, "the host has no place for another client")
	case errors.As(err, &told) && told.Code == wire.CodeShuttingDown:
		return r.Fail(envelope.Unavailable, envelope.CodeShuttingDown, "the host is shutting down")
	case err != nil:
		message = "the bridge cannot be used: " + strictjson.Escape(err.Error())
	}
	return staged(r.Fail(envelope.Unavailable, envelope.CodeBridgeNotConfigured, message), CodeBridgeMissing)
}

// staged names what went wrong on this side.
func staged(res *envelope.Result, code string) *envelope.Result {
	res.Diagnostics = strictjson.Object(
		strictjson.Pair("stage", strictjson.Text(Stage)), strictjson.Pair("code", strictjson.Text(code)))
	return res
}
