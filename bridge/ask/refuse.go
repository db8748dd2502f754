package ask

import (
	"context"
	"errors"

	"brainbox/bridge/tool"
	"brainbox/internal/strictjson"
)

// The codes of this package, beside permission_denied and prompt_timeout of contract
// bridge-and-gate §A.5.
const (
	CodeInput       = "invalid_request"   // failed: the input is no such input; nobody was asked
	CodeUnsupported = "not_supported"     // unavailable: the host has no such method
	CodeNotAllowed  = "authority_revoked" // denied: there is no decision that allows the call
	CodeUnanswered  = "not_answered"      // failed: dismissed, disconnected, or the host's error
	CodeAnswer      = "answer_invalid"    // failed: the answer does not fit the question
	CodeRecord      = "record_invalid"    // failed: the host's record is no JSON
	CodeCancelled   = "cancelled"         // failed: the caller went away
	CodeTooLarge    = "result_too_large"  // failed
)

// Declined is a host's error that says why there is no answer. The reason is for the model:
// at most 300 UTF-16 units of it are told.
type Declined struct{ Reason string }

// Error is the reason.
func (d *Declined) Error() string { return "ask: declined: " + d.Reason }

// badInput is a fault that no schema can express. Its text is for the caller.
type badInput string

// Error is the text.
func (b badInput) Error() string { return string(b) }

// badAnswer is an answer that does not fit. Its text is for the caller.
type badAnswer string

// Error is the text.
func (b badAnswer) Error() string { return string(b) }

// shown is text of the caller's in a message: quoted, without anything hidden, cut.
func shown(s string) string { return `"` + strictjson.Escape(cut(s, 64)) + `"` }

// invalid is the refusal of an input.
func invalid(name string, err error) error {
	var e *strictjson.Error
	if errors.As(err, &e) {
		text := e.Msg
		if e.Field != "" {
			text = e.Field + ": " + text
		}
		return &tool.Refusal{Code: CodeInput, Message: name + ": " + text}
	}
	return &tool.Refusal{Code: CodeInput, Message: name + ": " + err.Error()}
}

// failed is the refusal of a call that has no answer. The host's own error is not told: it
// may say more than the caller should know.
func (p planned) failed(ctx context.Context, err error) error {
	var refusal *tool.Refusal
	var answer badAnswer
	var declined *Declined
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.As(err, &answer):
		return &tool.Refusal{Code: CodeAnswer, Message: p.name + ": " + string(answer)}
	case errors.As(err, &declined) && declined.Reason != "":
		return &tool.Refusal{Code: CodeUnanswered, Message: p.name + ": not answered: " + cut(declined.Reason, 300)}
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded):
		return &tool.Refusal{Status: "timeout", Code: "prompt_timeout", Message: p.name + ": nobody answered in time."}
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return &tool.Refusal{Code: CodeCancelled, Message: p.name + ": the call was cancelled."}
	}
	return &tool.Refusal{Code: CodeUnanswered, Message: p.name + ": not answered. Go on without the answer instead of asking again at once."}
}
