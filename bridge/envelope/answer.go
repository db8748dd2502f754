package envelope

import (
	"errors"

	"brainbox/internal/strictjson"
)

// DecodeResult reads what a dispatcher answered to req, at most 1 MiB. It is total: an answer
// that is wrong in any way is the failed result with the code of the first thing that is wrong
// (sections A.5 and A.8.1: strict decoding, schema, version, request id, tool, operation,
// status, shape), and holds no byte of that answer.
func DecodeResult(req *Request, data []byte) *Result {
	v, err := strictjson.Decode(data, strictjson.Limits{Result: true})
	if err != nil {
		return req.wrong(decodingCode(err))
	}
	f := strictjson.Bind(v, "schema", "version", "request_id", "tool", "operation", "status",
		"output", "error", "artifacts", "diagnostics", "metadata")
	res, code := req.read(v, f)
	if code != "" {
		return req.wrong(code)
	}
	return res
}

// ReadResult is for a client that reads what a host answered: members that it does not know
// are skipped (section E.5). It returns nil, and one of the codes of [DecodeResult], when v is
// no result of req. v was decoded by strictjson.
func ReadResult(req *Request, v *strictjson.Value) (res *Result, code string) {
	return req.read(v, strictjson.BindLenient(v))
}

// messages are our words for what is wrong with an answer.
var messages = map[string]string{
	CodeResultNotJSON:            "the answer of the tool is not one JSON value",
	CodeResultTooLarge:           "the answer of the tool is too large",
	CodeResultSchemaInvalid:      "the answer of the tool is no parent tool result",
	CodeResultVersionUnsupported: "the answer of the tool has another version",
	CodeResultDuplicateKey:       "the answer of the tool has a key twice",
	CodeResultShapeInvalid:       "the answer of the tool breaks the shape of a result",
	CodeResultStatusInvalid:      "the answer of the tool has no known status",
	CodeRequestIDMismatch:        "the answer of the tool is for another request",
	CodeToolMismatch:             "the answer of the tool is for another tool",
	CodeOperationMismatch:        "the answer of the tool is for another operation",
	CodeInternalError:            "internal error",
}

func (r *Request) wrong(code string) *Result { return r.Fail(Failed, code, messages[code]) }

// decodingCode returns the code of an answer that strictjson refuses.
func decodingCode(err error) string {
	var e *strictjson.Error
	if !errors.As(err, &e) {
		return CodeInternalError
	}
	switch e.Code {
	case strictjson.CodeResultTooLarge, strictjson.CodeTooComplex:
		return CodeResultTooLarge
	case strictjson.CodeDuplicateKey:
		return CodeResultDuplicateKey
	case strictjson.CodeUnknownField: // __proto__
		return CodeResultSchemaInvalid
	}
	return CodeResultNotJSON
}

// read binds v, and returns a code instead of the result when something is wrong.
func (r *Request) read(v *strictjson.Value, f *strictjson.Fields) (*Result, string) {
	res := r.result(Status(textOf(v, "status")))
	bindResult(f, res)
	code := ""
	var e *strictjson.Error
	if err := f.Err(); errors.As(err, &e) {
		code = CodeResultShapeInvalid
		if e.Code == strictjson.CodeUnknownField {
			return nil, CodeResultSchemaInvalid
		}
	}
	version := v.Get("version")
	switch {
	case textOf(v, "schema") != ResultSchema:
		return nil, CodeResultSchemaInvalid
	case version == nil || version.Kind != strictjson.KindNumber || version.Text != "1":
		return nil, CodeResultVersionUnsupported
	case textOf(v, "request_id") != r.ID:
		return nil, CodeRequestIDMismatch
	case textOf(v, "tool") != r.Tool:
		return nil, CodeToolMismatch
	case textOf(v, "operation") != r.Operation:
		return nil, CodeOperationMismatch
	case !res.Status.Valid():
		return nil, CodeResultStatusInvalid
	case code != "":
		return nil, code
	}
	return res, ""
}

// textOf returns the string key of v, and "" when it is missing or something else.
func textOf(v *strictjson.Value, key string) string {
	if v == nil {
		return ""
	}
	if m := v.Get(key); m != nil && m.Kind == strictjson.KindString {
		return m.Text
	}
	return ""
}

// bindResult reads everything that says what became of the call.
func bindResult(f *strictjson.Fields, res *Result) {
	switch failed := res.Status != Succeeded; {
	case failed && f.Has("output"):
		f.Invalid("output", "only with succeeded")
	case failed:
		e := f.Object("error", "code", "message", "retryable", "details")
		res.Err = &Error{
			Code:      e.Match("code", ErrorCode),
			Message:   nonEmpty(e, "message"),
			Retryable: e.Bool("retryable"),
			Details:   optionalObject(e, "details"),
		}
	case f.Has("error"):
		f.Invalid("error", "not with succeeded")
	case f.Has("output"):
		res.Output = f.Any("output")
	}
	a := f.Object("artifacts", "transcripts", "evidence")
	res.Transcripts = bindRefs(a, "transcripts", strictjson.DefaultValues)
	res.Evidence = bindRefs(a, "evidence", strictjson.DefaultValues)
	res.Diagnostics = *f.Opaque("diagnostics", 0)
	res.Metadata = *f.Opaque("metadata", 0)
}

func nonEmpty(f *strictjson.Fields, key string) string {
	s := f.String(key)
	if s == "" {
		f.Invalid(key, "empty")
	}
	return s
}

func optionalObject(f *strictjson.Fields, key string) *strictjson.Value {
	if !f.Has(key) {
		return nil
	}
	return f.Opaque(key, 0)
}

// bindRefs returns the array of references key, at most most of them.
func bindRefs(f *strictjson.Fields, key string, most int) []Ref {
	list := []Ref{}
	for _, f := range f.Objects(key, most, "kind", "path", "id", "uri", "sha256", "metadata") {
		ref := Ref{Kind: nonEmpty(f, "kind"), Metadata: optionalObject(f, "metadata")}
		for _, p := range []struct {
			key string
			to  *string
		}{{"path", &ref.Path}, {"id", &ref.ID}, {"uri", &ref.URI}, {"sha256", &ref.SHA256}} {
			if f.Has(p.key) {
				*p.to = nonEmpty(f, p.key)
			}
		}
		if !ref.Valid() {
			f.Invalid("path", "no reference to an artifact")
		}
		list = append(list, ref)
	}
	return list
}

// Checked returns res when it is a whole result of req, and otherwise the failed result that
// says so: for what a [Dispatcher] in this process returned. It checks what [DecodeResult]
// does; opaque parts are not looked into.
func (r *Request) Checked(res *Result) *Result {
	switch {
	case res == nil:
		return r.wrong(CodeInternalError)
	case res.ID != r.ID:
		return r.wrong(CodeRequestIDMismatch)
	case res.Tool != r.Tool:
		return r.wrong(CodeToolMismatch)
	case res.Operation != r.Operation:
		return r.wrong(CodeOperationMismatch)
	case !res.Status.Valid():
		return r.wrong(CodeResultStatusInvalid)
	case !res.whole():
		return r.wrong(CodeResultShapeInvalid)
	}
	return res
}

func (res *Result) whole() bool {
	if e := res.Err; res.Status == Succeeded {
		if e != nil {
			return false
		}
	} else if e == nil || res.Output != nil || !ErrorCode(e.Code) || e.Message == "" {
		return false
	}
	for _, list := range [][]Ref{res.Transcripts, res.Evidence} {
		for i := range list {
			if !list[i].Valid() {
				return false
			}
		}
	}
	return true
}
