package strictjson

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const base = `{"schema":"s/v1","version":1,"request_id":"ptr_1","tool":"workspace.read",` +
	`"input":{"path":"README.md"},"session":{"id":"s1"},"metadata":{},"n":5,"on":true,` +
	`"tags":["a","b"],"refs":[{"kind":"evidence"}]}`

// request is what bindRequest reads from base.
type request struct {
	ID, Tool, Session, Ref string
	N                      int64
	On                     bool
	Tags                   []string
	Input                  string
}

func bindRequest(v *Value) (request, error) {
	f := Bind(v, "schema", "version", "request_id", "tool", "input", "session", "metadata",
		"n", "on", "tags", "refs", "mode")
	f.Schema("schema", "s/v1")
	f.Version("version")
	r := request{
		ID: f.String("request_id"), Tool: f.Match("tool", ToolName),
		Session: f.Object("session", "id").String("id"),
		N:       f.Int("n", 1, 10), On: f.Bool("on"), Tags: f.Strings("tags", 3),
		Input: string(Append(nil, f.Any("input"))),
	}
	f.Opaque("metadata", 16)
	for _, ref := range f.Objects("refs", 2, "kind") {
		r.Ref = ref.String("kind")
	}
	if f.Has("mode") {
		f.Enum("mode", "stdio", "file")
	}
	return r, f.Err()
}

// change is what is replaced in base, and the refusal that follows.
type change struct{ name, old, replacement, want, field string }

func changes() []change {
	return []change{
		{"bg/A13 key in another case", `"tool":`, `"Tool":`, CodeUnknownField, "Tool"},
		{"bg/A14 key that folds to a known one", `"schema":`, `"ſchema":`, CodeUnknownField, `\u{17f}chema`},
		{"unknown key", `"n":5`, `"n":5,"m":1`, CodeUnknownField, "m"},
		{"unknown key in a nested object", `{"id":"s1"}`, `{"id":"s1","x":1}`, CodeUnknownField, "session.x"},
		{"unknown key in an item", `{"kind":"evidence"}`, `{"kind":"e","x":1}`, CodeUnknownField, "refs[0].x"},
		{"bg/A17 version 2", `"version":1`, `"version":2`, CodeVersionUnsupported, "version"},
		{"bg/A17 version 1.0", `"version":1`, `"version":1.0`, CodeVersionUnsupported, "version"},
		{"version 1e0", `"version":1`, `"version":1e0`, CodeVersionUnsupported, "version"},
		{"bg/A17 version as a string", `"version":1`, `"version":"1"`, CodeVersionUnsupported, "version"},
		{"bg/A17 version null", `"version":1`, `"version":null`, CodeVersionUnsupported, "version"},
		{"no version", `"version":1,`, ``, CodeVersionUnsupported, "version"},
		{"bg/A18 another schema", `"s/v1"`, `"s/v2"`, CodeSchemaInvalid, "schema"},
		{"schema is no string", `"s/v1"`, `1`, CodeSchemaInvalid, "schema"},
		{"no schema", `"schema":"s/v1",`, ``, CodeSchemaInvalid, "schema"},
		{"bg/A20 no input", `"input":{"path":"README.md"},`, ``, CodeFieldInvalid, "input"},
		{"bg/A21 no metadata", `"metadata":{},`, ``, CodeFieldInvalid, "metadata"},
		{"bg/A07 homoglyph", `workspace.read`, `wоrkspace.read`, CodeFieldInvalid, "tool"},
		{"bg/A08 full width stop", `workspace.read`, `workspace．read`, CodeFieldInvalid, "tool"},
		{"bg/A08 zero width space", `workspace.read`, `workspace.read\u200b`, CodeFieldInvalid, "tool"},
		{"bg/A08 trailing blank", `workspace.read`, `workspace.read `, CodeFieldInvalid, "tool"},
		{"bg/A09 U+0000 in the tool name", `workspace.read`, `workspace.read\u0000x`, CodeFieldInvalid, "tool"},
		{"bg/A10 129 bytes", `workspace.read`, strings.Repeat("a", 129), CodeFieldInvalid, "tool"},
		{"U+0000 in a string", `"ptr_1"`, `"ptr\u0000"`, CodeEncodingInvalid, "request_id"},
		{"U+0000 in a list", `["a","b"]`, `["a","\u0000"]`, CodeEncodingInvalid, "tags"},
		{"number for a string", `"ptr_1"`, `1`, CodeFieldInvalid, "request_id"},
		{"null for a string", `"ptr_1"`, `null`, CodeFieldInvalid, "request_id"},
		{"list for an object", `{"id":"s1"}`, `[]`, CodeFieldInvalid, "session"},
		{"missing field of a nested object", `{"id":"s1"}`, `{}`, CodeFieldInvalid, "session.id"},
		{"list for opaque", `"metadata":{}`, `"metadata":[]`, CodeFieldInvalid, "metadata"},
		{"opaque one byte too long", `"metadata":{}`, `"metadata":{"a":"456789012"}`, CodeFieldInvalid, "metadata"},
		{"integer below", `"n":5`, `"n":0`, CodeFieldInvalid, "n"},
		{"integer above", `"n":5`, `"n":11`, CodeFieldInvalid, "n"},
		{"integer as fraction", `"n":5`, `"n":5.0`, CodeFieldInvalid, "n"},
		{"integer with exponent", `"n":5`, `"n":5e0`, CodeFieldInvalid, "n"},
		{"integer over 64 bits", `"n":5`, `"n":18446744073709551621`, CodeFieldInvalid, "n"},
		{"string for a boolean", `"on":true`, `"on":"true"`, CodeFieldInvalid, "on"},
		{"four items", `["a","b"]`, `["a","b","c","d"]`, CodeFieldInvalid, "tags"},
		{"number in a list of strings", `["a","b"]`, `["a",7]`, CodeFieldInvalid, "tags"},
		{"string in a list of objects", `[{"kind":"evidence"}]`, `["x"]`, CodeFieldInvalid, "refs"},
		{"unknown word", `"n":5`, `"n":5,"mode":"STDIO"`, CodeFieldInvalid, "mode"},
		{"unknown fields go before a wrong schema", `"s/v1"`, `"s/v2","x":1`, CodeUnknownField, "x"},
	}
}

