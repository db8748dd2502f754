package delegate

import (
	"encoding/json"
	"strings"

	"brainbox/internal/strictjson"
)

// outcome is what a result says. The zero outcome is no status, and never sent.
type outcome struct {
	status    Status
	result    *strictjson.Value // nil with every failure
	err       *fault            // nil with accepted and completed
	provider  *strictjson.Value
	artifacts *strictjson.Value
}

// fault is an error with the status that it means.
type fault struct {
	status        Status
	code, message string
	data          strictjson.Value // null: none
}

func failure(code, message string) *fault {
	return &fault{status: Failed, code: code, message: message}
}

// bad is an outcome that tells nothing of the answer.
func bad(code, message string) outcome {
	return outcome{status: Failed, err: failure(code, message)}
}

// check reads an adapter's answer to r. The first fault wins, in the order of section B.3.
func check(r Request, raw json.RawMessage) outcome {
	if text := strings.TrimSpace(string(raw[:min(len(raw), 16)])); text == "" || text == "null" {
		return outcome{status: Unavailable, err: &fault{status: Unavailable, code: CodeUnavailable, message: "nobody handles this request"}}
	}
	v, err := strictjson.Decode(raw, strictjson.Limits{Bytes: MaxResult, Result: true})
	if err != nil || v.Kind != strictjson.KindObject {
		return bad(CodeResult, "the provider's answer is no object")
	}
	if s := v.Get("schema"); s != nil && (s.Kind != strictjson.KindString || s.Text != ResultSchema) {
		return bad(CodeResultSchema, "not "+ResultSchema)
	}
	status, f := statusOf(v)
	if f != nil {
		return outcome{status: Failed, err: f}
	}
	result := present(v, "result")
	if result != nil && result.Kind != strictjson.KindObject {
		return bad(CodeResult, "the provider's result is no object")
	}
	for _, f := range []*fault{
		same(CodeIDMismatch, r.ID, v, result, "request_id"),
		same(CodeScopeMismatch, r.Session, v, result, "sandbox_session_id", "session_id"),
		sameDigest(r.Digest, v, result),
	} {
		if f != nil {
			return outcome{status: Failed, err: f}
		}
	}
	o := outcome{status: status, provider: present(v, "provider"), artifacts: present(v, "artifacts")}
	if status == Accepted || status == Completed {
		o.result = result
		return o
	}
	o.err = told(present(v, "error"), status)
	return o
}

// present is a member that is there and not null.
func present(v *strictjson.Value, key string) *strictjson.Value {
	if m := v.Get(key); m != nil && m.Kind != strictjson.KindNull {
		return m
	}
	return nil
}

// statusOf works out the status, and refuses an answer that contradicts itself.
func statusOf(v *strictjson.Value) (Status, *fault) {
	success := present(v, "success")
	if success != nil && success.Kind != strictjson.KindBool {
		return "", failure(CodeResult, "success is neither true nor false")
	}
	failed := present(v, "error") != nil
	var status Status
	switch s := present(v, "status"); {
	case s == nil && success != nil && !success.Bool, s == nil && success == nil && failed:
		status = Failed
	case s == nil:
		status = Completed
	case s.Kind == strictjson.KindString:
		status = Status(s.Text)
	}
	switch status {
	case Accepted, Completed, Failed, Unavailable:
	default:
		return "", failure(CodeStatus, "not a status of this contract")
	}
	good := status == Accepted || status == Completed
	if success != nil && success.Bool != good || good && failed {
		return "", failure(CodeResult, "status, success and error contradict each other")
	}
	return status, nil
}

// same compares every id that an answer has. An id that was not asked about is not compared.
func same(code, want string, v, result *strictjson.Value, names ...string) *fault {
	if want == "" {
		return nil
	}
	for _, place := range []*strictjson.Value{v, result} {
		for _, name := range names {
			m := place.Get(name)
			if m == nil || m.Kind == strictjson.KindString && m.Text == want {
				continue
			}
			f := failure(code, "the provider answered for another "+name)
			f.data = strictjson.Object(strictjson.Pair("expected", strictjson.Text(want)))
			if m.Kind == strictjson.KindString {
				f.data.Add("actual", strictjson.Text(clip(m.Text, 128)))
			}
			return f
		}
	}
	return nil
}

// sameDigest compares every digest that an answer has with that of the request.
func sameDigest(want string, v, result *strictjson.Value) *fault {
	if want == "" {
		return nil
	}
	for _, place := range []*strictjson.Value{v, result} {
		m := place.Get("source_digest")
		if m == nil {
			continue
		}
		text, ok := digestOf(m)
		if ok && normal(text.Text) == want {
			continue
		}
		f := failure(CodeDigestMismatch, "the provider worked on another source")
		f.data = strictjson.Object(strictjson.Pair("expected", strictjson.Text(want)))
		if ok {
			f.data.Add("actual", strictjson.Text(normal(text.Text)))
		}
		return f
	}
	return nil
}

// told is the error of an answer that says it failed.
func told(v *strictjson.Value, status Status) *fault {
	f := &fault{status: status, code: CodeProvider, message: "the provider failed"}
	if status == Unavailable {
		f.code, f.message = CodeUnavailable, "the provider is not available"
	}
	switch {
	case v == nil:
	case v.Kind == strictjson.KindString && v.Text != "":
		f.message = v.Text
	default:
		if m := v.Get("code"); m != nil && m.Kind == strictjson.KindString && validCode(m.Text) {
			f.code = m.Text
		}
		if m := v.Get("message"); m != nil && m.Kind == strictjson.KindString && m.Text != "" {
			f.message = m.Text
		}
		if m := present(v, "data"); m != nil {
			f.data = *m
		}
	}
	return f
}

// fault is an adapter's own error.
func (e *Error) fault() *fault {
	f := failure(e.Code, e.Message)
	if !validCode(e.Code) {
		f.code = CodeProvider
	}
	if e.Message == "" {
		f.message = "the provider failed"
	}
	if v, err := strictjson.Decode(e.Data, strictjson.Limits{}); err == nil {
		f.data = *v
	}
	return f
}

// validCode is the pattern of error codes (section A.2), longer for the prefix's sake.
func validCode(s string) bool {
	if len(s) < 1 || len(s) > 128 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// clip is the beginning of s, at most n bytes and whole characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
