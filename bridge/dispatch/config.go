package dispatch

import (
	"time"

	"brainbox/bridge/envelope"
)

// DefaultTimeout is the deadline of a call where none is configured (section A.2).
const DefaultTimeout = 30 * time.Second

// MaxTimeout is the longest one.
const MaxTimeout = 10 * time.Minute

// maxResult bounds the text of a result, in bytes (section A.3).
const maxResult = 1 << 20

// The codes of a configuration that refuses the launch (section A.9).
const (
	CodeArgvInvalid    = "bridge_argv_invalid"
	CodeEnvNameInvalid = "bridge_env_name_invalid"
	CodeTimeoutInvalid = "bridge_timeout_invalid"
	// CodeHostInvalid is for what the host says about itself: a keeper, a folder, a tree.
	CodeHostInvalid = "bridge_host_invalid"
)

// ConfigError refuses a launch. It holds no value of a variable.
type ConfigError struct {
	Code string // one of the Code constants
	Msg  string
	Err  error // may be nil
}

// Error returns the code and what is wrong.
func (e *ConfigError) Error() string {
	s := "dispatch: " + e.Code + ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// Problem is why every call of a dispatcher is unavailable. Its message is for the operator and
// names the variable or the program, but no value.
type Problem struct {
	Code string // of package envelope, with unavailable
	Msg  string
}

// Error returns the code and what is missing.
func (p *Problem) Error() string { return p.Code + ": " + p.Msg }

// unavailable is the answer to every call.
func (p *Problem) unavailable(r *envelope.Request) *envelope.Result {
	return r.Fail(envelope.Unavailable, p.Code, messages[p.Code])
}

// messages are what a caller is told: our own words, the same whatever the cause.
var messages = map[string]string{
	envelope.CodeBridgeNotConfigured:  "nothing carries out this tool",
	envelope.CodeDispatcherEnvMissing: "the dispatcher of this bridge is not configured",
	envelope.CodeEndpointURLInvalid:   "the address of the endpoint cannot be used",
	envelope.CodeEndpointInsecure:     "the connection to the endpoint would not be secure",
	envelope.CodeEndpointAuthFailed:   "the endpoint did not accept the credentials of the host",
	envelope.CodeEndpointForbidden:    "the endpoint forbids this call",
	envelope.CodeEndpointNotFound:     "the endpoint does not have this address",
	envelope.CodeEndpointBusy:         "the endpoint is busy",
	envelope.CodeEndpointUnreachable:  "the endpoint cannot be reached",
	envelope.CodeEndpointHTTPError:    "the endpoint failed; the call may have taken effect",
	envelope.CodeRedirectRefused:      "the endpoint sent the call elsewhere, which is refused",
	envelope.CodeCommandNotFound:      "the command of this bridge was not found",
	envelope.CodeCommandStartFailed:   "the command of this bridge could not be started",
	envelope.CodeCommandExitNonzero:   "the command failed",
	envelope.CodeCommandSignaled:      "a signal ended the command",
	envelope.CodeDispatchTimeout:      "the call took too long",
	envelope.CodeCallerGone:           "the caller is gone",
	envelope.CodeResultNotJSON:        "the answer of the tool is not one JSON value",
	envelope.CodeResultTooLarge:       "the answer of the tool is too large",
	envelope.CodeInternalError:        "internal error",
}

// fail is a result with the words that belong to its code.
func fail(r *envelope.Request, status envelope.Status, code string) *envelope.Result {
	return r.Fail(status, code, messages[code])
}

// timeoutOf returns the deadline of a call, or false.
func timeoutOf(d time.Duration) (time.Duration, bool) {
	if d == 0 {
		return DefaultTimeout, true
	}
	return d, d > 0 && d <= MaxTimeout
}
