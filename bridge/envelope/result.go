package envelope

import "brainbox/internal/strictjson"

// Value returns the result as the contract spells it, with every field that it requires. Output
// is written only with succeeded, and an error only without: one that lacks it is
// internal_error.
func (res *Result) Value() strictjson.Value {
	v := strictjson.Object(
		strictjson.Pair("schema", strictjson.Text(ResultSchema)),
		strictjson.Pair("version", strictjson.Int(1)),
		strictjson.Pair("request_id", strictjson.Text(res.ID)),
		strictjson.Pair("tool", strictjson.Text(res.Tool)),
		strictjson.Pair("operation", strictjson.Text(res.Operation)),
		strictjson.Pair("status", strictjson.Text(string(res.status()))),
	)
	switch {
	case res.status() != Succeeded:
		v.Add("error", res.Err.value())
	case res.Output != nil:
		v.Add("output", *res.Output)
	}
	v.Add("artifacts", strictjson.Object(
		strictjson.Pair("transcripts", refs(res.Transcripts)),
		strictjson.Pair("evidence", refs(res.Evidence)),
	))
	v.Add("diagnostics", object(res.Diagnostics))
	v.Add("metadata", object(res.Metadata))
	return v
}

// Diagnose sets a member of the diagnostics, in place of one of that name: an adapter may have
// put one there, and a key occurs once. What others hold of the diagnostics stays as it is.
func (res *Result) Diagnose(key string, v strictjson.Value) {
	members := make([]strictjson.Member, 0, len(res.Diagnostics.Members)+1)
	for _, m := range res.Diagnostics.Members {
		if m.Key != key {
			members = append(members, m)
		}
	}
	res.Diagnostics = strictjson.Object(append(members, strictjson.Pair(key, v))...)
}

// status returns the status, and failed for what is none.
func (res *Result) status() Status {
	if !res.Status.Valid() {
		return Failed
	}
	return res.Status
}

// Encode returns the result as one line of JSON, without a line end.
func (res *Result) Encode() []byte {
	v := res.Value()
	return strictjson.Append(nil, &v)
}

// OutputJSON returns the output as JSON on one line; nil where there is none.
func (res *Result) OutputJSON() []byte {
	if res.status() != Succeeded || res.Output == nil {
		return nil
	}
	return strictjson.Append(nil, res.Output)
}

// value returns the error as the contract spells it.
func (e *Error) value() strictjson.Value {
	if e == nil || !ErrorCode(e.Code) || e.Message == "" {
		e = &Error{Code: CodeInternalError, Message: "internal error"}
	}
	v := strictjson.Object(
		strictjson.Pair("code", strictjson.Text(e.Code)),
		strictjson.Pair("message", strictjson.Text(ClipMessage(e.Message))),
		strictjson.Pair("retryable", strictjson.Bool(e.Retryable)),
	)
	addValue(&v, "details", e.Details)
	return v
}

// Value returns the reference as the contract spells it.
func (r *Ref) Value() strictjson.Value {
	v := strictjson.Object(strictjson.Pair("kind", strictjson.Text(r.Kind)))
	addText(&v, "path", r.Path)
	addText(&v, "id", r.ID)
	addText(&v, "uri", r.URI)
	addText(&v, "sha256", r.SHA256)
	addValue(&v, "metadata", r.Metadata)
	return v
}

// Valid reports whether the reference is one that may be sent.
func (r *Ref) Valid() bool {
	return r.Kind != "" && (r.Path != "" || r.ID != "" || r.URI != "") &&
		(r.Path == "" || RefPath(r.Path)) && (r.SHA256 == "" || digest(r.SHA256))
}

func refs(list []Ref) strictjson.Value {
	items := make([]strictjson.Value, len(list))
	for i := range list {
		items[i] = list[i].Value()
	}
	return strictjson.Array(items...)
}
