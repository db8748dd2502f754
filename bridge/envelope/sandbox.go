package envelope

import (
	"slices"
	"strconv"
	"strings"

	"brainbox/internal/strictjson"
)

// sandboxName reports whether s may name a variable that the sandbox gets. The descriptor of
// the bridge itself is not replaced by an id.
func sandboxName(s string) bool {
	return envName(s) && s != "BRAINBOX_BRIDGE_FD" &&
		(strings.HasPrefix(s, "WP_CODEBOX_PARENT_TOOL_") || strings.HasPrefix(s, "BRAINBOX_BRIDGE_"))
}

func (c *config) sandbox(b *Bridge, v *strictjson.Value) {
	const path = "sandbox_env."
	o := c.object(v, "sandbox_env", CodeBridgeSchemaInvalid, "mode", "variables", "secret_env", "notes")
	c.text(o, path, "mode", CodeBridgeSchemaInvalid, is("metadata-only"))
	switch list := o.Get("secret_env"); {
	case list == nil || list.Kind != strictjson.KindArray:
		c.fail(CodeBridgeSchemaInvalid, path+"secret_env", "no list")
	case len(list.Items) > 0:
		c.fail(CodeBridgeSecretEnvForbidden, path+"secret_env", "the sandbox gets no secrets")
	}
	b.Notes.Environment = c.notes(o, path)
	const vars = "sandbox_env.variables."
	o = c.object(o.Get("variables"), "sandbox_env.variables", CodeBridgeSchemaInvalid,
		"bridge_ref", "bridge_schema", "dispatch_mode", "request_schema", "result_schema")
	name := func(key string) string {
		if o.Get(key) == nil {
			c.fail(CodeBridgeSchemaInvalid, vars+key, "missing")
		}
		return c.text(o, vars, key, CodeBridgeEnvNameInvalid, sandboxName)
	}
	b.Variables = Variables{
		Ref:           c.optional(o, vars, "bridge_ref", CodeBridgeEnvNameInvalid, sandboxName),
		Schema:        name("bridge_schema"),
		DispatchMode:  name("dispatch_mode"),
		RequestSchema: name("request_schema"),
		ResultSchema:  name("result_schema"),
	}
}

// notHost refuses a variable of the sandbox that has two meanings, or that is the host's: the
// name of the token would be let in by what admits the bridge.
func (c *config) notHost(b *Bridge) {
	seen := b.HostVariables()
	v := b.Variables
	for _, name := range []string{v.Ref, v.Schema, v.DispatchMode, v.RequestSchema, v.ResultSchema} {
		if name != "" && slices.Contains(seen, name) {
			c.fail(CodeBridgeEnvNameInvalid, "sandbox_env.variables", "a name that has another meaning")
		}
		seen = append(seen, name)
	}
}

func (c *config) authorization(b *Bridge, v *strictjson.Value) {
	const path = "authorization."
	o := c.object(v, "authorization", CodeBridgeSchemaInvalid, "mode", "failure_status", "notes")
	c.text(o, path, "mode", CodeBridgeSchemaInvalid, is("allowlist"))
	b.FailureStatus = Status(c.optional(o, path, "failure_status", CodeBridgeSchemaInvalid, func(s string) bool {
		return s == string(Denied) || s == string(Unavailable)
	}))
	if b.FailureStatus == "" {
		b.FailureStatus = Denied
	}
	b.Notes.Authorization = c.notes(o, path)
}

func (c *config) redaction(b *Bridge, v *strictjson.Value) {
	const key = "transcript_artifact_refs"
	o := c.object(v, "redaction", CodeBridgeSchemaInvalid, key, "notes")
	f := strictjson.Bind(o, key, "notes")
	b.Transcripts = bindRefs(f, key, maxBridgeRef)
	if err := f.Err(); err != nil {
		c.fail(CodeBridgeSchemaInvalid, "redaction."+key, "no list of at most "+strconv.Itoa(maxBridgeRef)+" references")
	}
	b.Notes.Redaction = c.notes(o, "redaction.")
}

func (c *config) notes(o *strictjson.Value, path string) string {
	return c.optional(o, path, "notes", CodeBridgeSchemaInvalid, func(s string) bool {
		return len(s) <= maxNotes && noNUL(s)
	})
}

// metadata returns the object, and an empty one for anything else that is there.
func (c *config) metadata(v *strictjson.Value) strictjson.Value {
	switch {
	case v == nil:
		c.fail(CodeBridgeSchemaInvalid, "metadata", "missing")
	case v.Kind == strictjson.KindObject:
		if sourceSize(v) > maxMetadata {
			c.fail(CodeBridgeSchemaInvalid, "metadata", "longer than "+strconv.Itoa(maxMetadata)+" bytes")
		}
		return *v
	}
	return strictjson.Object()
}
