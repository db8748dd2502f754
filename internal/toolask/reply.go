package toolask

import (
	"fmt"

	"brainbox/internal/strictjson"
	"brainbox/internal/version"
)

func (r *Reason) value() strictjson.Value {
	var v strictjson.Value
	v.Kind = strictjson.KindObject
	for _, m := range r.members() {
		v.Add(m.key, strictjson.Text(*m.text))
	}
	return v
}

type member struct {
	key  string
	text *string
}

func (r *Reason) members() []member {
	return []member{
		{"action", &r.Action},
		{"layer", &r.Layer},
		{"surface", &r.Surface},
		{"value", &r.Value},
		{"pattern", &r.Pattern},
		{"origin", &r.Origin},
		{"reason", &r.Text},
		{"where", &r.Where},
		{"floor", &r.Floor},
		{"row", &r.Row},
	}
}

// JSON is the answer as one object: action, by and asks.
func (a *Answer) JSON() strictjson.Value {
	asks := make([]strictjson.Value, 0, len(a.Asks))
	for i := range a.Asks {
		asks = append(asks, a.Asks[i].value())
	}
	return strictjson.Object(
		strictjson.Pair("action", strictjson.Text(a.Action)), strictjson.Pair("by", a.By.value()),
		strictjson.Pair("asks", strictjson.Array(asks...)))
}

// Encode writes the reply.
func (r *Reply) Encode() []byte {
	problems := make([]strictjson.Value, 0, len(r.Problems))
	for _, p := range r.Problems {
		problems = append(problems, strictjson.Object(
			strictjson.Pair("list", strictjson.Text(p.List)), strictjson.Pair("index", strictjson.Int(int64(p.Index))),
			strictjson.Pair("text", strictjson.Text(p.Text)), strictjson.Pair("warns", strictjson.Bool(p.Warns))))
	}
	answer := strictjson.Null()
	if r.Answer != nil {
		answer = r.Answer.JSON()
	}
	v := strictjson.Object(
		strictjson.Pair("protocol", strictjson.Int(Protocol)), strictjson.Pair("version", strictjson.Text(version.String())),
		strictjson.Pair("problems", strictjson.Array(problems...)), strictjson.Pair("answer", answer))
	return strictjson.AppendLine(nil, &v)
}

// DecodeReply reads a reply of this very version.
func DecodeReply(text []byte) (Reply, error) {
	v, err := strictjson.Decode(text, strictjson.Limits{Bytes: MaxText, Keys: 1 << 20, Values: 1 << 20})
	if err != nil {
		return Reply{}, err
	}
	f := strictjson.BindLenient(v)
	protocol, theirs := f.Int("protocol", 0, 1<<30), f.String("version")
	if err := f.Err(); err != nil {
		return Reply{}, err
	}
	if protocol != Protocol || theirs != version.String() {
		return Reply{}, fmt.Errorf("it speaks protocol %d of version %q, this is version %q", protocol, theirs, version.String())
	}
	var r Reply
	for _, p := range f.Objects("problems", most) {
		r.Problems = append(r.Problems, Problem{p.String("list"), int(p.Int("index", 0, most)), p.String("text"), p.Bool("warns")})
	}
	if a := v.Get("answer"); a == nil || a.Kind == strictjson.KindNull {
		return r, f.Err()
	}
	a := f.Object("answer")
	r.Answer = &Answer{Action: a.Enum("action", "allow", "ask", "deny"), By: reason(a.Object("by"))}
	for _, x := range a.Objects("asks", most) {
		r.Answer.Asks = append(r.Answer.Asks, reason(x))
	}
	return r, f.Err()
}

func reason(f *strictjson.Fields) Reason {
	var r Reason
	for _, m := range r.members() {
		*m.text = f.String(m.key)
	}
	return r
}
