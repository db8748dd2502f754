package envelope

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"brainbox/internal/strictjson"
)

// Bounds of a bridge (section A.2).
const (
	maxTools     = 256
	maxArgs      = 64
	maxArgBytes  = 32 << 10
	maxEnv       = 64
	maxNotes     = 4 << 10
	maxBridgeRef = 64
	maxTimeoutMS = 600_000
)

// DecodeBridge reads a bridge, at most 1 MiB, into its normal form. The text {} is no bridge:
// nil, without an error. The error is a [*BridgeError]: the start is refused.
func DecodeBridge(data []byte) (*Bridge, error) {
	v, err := strictjson.Decode(data, strictjson.Limits{})
	if err != nil {
		return nil, &BridgeError{Code: CodeBridgeSchemaInvalid, Err: err}
	}
	return BridgeOf(v)
}

// BridgeOf is [DecodeBridge] for a value that strictjson has decoded.
func BridgeOf(v *strictjson.Value) (*Bridge, error) {
	if v != nil && v.Kind == strictjson.KindObject && len(v.Members) == 0 {
		return nil, nil
	}
	var c config
	b := c.bridge(v)
	if c.err != nil {
		return nil, c.err
	}
	return b, nil
}

// config reads a bridge, and keeps the first thing that is wrong with it.
type config struct{ err *BridgeError }

func (c *config) fail(code, field, msg string) {
	if c.err == nil {
		c.err = &BridgeError{Code: code, Field: field, Msg: msg}
	}
}

func (c *config) bridge(v *strictjson.Value) *Bridge {
	root := c.object(v, "", CodeBridgeSchemaInvalid, "schema", "version", "allowed_tools", "dispatcher", "sandbox_env",
		"authorization", "redaction", "metadata")
	if textOf(root, "schema") != BridgeSchema {
		c.fail(CodeBridgeSchemaInvalid, "schema", "not "+BridgeSchema)
	}
	if n := root.Get("version"); n == nil || n.Kind != strictjson.KindNumber || n.Text != "1" {
		c.fail(CodeBridgeVersionUnsupported, "version", "not the number 1")
	}
	b := &Bridge{AllowedTools: c.tools(root.Get("allowed_tools"))}
	c.dispatcher(b, root.Get("dispatcher"))
	c.sandbox(b, root.Get("sandbox_env"))
	c.authorization(b, root.Get("authorization"))
	c.redaction(b, root.Get("redaction"))
	c.notHost(b)
	b.Metadata = c.metadata(root.Get("metadata"))
	return b
}

// object returns v when it is an object with no other keys than known, and otherwise an empty
// one.
func (c *config) object(v *strictjson.Value, field, code string, known ...string) *strictjson.Value {
	if v == nil || v.Kind != strictjson.KindObject {
		c.fail(code, field, "no object")
		return &strictjson.Value{Kind: strictjson.KindObject}
	}
	for i := range v.Members {
		if key := v.Members[i].Key; !slices.Contains(known, key) {
			c.fail(CodeBridgeSchemaInvalid, field, "unknown field "+strictjson.Escape(key[:min(len(key), 64)]))
		}
	}
	return v
}

// text returns the string key of v, which must be there and be one that ok takes.
func (c *config) text(v *strictjson.Value, path, key, code string, ok func(string) bool) string {
	m := v.Get(key)
	switch {
	case m == nil:
		c.fail(code, path+key, "missing")
	case m.Kind != strictjson.KindString || !ok(m.Text):
		c.fail(code, path+key, "malformed")
	default:
		return m.Text
	}
	return ""
}

// optional is text for a key that may be missing.
func (c *config) optional(v *strictjson.Value, path, key, code string, ok func(string) bool) string {
	if v.Get(key) == nil {
		return ""
	}
	return c.text(v, path, key, code, ok)
}

func is(want string) func(string) bool { return func(s string) bool { return s == want } }

func noNUL(s string) bool { return strings.IndexByte(s, 0) < 0 }

// blanks are what is trimmed. Only ASCII: a name with another blank is none.
const blanks = " \t\r\n\v\f"

func (c *config) tools(v *strictjson.Value) []string {
	const field = "allowed_tools"
	if v == nil || v.Kind != strictjson.KindArray || len(v.Items) > maxTools {
		c.fail(CodeBridgeSchemaInvalid, field, "no list of at most "+strconv.Itoa(maxTools)+" tools")
		return nil
	}
	tools := []string{}
	for i := range v.Items {
		name := strings.Trim(v.Items[i].Text, blanks)
		switch {
		case v.Items[i].Kind != strictjson.KindString, name != "" && !strictjson.ToolName(name):
			c.fail(CodeBridgeToolNameInvalid, field+"["+strconv.Itoa(i)+"]", "no tool name")
		case name != "" && !slices.Contains(tools, name):
			tools = append(tools, name)
		}
	}
	return tools
}

