package envelope

import "brainbox/internal/strictjson"

// Value returns the bridge in its normal form, and an empty object for none.
func (b *Bridge) Value() strictjson.Value {
	if b == nil {
		return strictjson.Object()
	}
	return strictjson.Object(
		strictjson.Pair("schema", strictjson.Text(BridgeSchema)),
		strictjson.Pair("version", strictjson.Int(1)),
		strictjson.Pair("allowed_tools", strictjson.Texts(b.AllowedTools)),
		strictjson.Pair("dispatcher", b.dispatcher()),
		strictjson.Pair("sandbox_env", b.sandbox()),
		strictjson.Pair("authorization", withNotes(strictjson.Object(
			strictjson.Pair("mode", strictjson.Text("allowlist")),
			strictjson.Pair("failure_status", strictjson.Text(string(b.FailureStatus))),
		), b.Notes.Authorization)),
		strictjson.Pair("redaction", withNotes(strictjson.Object(
			strictjson.Pair("transcript_artifact_refs", refs(b.Transcripts)),
		), b.Notes.Redaction)),
		strictjson.Pair("metadata", object(b.Metadata)),
	)
}

// Encode returns the bridge in its normal form as one line of JSON, without a line end.
func (b *Bridge) Encode() []byte {
	v := b.Value()
	return strictjson.Append(nil, &v)
}

func withNotes(v strictjson.Value, notes string) strictjson.Value {
	addText(&v, "notes", notes)
	return v
}

func (b *Bridge) dispatcher() strictjson.Value {
	v := strictjson.Object(
		strictjson.Pair("owner", strictjson.Text("wp-codebox")),
		strictjson.Pair("mode", strictjson.Text(string(b.Mode))),
	)
	if e := b.Endpoint; e != nil {
		endpoint := strictjson.Object(
			strictjson.Pair("url_env", strictjson.Text(e.URLVariable)),
			strictjson.Pair("method", strictjson.Text("POST")),
		)
		addText(&endpoint, "token_env", e.TokenVariable)
		v.Add("endpoint", endpoint)
	}
	if c := b.Command; c != nil {
		command := strictjson.Object(strictjson.Pair("argv", strictjson.Texts(c.Argv)))
		addText(&command, "cwd_env", c.CwdVariable)
		if c.Env != nil {
			env := strictjson.Object()
			for _, e := range c.Env {
				env.Add(e.Name, strictjson.Text(e.Value))
			}
			command.Add("env", env)
		}
		if c.Transport != Stdio {
			command.Add("transport", strictjson.Text(string(c.Transport)))
		}
		v.Add("command", command)
	}
	v.Add("request_schema", strictjson.Text(RequestSchema))
	v.Add("result_schema", strictjson.Text(ResultSchema))
	v.Add("timeout_ms", strictjson.Int(b.Timeout.Milliseconds()))
	return v
}

func (b *Bridge) sandbox() strictjson.Value {
	variables := strictjson.Object()
	addText(&variables, "bridge_ref", b.Variables.Ref)
	addText(&variables, "bridge_schema", b.Variables.Schema)
	addText(&variables, "dispatch_mode", b.Variables.DispatchMode)
	addText(&variables, "request_schema", b.Variables.RequestSchema)
	addText(&variables, "result_schema", b.Variables.ResultSchema)
	return withNotes(strictjson.Object(
		strictjson.Pair("mode", strictjson.Text("metadata-only")),
		strictjson.Pair("variables", variables),
		strictjson.Pair("secret_env", strictjson.Array()),
	), b.Notes.Environment)
}
