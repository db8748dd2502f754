package delegate

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"

	"brainbox/internal/strictjson"
)

// issue is one fault of a request.
type issue struct{ code, field, message string }

// issues are all of them, in the order of section B.3.
type issues []issue

func (l *issues) add(code, field, message string) { *l = append(*l, issue{code, field, message}) }

// fault has the first one's code, and all in its data.
func (l issues) fault() *fault {
	list := strictjson.Array()
	for _, i := range l {
		list.Items = append(list.Items, strictjson.Object(
			strictjson.Pair("code", strictjson.Text(i.code)), strictjson.Pair("field", strictjson.Text(i.field)), strictjson.Pair("message", strictjson.Text(i.message)),
		))
	}
	f := failure(l[0].code, l[0].message)
	f.data = strictjson.Object(strictjson.Pair("field", strictjson.Text(l[0].field)), strictjson.Pair("issues", list))
	return f
}

// read checks a request and brings it into its normal form. With issues, what could be read
// is there still: an id for the result, the value for the echo.
func read(v *strictjson.Value, bound string) (r Request, bad issues) {
	if v == nil || v.Kind != strictjson.KindObject {
		bad.add(CodeRequest, "", "the request is no object")
		return r, bad
	}
	r.Value = clone(*v)
	if s := v.Get("schema"); s != nil && (s.Kind != strictjson.KindString || s.Text != RequestSchema) {
		bad.add(CodeSchema, "schema", "not "+RequestSchema)
	}
	r.ID = readID(v, &bad, "request_id", "id")
	r.Session = readID(v, &bad, "sandbox_session_id", "session_id")
	switch {
	case bound == "" || r.Session == bound:
	case r.Session == "":
		r.Session = bound
	default:
		bad.add(CodeScopeMismatch, "sandbox_session_id", "not the session of the caller")
	}
	r.Goal, r.Task = readWork(v, &bad)
	for _, key := range []string{"target", "context", "execution", "orchestrator", "metadata"} {
		if m := v.Get(key); m != nil && m.Kind != strictjson.KindObject {
			bad.add(CodeRequest, key, "no object")
		}
	}
	if m := v.Get("expected_artifacts"); m != nil && m.Kind != strictjson.KindArray {
		bad.add(CodeRequest, "expected_artifacts", "no array")
	}
	if m := r.Value.Get("source_digest"); m != nil {
		place, ok := digestOf(m)
		if !ok {
			bad.add(CodeDigest, "source_digest", "no SHA-256 in hexadecimal digits")
		} else {
			r.Digest = normal(place.Text)
			place.Text = r.Digest
		}
	}
	return r, bad
}

// fill puts what was worked out into the value, under its first name.
func (r *Request) fill() {
	if r.Session != "" {
		set(&r.Value, "sandbox_session_id", strictjson.Text(r.Session))
	}
	set(&r.Value, "request_id", strictjson.Text(r.ID))
	set(&r.Value, "schema", strictjson.Text(RequestSchema))
}

// readWork reads what is to be done: a goal, a task, or both.
func readWork(v *strictjson.Value, bad *issues) (goal, task string) {
	blank := true
	for _, f := range []struct {
		key string
		to  *string
	}{{"goal", &goal}, {"task", &task}} {
		m := v.Get(f.key)
		switch {
		case m == nil:
		case m.Kind != strictjson.KindString || strings.IndexByte(m.Text, 0) >= 0:
			bad.add(CodeRequest, f.key, "no text")
			blank = false // said already
		case strings.TrimSpace(m.Text) != "":
			*f.to, blank = m.Text, false
		}
	}
	if blank {
		bad.add(CodeRequest, "goal", "neither goal nor task")
	}
	return goal, task
}

// readID reads an id that has two names. Empty counts as missing; two that differ are a
// fault, and neither is used.
func readID(v *strictjson.Value, bad *issues, names ...string) string {
	found := ""
	for _, name := range names {
		m := v.Get(name)
		switch {
		case m == nil || m.Kind == strictjson.KindString && m.Text == "":
		case m.Kind != strictjson.KindString || !validID(m.Text):
			bad.add(CodeRequest, name, "no id: 1 to 128 letters, digits and . _ : -")
		case found != "" && found != m.Text:
			bad.add(CodeRequest, name, "differs from "+names[0])
			return ""
		default:
			found = m.Text
		}
	}
	return found
}

// validID is the pattern of ids (section A.2).
func validID(s string) bool {
	if len(s) < 1 || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || strings.IndexByte("._:-", c) < 0) {
			return false
		}
	}
	return true
}

// digestOf finds the text of a digest: a string, or an object that has exactly one of value,
// sha256 and hash, and is about SHA-256.
func digestOf(v *strictjson.Value) (place *strictjson.Value, ok bool) {
	if v.Kind == strictjson.KindObject {
		if a := v.Get("algorithm"); a != nil && (a.Kind != strictjson.KindString || a.Text != "sha256") {
			return nil, false
		}
		n := 0
		for _, key := range []string{"value", "sha256", "hash"} {
			if m := v.Get(key); m != nil {
				place, n = m, n+1
			}
		}
		if n != 1 {
			return nil, false
		}
		v = place
	}
	return v, v.Kind == strictjson.KindString && normal(v.Text) != ""
}

// normal is a SHA-256 in lower case without blanks around it; empty: it is none.
func normal(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if _, err := hex.DecodeString(s); err != nil || len(s) != 64 {
		return ""
	}
	return s
}

// newID is one that was never used.
func newID() string { return "hd-" + strings.ToLower(rand.Text()) }

// set replaces a member, or puts it in front.
func set(v *strictjson.Value, key string, to strictjson.Value) {
	if m := v.Get(key); m != nil {
		*m = to
		return
	}
	v.Members = slices.Insert(v.Members, 0, strictjson.Pair(key, to))
}

// clone shares nothing with v that can be changed.
func clone(v strictjson.Value) strictjson.Value {
	v.Items, v.Members = slices.Clone(v.Items), slices.Clone(v.Members)
	for i := range v.Items {
		v.Items[i] = clone(v.Items[i])
	}
	for i := range v.Members {
		v.Members[i].Value = clone(v.Members[i].Value)
	}
	return v
}