func (c *config) dispatcher(b *Bridge, v *strictjson.Value) {
	const path = "dispatcher."
	d := c.object(v, "dispatcher", CodeBridgeDispatcherMissing, "owner", "mode", "endpoint", "command",
		"request_schema", "result_schema", "timeout_ms")
	c.text(d, path, "owner", CodeBridgeSchemaInvalid, is("wp-codebox"))
	b.Mode = Mode(c.text(d, path, "mode", CodeBridgeModeInvalid, func(s string) bool {
		return s == string(HostEndpoint) || s == string(HostCommand)
	}))
	endpoint, command := d.Get("endpoint"), d.Get("command")
	b.Unused = endpoint != nil && command != nil
	switch {
	case b.Mode == HostEndpoint && endpoint != nil:
		b.Endpoint, b.unused = c.endpoint(endpoint), variableNames(command)
	case b.Mode == HostCommand && command != nil:
		b.Command, b.unused = c.command(command), variableNames(endpoint)
	default:
		c.fail(CodeBridgeDispatcherMissing, "dispatcher", "nothing for its mode")
	}
	c.text(d, path, "request_schema", CodeBridgeSchemaInvalid, is(RequestSchema))
	c.text(d, path, "result_schema", CodeBridgeSchemaInvalid, is(ResultSchema))
	b.Timeout = c.timeout(d.Get("timeout_ms"))
}

// variableNames returns the names of variables in a configuration that is dropped, unchecked.
func variableNames(v *strictjson.Value) []string {
	if v == nil || v.Kind != strictjson.KindObject {
		return nil
	}
	var names []string
	for _, key := range []string{"url_env", "token_env", "cwd_env"} {
		if name := strings.Trim(textOf(v, key), blanks); name != "" {
			names = append(names, name)
		}
	}
	if env := v.Get("env"); env != nil {
		for i := range env.Members {
			names = append(names, env.Members[i].Key)
		}
	}
	return names
}

func (c *config) timeout(v *strictjson.Value) time.Duration {
	if v == nil {
		return DefaultTimeout
	}
	n, err := strconv.Atoi(v.Text)
	if v.Kind != strictjson.KindNumber || err != nil || n < 1 || n > maxTimeoutMS {
		c.fail(CodeBridgeTimeoutInvalid, "dispatcher.timeout_ms", "no integer from 1 to "+strconv.Itoa(maxTimeoutMS))
	}
	return time.Duration(n) * time.Millisecond
}

func (c *config) endpoint(v *strictjson.Value) *Endpoint {
	const path = "dispatcher.endpoint."
	e := c.object(v, "dispatcher.endpoint", CodeBridgeEndpointInvalid, "url_env", "method", "token_env")
	c.text(e, path, "method", CodeBridgeEndpointInvalid, is("POST"))
	if e.Get("url_env") == nil {
		c.fail(CodeBridgeEndpointInvalid, path+"url_env", "missing")
	}
	return &Endpoint{
		URLVariable:   c.text(e, path, "url_env", CodeBridgeEnvNameInvalid, envName),
		TokenVariable: c.optional(e, path, "token_env", CodeBridgeEnvNameInvalid, envName),
	}
}

func (c *config) command(v *strictjson.Value) *Command {
	const path = "dispatcher.command."
	o := c.object(v, "dispatcher.command", CodeBridgeSchemaInvalid, "argv", "cwd_env", "env", "transport")
	cmd := &Command{Argv: c.argv(o.Get("argv")), Transport: Stdio}
	cmd.CwdVariable = strings.Trim(c.optional(o, path, "cwd_env", CodeBridgeEnvNameInvalid, func(s string) bool {
		s = strings.Trim(s, blanks)
		return s == "" || envName(s)
	}), blanks)
	if env := o.Get("env"); env != nil {
		cmd.Env = c.env(env)
	}
	if o.Get("transport") != nil {
		cmd.Transport = Transport(c.text(o, path, "transport", CodeBridgeSchemaInvalid, func(s string) bool {
			return s == string(Stdio) || s == string(File)
		}))
	}
	return cmd
}

func (c *config) argv(v *strictjson.Value) []string {
	const field = "dispatcher.command.argv"
	if v == nil || v.Kind != strictjson.KindArray || len(v.Items) < 1 || len(v.Items) > maxArgs {
		c.fail(CodeBridgeArgvInvalid, field, "no list of 1 to "+strconv.Itoa(maxArgs)+" arguments")
		return nil
	}
	argv, total := make([]string, len(v.Items)), 0
	for i := range v.Items {
		item := &v.Items[i]
		if item.Kind != strictjson.KindString || !noNUL(item.Text) || i == 0 && item.Text == "" {
			c.fail(CodeBridgeArgvInvalid, field+"["+strconv.Itoa(i)+"]", "no argument")
		}
		argv[i] = item.Text
		total += len(item.Text)
	}
	if total > maxArgBytes {
		c.fail(CodeBridgeArgvInvalid, field, "more than "+strconv.Itoa(maxArgBytes)+" bytes")
	}
	return argv
}

func (c *config) env(v *strictjson.Value) []Variable {
	const field = "dispatcher.command.env"
	if v.Kind != strictjson.KindObject || len(v.Members) > maxEnv {
		c.fail(CodeBridgeSchemaInvalid, field, "no object of at most "+strconv.Itoa(maxEnv)+" variables")
		return nil
	}
	list := []Variable{}
	for i := range v.Members {
		m := &v.Members[i]
		if !envName(m.Key) {
			c.fail(CodeBridgeEnvNameInvalid, field, "malformed name")
		}
		if m.Value.Kind != strictjson.KindString || !noNUL(m.Value.Text) {
			c.fail(CodeBridgeSchemaInvalid, field, "a value that is no string")
		}
		list = append(list, Variable{Name: m.Key, Value: m.Value.Text})
	}
	return list
}

// envName reports whether s is the name of a variable: letters, digits and underscores of
// ASCII, no digit first, at most 128.
func envName(s string) bool {
	if s == "" || len(s) > 128 || digit(s[0]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !digit(c) && !lower(c) && (c < 'A' || c > 'Z') && c != '_' {
			return false
		}
	}
	return true
}
