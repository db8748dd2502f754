package envelope

import (
	"errors"
	"slices"
	"strings"
	"time"

	"brainbox/internal/strictjson"
)

// Mode is how the calls of a bridge are carried out.
type Mode string

// The two modes.
const (
	HostEndpoint Mode = "host_endpoint" // one HTTP request a call
	HostCommand  Mode = "host_command"  // one process a call
)

// Transport is how a command gets its request and gives its result.
type Transport string

// The two transports.
const (
	Stdio Transport = "stdio" // standard input and output; the default
	File  Transport = "file"  // two files
)

// DefaultTimeout is how long a call may take when the bridge does not say.
const DefaultTimeout = 30 * time.Second

// Bridge is the configuration of one bridge: which tools may be called, and what the host does
// for a call. It is the host's; the sandbox sees [Bridge.Environment] and no more. Nil is no
// bridge: no tool may be called.
type Bridge struct {
	AllowedTools []string // trimmed, in their order, each once

	Mode     Mode
	Endpoint *Endpoint // with HostEndpoint
	Command  *Command  // with HostCommand
	Timeout  time.Duration

	// Unused says that the configuration of the other mode was given as well, and dropped.
	Unused bool

	// unused are the names of variables in it: they may hold secrets as well.
	unused []string

	Variables Variables

	// FailureStatus is denied or unavailable: what calls get while the bridge is not ready. A
	// tool that is not allowed is denied, whatever it says.
	FailureStatus Status

	Transcripts []Ref
	Notes       Notes
	Metadata    strictjson.Value
}

// Endpoint names the variables of the launcher that say where calls go.
type Endpoint struct {
	URLVariable   string
	TokenVariable string // empty: no bearer
}

// Command is a program of the host.
type Command struct {
	Argv        []string // as written, nothing trimmed or dropped
	CwdVariable string   // of the launcher; empty: absent
	Env         []Variable
	Transport   Transport
}

// Variable is one variable of a command's environment.
type Variable struct{ Name, Value string }

// Variables are the names under which the sandbox is told about the bridge.
type Variables struct {
	Ref           string // empty: not told
	Schema        string
	DispatchMode  string
	RequestSchema string
	ResultSchema  string
}

// Notes are for people, and never read by a program.
type Notes struct{ Environment, Authorization, Redaction string }

// Codes of a bridge that does not start (section A.9).
const (
	CodeBridgeSchemaInvalid      = "bridge_schema_invalid"
	CodeBridgeVersionUnsupported = "bridge_version_unsupported"
	CodeBridgeModeInvalid        = "bridge_mode_invalid"
	CodeBridgeDispatcherMissing  = "bridge_dispatcher_missing"
	CodeBridgeDispatcherConflict = "bridge_dispatcher_conflict"
	CodeBridgeToolNameInvalid    = "bridge_tool_name_invalid"
	CodeBridgeEnvNameInvalid     = "bridge_env_name_invalid"
	CodeBridgeSecretEnvForbidden = "bridge_secret_env_forbidden"
	CodeBridgeEndpointInvalid    = "bridge_endpoint_invalid"
	CodeBridgeArgvInvalid        = "bridge_argv_invalid"
	CodeBridgeTimeoutInvalid     = "bridge_timeout_invalid"
	CodeToolNameCollision        = "tool_name_collision"
)

// BridgeError says why a bridge is refused. Its message has no value of the configuration.
type BridgeError struct {
	Code  string
	Field string // dotted path; empty: the whole
	Msg   string
	Err   error // the *strictjson.Error of a text that is no JSON; nil: none
}

// Error returns the code, the field and the reason.
func (e *BridgeError) Error() string {
	s := "bridge: " + e.Code
	if e.Field != "" {
		s += ": " + e.Field
	}
	if e.Msg != "" {
		s += ": " + e.Msg
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *BridgeError) Unwrap() error { return e.Err }

// Launch is what a start knows and the bridge does not.
type Launch struct {
	// LocalTools are the tools that the sandbox has itself (wp-codebox/tool-bridge/v1). None
	// may have the name of a tool of the bridge: a denied call would be answered inside.
	LocalTools []string

	// Strict refuses a bridge that configures both modes.
	Strict bool
}

// Validate checks the bridge against a start. The error is a [*BridgeError].
func (b *Bridge) Validate(l Launch) error {
	if b == nil {
		return nil
	}
	if l.Strict && b.Unused {
		return &BridgeError{
			Code: CodeBridgeDispatcherConflict, Field: "dispatcher",
			Msg: "both an endpoint and a command",
		}
	}
	for _, tool := range b.AllowedTools {
		if slices.Contains(l.LocalTools, tool) {
			return &BridgeError{
				Code: CodeToolNameCollision, Field: "allowed_tools",
				Msg: tool + " is a tool of the sandbox, too",
			}
		}
	}
	return nil
}

// Allows reports whether the tool may be called.
func (b *Bridge) Allows(tool string) bool { return b != nil && slices.Contains(b.AllowedTools, tool) }

// Environment returns what the sandbox is told about the bridge, as name=value: ids of the
// contract, and ref where the bridge names a variable for it. None is a secret or a result. A
// ref is at most 1024 printable ASCII characters; it must not be one of the host's paths.
func (b *Bridge) Environment(ref string) ([]string, error) {
	if b == nil {
		return nil, nil
	}
	v := b.Variables
	env := []string{
		v.Schema + "=" + BridgeSchema,
		v.DispatchMode + "=" + string(b.Mode),
		v.RequestSchema + "=" + RequestSchema,
		v.ResultSchema + "=" + ResultSchema,
	}
	if v.Ref == "" || ref == "" {
		return env, nil
	}
	if len(ref) > 1024 || strings.ContainsFunc(ref, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("bridge: the reference is no printable ASCII text of at most 1024 characters")
	}
	return append(env, v.Ref+"="+ref), nil
}

// HostVariables returns the names of all variables that are the host's alone: an environment
// of the sandbox has none of them, whatever else admits them (section A.9).
func (b *Bridge) HostVariables() []string {
	if b == nil {
		return nil
	}
	var names []string
	if e := b.Endpoint; e != nil {
		names = append(names, e.URLVariable)
		if e.TokenVariable != "" {
			names = append(names, e.TokenVariable)
		}
	}
	if c := b.Command; c != nil {
		if c.CwdVariable != "" {
			names = append(names, c.CwdVariable)
		}
		for _, v := range c.Env {
			names = append(names, v.Name)
		}
	}
	return append(names, b.unused...)
}

// ScrubEnvironment returns the variables of env, each name=value, that the sandbox may have:
// none of [Bridge.HostVariables], and none whose value contains one of the secrets, or, for
// secrets shorter than 6 bytes, is one. Encoded secrets are found by
// bridge/redact.Redactor.ScrubEnvironment, which a launch uses after this. What has no name is
// dropped.
func (b *Bridge) ScrubEnvironment(env, secrets []string) []string {
	host := b.HostVariables()
	kept := make([]string, 0, len(env))
	for _, entry := range env {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" || slices.Contains(host, name) || holds(value, secrets) {
			continue
		}
		kept = append(kept, entry)
	}
	return kept
}

func holds(value string, secrets []string) bool {
	const shortest = 6 // a shorter one is in ordinary values
	return slices.ContainsFunc(secrets, func(s string) bool {
		return s != "" && (value == s || len(s) >= shortest && strings.Contains(value, s))
	})
}
