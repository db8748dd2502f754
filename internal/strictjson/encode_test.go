package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAppend(t *testing.T) {
	doc := Object()
	doc.Add("event", Text("started")).Add("pid", Int(-7)).Add("n", Uint(1<<64-1)).
		Add("on", Bool(true)).Add("off", Bool(false)).Add("none", Null()).
		Add("list", Texts([]string{"a", ""})).Add("empty", Texts(nil)).Add("o", Object())
	tests := []struct {
		name string
		v    *Value
		want string
	}{
		{"an object in order", &doc, `{"event":"started","pid":-7,"n":18446744073709551615,"on":true,"off":false,` +
			`"none":null,"list":["a",""],"empty":[],"o":{}}`},
		{"nil", nil, "null"},
		{"zero", &Value{}, "null"},
		{"a number that is none", &Value{Kind: KindNumber, Text: "1}"}, "null"},
		{"an empty number", &Value{Kind: KindNumber}, "null"},
		{"an unknown kind", &Value{Kind: 99}, "null"},
		{"source text of a number", &Value{Kind: KindNumber, Text: "1.0E+2"}, "1.0E+2"},
		{
			"quotes and controls", &Value{Kind: KindString, Text: "\"\\/\n\r\t\b\f\x00\x1b\x7f"},
			`"\"\\/\n\r\t\b\f\u0000\u001b\u007f"`,
		},
		{"letters of any script", &Value{Kind: KindString, Text: "é漢😀"}, `"é漢😀"`},
		{
			"C1, separators, direction, BOM", &Value{Kind: KindString, Text: "\u0085\u2028\u202e\u2066\ufeff"},
			`"\u0085\u2028\u202e\u2066\ufeff"`,
		},
		{
			"what a renderer may leave out", &Value{Kind: KindString, Text: "\u3164\ufe0f\U000e0041\u2800"},
			`"\u3164\ufe0f\udb40\udc41\u2800"`,
		},
		{"bytes that are not UTF-8", &Value{Kind: KindString, Text: "a\xffb"}, "\"a\ufffdb\""},
		{"a key", &Value{Kind: KindObject, Members: []Member{Pair("a\"\n", Null())}}, `{"a\"\n":null}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := string(Append(nil, tt.v))
			if got != tt.want {
				t.Errorf("Append = %s, want %s", got, tt.want)
			}
			if !json.Valid([]byte(got)) {
				t.Errorf("%s is not JSON", got)
			}
		})
	}
}

func TestAppendLineEndsInOneLineFeed(t *testing.T) {
	v := Text("a\nb")
	if got := string(AppendLine([]byte("x"), &v)); got != "x\"a\\nb\"\n" {
		t.Errorf("AppendLine = %q", got)
	}
}

func TestToolName(t *testing.T) {
	for _, s := range []string{
		"", ".a", "-a", "/a", ":a", "a b", "a\n", "a\x00", "wоrkspace.read", "a\u200b", "a\xff", "a*", "a\\b", "é",
		strings.Repeat("a", 129),
	} {
		if ToolName(s) {
			t.Errorf("ToolName(%q) = true, want false", s)
		}
	}
	for _, s := range []string{"a", "_", "9", "workspace.read", "mcp:a/b-c_D.9", strings.Repeat("a", 128)} {
		if !ToolName(s) {
			t.Errorf("ToolName(%q) = false, want true", s)
		}
	}
}

func TestEscape(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain text!", "plain text!"},
		{"wоrkspace.read", `w\u{43e}rkspace.read`}, // bg/A07
		{"\x1b[2J", `\u{1b}[2J`},
		{"a\xffb", `a\x{ff}b`},
		{"\ufffd", `\u{fffd}`},
		{`\u{43e}`, `\u{5c}u{43e}`},
		{"😀\x7f", `\u{1f600}\u{7f}`},
	}
	for _, tt := range tests {
		if got := Escape(tt.in); got != tt.want {
			t.Errorf("Escape(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}
