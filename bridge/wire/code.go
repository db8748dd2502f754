package wire

import (
	"errors"

	"brainbox/internal/strictjson"
)

// The codes of errors (section E.5). What package strictjson refuses has its own, which
// are codes here too.
const (
	CodeEncodingInvalid     = strictjson.CodeEncodingInvalid
	CodeNotJSON             = strictjson.CodeNotJSON
	CodeFrameTooLarge       = strictjson.CodeFrameTooLarge
	CodeTooComplex          = strictjson.CodeTooComplex
	CodeDuplicateKey        = strictjson.CodeDuplicateKey
	CodeUnknownField        = strictjson.CodeUnknownField
	CodeFieldInvalid        = strictjson.CodeFieldInvalid
	CodeSchemaInvalid       = strictjson.CodeSchemaInvalid
	CodeVersionUnsupported  = strictjson.CodeVersionUnsupported
	CodeHelloRequired       = "hello_required"
	CodeIDInUse             = "id_in_use"
	CodeProtocolUnsupported = "protocol_unsupported"
	CodeMethodUnknown       = "method_unknown"
	CodeSurfaceUnknown      = "surface_unknown"
	CodeInternal            = "internal_error"
	CodeRoleForbidden       = "role_forbidden"
	CodeNoUI                = "no_ui"
	CodeStalePrompt         = "stale_prompt"
	CodeOverloaded          = "overloaded"
	CodeShuttingDown        = "shutting_down"
	CodeCancelled           = "cancelled"
	CodeNotReady            = "not_ready"
)

// Number is the JSON-RPC code that goes with a code. A code that is not of the table has
// that of an internal error.
func Number(code string) int64 {
	switch code {
	case CodeEncodingInvalid, CodeNotJSON, CodeFrameTooLarge, CodeTooComplex, CodeDuplicateKey:
		return -32700
	case CodeHelloRequired, CodeIDInUse, CodeUnknownField, CodeProtocolUnsupported:
		return -32600
	case CodeMethodUnknown:
		return -32601
	case CodeFieldInvalid, CodeSchemaInvalid, CodeVersionUnsupported, CodeSurfaceUnknown:
		return -32602
	case CodeRoleForbidden, CodeNoUI, CodeStalePrompt, CodeOverloaded, CodeShuttingDown, CodeCancelled, CodeNotReady:
		return -32000
	}
	return -32603
}

// Error is the error of a call: data.code of the wire, and a sentence. It is what went
// wrong with the message; what became of a well-formed call is its result.
type Error struct {
	Code    string
	Message string
}

// Error returns the code and the sentence, both escaped.
func (e *Error) Error() string {
	return "bridge: " + strictjson.Escape(e.Code) + ": " + strictjson.Escape(e.Message)
}

// fail makes an error with a fixed sentence.
func fail(code, message string) *Error { return &Error{Code: code, Message: message} }

// Refusal makes the error that answers a message which was refused with err. The text of
// an error that is neither of this package nor of strictjson is not told.
func Refusal(err error) *Error {
	var own *Error
	var strict *strictjson.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &strict):
		return fail(strict.Code, strict.Error())
	case errors.Is(err, ErrTooLarge):
		return fail(CodeFrameTooLarge, "a frame has at most 1 MiB, line feed included")
	case errors.Is(err, ErrCarriageReturn):
		return fail(CodeNotJSON, "a carriage return in a frame")
	}
	return fail(CodeInternal, "internal error")
}