func TestBindRefuses(t *testing.T) {
	for _, tt := range changes() {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(base, tt.old, tt.replacement, 1)
			if text == base {
				t.Fatalf("%q is not in the base text", tt.old)
			}
			v, err := Decode([]byte(text), Limits{})
			if err != nil {
				t.Fatalf("Decode: %v", err)
			}
			_, err = bindRequest(v)
			if got := code(err); got != tt.want {
				t.Fatalf("bind: %v, want %s", err, tt.want)
			}
			if got := err.(*Error).Field; got != tt.field { //nolint:errorlint // bind returns it unwrapped
				t.Errorf("field %q, want %q", got, tt.field)
			}
		})
	}
}

func TestBindReportsTheCodeThatComesFirstInTheTable(t *testing.T) {
	text := `{"schema":"s/v2","version":2,"request_id":7,"tool":"\u0000","input":1,"session":{"y":1}}`
	steps := []struct{ want, old, replacement string }{
		{CodeUnknownField, `"y":1`, `"id":"s1"`},
		{CodeSchemaInvalid, `s/v2`, `s/v1`},
		{CodeVersionUnsupported, `"version":2`, `"version":1`},
		{CodeFieldInvalid, ``, ``},
	}
	for _, step := range steps {
		v, err := Decode([]byte(text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bindRequest(v); code(err) != step.want {
			t.Errorf("bind %s: %v, want %s", text, err, step.want)
		}
		text = strings.Replace(text, step.old, step.replacement, 1)
	}
}

func TestBindRefusesWhatIsNoObject(t *testing.T) {
	for _, text := range []string{`[]`, `"x"`, `null`, `1`} {
		v, err := Decode([]byte(text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := code(Bind(v).Err()); got != CodeSchemaInvalid {
			t.Errorf("Bind(%s) = %s, want %s", text, got, CodeSchemaInvalid)
		}
	}
	if got := code(Bind(nil).Err()); got != CodeSchemaInvalid {
		t.Errorf("Bind(nil) = %s, want %s", got, CodeSchemaInvalid)
	}
}

func TestBindReadsEveryField(t *testing.T) {
	v, err := Decode([]byte(base), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := bindRequest(v)
	if err != nil {
		t.Fatal(err)
	}
	want := request{
		ID: "ptr_1", Tool: "workspace.read", Session: "s1", Ref: "evidence", N: 5, On: true,
		Tags: []string{"a", "b"}, Input: `{"path":"README.md"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestBindAcceptsNullAsOpaqueInput(t *testing.T) {
	text := strings.Replace(base, `{"path":"README.md"}`, "null", 1) // bg/A20
	v, err := Decode([]byte(text), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := bindRequest(v); err != nil || got.Input != "null" {
		t.Errorf("bind = %+v, %v; want input null", got, err)
	}
}

func TestBindLenientSkipsUnknownMembersOnly(t *testing.T) {
	v, err := Decode([]byte(`{"a":"x","b":1,"c":{"d":true,"e":0}}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	f := BindLenient(v)
	a, d := f.String("a"), f.Object("c").Bool("d")
	if f.Err() != nil || a != "x" || !d {
		t.Errorf("a %q, d %v, %v; want x, true, nil", a, d, f.Err())
	}
	f.Bool("a")
	if got := code(f.Err()); got != CodeFieldInvalid {
		t.Errorf("wrong type: %s, want %s", got, CodeFieldInvalid)
	}
	built := Object(Pair("__proto__", Null()))
	if got := code(BindLenient(&built).Err()); got != CodeUnknownField {
		t.Errorf("__proto__: %s, want %s", got, CodeUnknownField)
	}
}

func TestInvalidRecordsACallersOwnCheck(t *testing.T) {
	v := Object(Pair("a", Text("x")))
	f := Bind(&v, "a")
	if f.Err() != nil {
		t.Fatal(f.Err())
	}
	f.Invalid("a", "not hexadecimal")
	if got := code(f.Err()); got != CodeFieldInvalid {
		t.Errorf("Err = %v, want %s", f.Err(), CodeFieldInvalid)
	}
}
