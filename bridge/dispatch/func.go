package dispatch

import (
	"context"
	"errors"
	"maps"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

// Handler carries out the calls of one tool, which may come at the same time. The context ends
// at the deadline and when the caller is gone. Its output may be nil. An error that is a
// *Failure is told; the text of any other is not.
type Handler func(ctx context.Context, r *envelope.Request) (*strictjson.Value, error)

// Failure is why a call did not succeed, in words for the caller. What is no status of a
// failure, or no code, is internal_error.
type Failure struct {
	Status  envelope.Status
	Code    string
	Message string // our own words: nothing that the caller may not know
}

// Error returns the code and the message.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Functions is a dispatcher to functions of this program. The zero value has none, and answers
// every call with bridge_not_configured.
type Functions struct {
	handlers map[string]Handler
	timeout  time.Duration
}

// Func returns a dispatcher to functions by the names of their tools. The deadline of one call
// is timeout; 0 is 30 s, more than 10 min is that.
func Func(handlers map[string]Handler, timeout time.Duration) *Functions {
	return &Functions{handlers: maps.Clone(handlers), timeout: min(max(timeout, 0), MaxTimeout)}
}

// Dispatch calls the function of the tool. One that panics has failed.
func (f *Functions) Dispatch(ctx context.Context, r *envelope.Request) *envelope.Result {
	handler := f.handlers[r.Tool]
	if handler == nil {
		return fail(r, envelope.Unavailable, envelope.CodeBridgeNotConfigured)
	}
	timeout := f.timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	call, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done := make(chan *envelope.Result, 1)
	go handle(call, r, handler, done)
	select {
	case res := <-done:
		if call.Err() == nil {
			return res
		}
	case <-call.Done():
	}
	if gone(ctx) {
		return fail(r, envelope.Failed, envelope.CodeCallerGone)
	}
	return fail(r, envelope.Timeout, envelope.CodeDispatchTimeout)
}

// handle calls the handler and answers, whatever it does: it may also end its goroutine.
func handle(ctx context.Context, r *envelope.Request, handler Handler, done chan<- *envelope.Result) {
	res := fail(r, envelope.Failed, envelope.CodeInternalError)
	defer func() {
		_ = recover()
		done <- res
	}()
	output, err := handler(ctx, r)
	var failure *Failure
	switch {
	case err == nil:
		res = r.Succeed(output)
	case errors.As(err, &failure) && failure != nil:
		res = r.Fail(failure.Status, failure.Code, failure.Message)
	}
}
