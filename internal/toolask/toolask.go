package toolask

import (
	"fmt"

	"brainbox/internal/strictjson"
	"brainbox/internal/version"
)

// Protocol is what this version speaks.
const Protocol = 1

const (
	// MaxText bounds a request and a reply, in bytes.
	MaxText = 4 << 20
	most    = 1 << 16 // entries of one list
)

// Pattern is one confirm pattern.
type Pattern struct{ Pattern, Effect string }

// Rule is one [[gate.rule]]. Where is the place it was written at, for people.
type Rule struct {
	Surface, Pattern, Action string
	Tighten                  bool
	Where                    string
	Reason                   string // told to whoever is denied; may be empty
}

// Request is the [gate] part of a policy, and a question about it.
type Request struct {
	Tools       []string // the list of allowed tools
	AnyTool     bool     // there is none
	OtherTools  bool     // tools may be declared elsewhere: a surface that is not known is no error
	Confirm     []Pattern
	ConfirmMore []Pattern
	NoConfirm   bool
	Rules       []Rule
	AllowReads  bool     // tools that only read are allowed where no rule is about them
	Homes       []string // spellings of the home folder
	Roots       []string // the workspace, links followed
	Dir         string   // where relative paths start

	Tool string // empty: the policy itself is looked at, and nothing is asked
	Text string // the arguments: a JSON object, or the command or path itself
}

// Problem is something that is wrong with the policy.
type Problem struct {
	List  string // rule, confirm, confirm_more, or empty
	Index int    // in that list
	Text  string
	Warns bool // the policy can be used
}

// Reason is the answer of one layer.
type Reason struct {
	Action, Layer, Surface, Value, Pattern, Origin, Text, Where, Floor, Row string
}

// Answer is what a call would be met with.
type Answer struct {
	Action string // allow, ask or deny
	By     Reason // the answer that decided
	Asks   []Reason
}

// Reply is the answer to a [Request].
type Reply struct {
	Problems []Problem
	Answer   *Answer // nil where nothing was asked, or a problem stands in the way
}

func patterns(list []Pattern) strictjson.Value {
	out := make([]strictjson.Value, 0, len(list))
	for _, p := range list {
		out = append(out, strictjson.Object(
			strictjson.Pair("pattern", strictjson.Text(p.Pattern)), strictjson.Pair("effect", strictjson.Text(p.Effect))))
	}
	return strictjson.Array(out...)
}

// Encode writes the request.
func (r *Request) Encode() []byte {
	v := r.Value()
	return strictjson.AppendLine(nil, &v)
}

// Value is the request as one object.
func (r *Request) Value() strictjson.Value {
	rules := make([]strictjson.Value, 0, len(r.Rules))
	for _, x := range r.Rules {
		rules = append(rules, strictjson.Object(
			strictjson.Pair("surface", strictjson.Text(x.Surface)), strictjson.Pair("pattern", strictjson.Text(x.Pattern)),
			strictjson.Pair("action", strictjson.Text(x.Action)), strictjson.Pair("tighten", strictjson.Bool(x.Tighten)),
			strictjson.Pair("where", strictjson.Text(x.Where)), strictjson.Pair("reason", strictjson.Text(x.Reason))))
	}
	return strictjson.Object(
		strictjson.Pair("protocol", strictjson.Int(Protocol)),
		strictjson.Pair("tools", strictjson.Texts(r.Tools)),
		strictjson.Pair("any_tool", strictjson.Bool(r.AnyTool)),
		strictjson.Pair("other_tools", strictjson.Bool(r.OtherTools)),
		strictjson.Pair("confirm", patterns(r.Confirm)),
		strictjson.Pair("confirm_more", patterns(r.ConfirmMore)),
		strictjson.Pair("no_confirm", strictjson.Bool(r.NoConfirm)),
		strictjson.Pair("rules", strictjson.Array(rules...)),
		strictjson.Pair("allow_reads", strictjson.Bool(r.AllowReads)),
		strictjson.Pair("homes", strictjson.Texts(r.Homes)),
		strictjson.Pair("roots", strictjson.Texts(r.Roots)),
		strictjson.Pair("dir", strictjson.Text(r.Dir)),
		strictjson.Pair("tool", strictjson.Text(r.Tool)),
		strictjson.Pair("text", strictjson.Text(r.Text)),
	)
}

// DecodeRequest reads a request, strictly: every key is required, no other is known.
func DecodeRequest(text []byte) (Request, error) {
	v, err := strictjson.Decode(text, strictjson.Limits{Bytes: MaxText, Keys: 1 << 20, Values: 1 << 20})
	if err != nil {
		return Request{}, err
	}
	return ReadRequest(v)
}

// ReadRequest is DecodeRequest for an object that was decoded already.
func ReadRequest(v *strictjson.Value) (Request, error) {
	f := strictjson.Bind(v, "protocol", "tools", "any_tool", "other_tools", "confirm", "confirm_more", "no_confirm",
		"rules", "allow_reads", "homes", "roots", "dir", "tool", "text")
	if f.Int("protocol", 0, 1<<30) != Protocol && f.Err() == nil {
		return Request{}, fmt.Errorf("the request is not of protocol %d, which brainbox-host %s speaks", Protocol, version.String())
	}
	r := Request{
		Tools: f.Strings("tools", most), AnyTool: f.Bool("any_tool"), OtherTools: f.Bool("other_tools"),
		NoConfirm: f.Bool("no_confirm"), AllowReads: f.Bool("allow_reads"), Homes: f.Strings("homes", 16), Roots: f.Strings("roots", most),
		Dir: f.String("dir"), Tool: f.String("tool"), Text: f.String("text"),
		Confirm: bindPatterns(f, "confirm"), ConfirmMore: bindPatterns(f, "confirm_more"),
	}
	for _, x := range f.Objects("rules", most, "surface", "pattern", "action", "tighten", "where", "reason") {
		r.Rules = append(r.Rules, Rule{x.String("surface"), x.String("pattern"), x.String("action"), x.Bool("tighten"), x.String("where"), x.String("reason")})
	}
	return r, f.Err()
}

func bindPatterns(f *strictjson.Fields, key string) []Pattern {
	var out []Pattern
	for _, x := range f.Objects(key, most, "pattern", "effect") {
		out = append(out, Pattern{x.String("pattern"), x.String("effect")})
	}
	return out
}
