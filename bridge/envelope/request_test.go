package envelope

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/internal/strictjson"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// base is the valid request R of section A.10.
const base = `{"schema":"wp-codebox/parent-tool-request/v1","version":1,"request_id":"ptr_1",` +
	`"tool":"workspace.read","operation":"call","input":{"path":"README.md"},` +
	`"sandbox_session":{"sandbox_session_id":"s1"},` +
	`"authorization":{"allowed_tools":["workspace.read"]},"metadata":{}}`

// change returns text with old replaced, which must be in it.
func change(t *testing.T, text, old, with string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q is not in the text once", old)
	}
	return strings.Replace(text, old, with, 1)
}

func mustRequest(t testing.TB, text string) *Request {
	t.Helper()
	r, err := DecodeRequest([]byte(text))
	if err != nil {
		t.Fatalf("control: %v", err)
	}
	return r
}

func codeOf(err error) string {
	var e *strictjson.Error
	if err == nil {
		return "accepted"
	}
	if !errors.As(err, &e) {
		return err.Error()
	}
	return e.Code
}

const toolMember = `"tool":"workspace.read",`

func TestDecodeRequestRefuses(t *testing.T) {
	const (
		id      = `"request_id":"ptr_1"`
		input   = `"input":{"path":"README.md"},`
		meta    = `,"metadata":{}`
		version = `"version":1,`
		schema  = `"schema":"wp-codebox/parent-tool-request/v1"`
		auth    = `{"allowed_tools":["workspace.read"]}`
	)
	for _, c := range []struct{ id, old, with, want string }{
		{"bg/A07", `"workspace.read",`, `"wоrkspace.read",`, "field_invalid"},
		{"bg/A08", `"workspace.read",`, `"workspace．read",`, "field_invalid"},
		{"bg/A08", `"workspace.read",`, `"workspace.read\u200b",`, "field_invalid"},
		{"bg/A08", `"workspace.read",`, `"workspace.read ",`, "field_invalid"},
		{"bg/A09", `"workspace.read",`, `"workspace.read\u0000x",`, "field_invalid"},
		{"bg/A10", `"workspace.read",`, `"` + strings.Repeat("w", 129) + `",`, "field_invalid"},
		{"bg/A11", id, id + `,"tool":"workspace.write"`, "duplicate_key"},
		{"bg/A12", id, id + `,"\u0074ool":"workspace.write"`, "duplicate_key"},
		{"bg/A13", `"tool":`, `"Tool":`, "unknown_field"},
		{"bg/A14", `"schema":`, `"ſchema":`, "unknown_field"},
		{"bg/A15", `{"path":"README.md"}`, `{"path":"README.md","path":"x"}`, "duplicate_key"},
		{"bg/A16", `{"path":"README.md"}`, `{"__proto__":{}}`, "unknown_field"},
		{"bg/A17", version, `"version":2,`, "version_unsupported"},
		{"bg/A17", version, `"version":1.0,`, "version_unsupported"},
		{"bg/A17", version, `"version":"1",`, "version_unsupported"},
		{"bg/A17", version, `"version":null,`, "version_unsupported"},
		{"bg/A18", schema, `"schema":"wp-codebox/parent-tool-request/v2"`, "schema_invalid"},
		{"bg/A19", schema, `"schema":"wp-codebox/tool-bridge/v1"`, "schema_invalid"},
		{"bg/A20", input, ``, "field_invalid"},
		{"bg/A21", meta, ``, "field_invalid"},
		{"bg/A22", meta + `}`, meta + `} {}`, "not_json"},
		{"bg/A23", `{"schema"`, "\xef\xbb\xbf" + `{"schema"`, "encoding_invalid"},
		{"bg/A24", `"README.md"`, "\"a\xff\"", "encoding_invalid"},
		{"bg/A24", `"README.md"`, `"\ud800"`, "encoding_invalid"},
		{"bg/A25", `{"path":"README.md"}`, strings.Repeat("[", 65) + strings.Repeat("]", 65), "too_complex"},
		{"bg/A26", `README.md`, strings.Repeat("a", 1<<20+1-len(base)+len("README.md")), "frame_too_large"},
		{"bg/A61", `"ptr_1"`, `".."`, "field_invalid"},
		{"bg/A61", `"ptr_1"`, `"a/b"`, "field_invalid"},
		{"an id that is empty", `"ptr_1"`, `""`, "field_invalid"},
		{"an id of 129 bytes", `"ptr_1"`, `"` + strings.Repeat("a", 129) + `"`, "field_invalid"},
		{"an id with a line end", `"ptr_1"`, `"ptr_1\n"`, "field_invalid"},
		{"an operation in capitals", `"call"`, `"Call"`, "field_invalid"},
		{"an operation of 65 bytes", `"call"`, `"` + strings.Repeat("a", 65) + `"`, "field_invalid"},
		{"no session", `"sandbox_session":{"sandbox_session_id":"s1"},`, ``, "field_invalid"},
		{"a session without its id", `{"sandbox_session_id":"s1"}`, `{}`, "field_invalid"},
		{"a misspelt session", `"sandbox_session_id"`, `"sandbox_session_Id"`, "unknown_field"},
		{"U+0000 in a session", `"s1"`, `"s1\u0000"`, "encoding_invalid"},
		{"no list of tools", auth, `{}`, "field_invalid"},
		{"a list with a number", auth, `{"allowed_tools":[7]}`, "field_invalid"},
		{"a misspelt restriction", auth, `{"allowed_tools":[],"Capability":"read"}`, "unknown_field"},
		{"a null capability", auth, `{"allowed_tools":[],"capability":null}`, "field_invalid"},
		{"a principal of 4 KiB + 1", auth, `{"allowed_tools":[],"principal":` + sized(4<<10+1) + `}`, "field_invalid"},
		{"metadata of 16 KiB + 1", meta, `,"metadata":` + sized(16<<10+1), "field_invalid"},
		{"metadata that is a list", meta, `,"metadata":[]`, "field_invalid"},
	} {
		t.Run(c.id, func(t *testing.T) {
			mustRequest(t, base)
			r, err := DecodeRequest([]byte(change(t, base, c.old, c.with)))
			if got := codeOf(err); got != c.want || r != nil {
				t.Errorf("got %s (%v), want %s", got, err, c.want)
			}
		})
	}
	for _, text := range []string{"", "null", "[]", `"x"`, "1"} {
		if r, err := DecodeRequest([]byte(text)); err == nil || r != nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// sized returns the text of an object, n bytes long.
func sized(n int) string { return `{"a":"` + strings.Repeat("a", n-len(`{"a":""}`)) + `"}` }

// What is refused is never shown raw.
func TestRefusedNameIsEscaped(t *testing.T) {
	t.Run("bg/A07", func(t *testing.T) {
		const name = "wоrkspace.read" // U+043E
		_, err := DecodeRequest([]byte(change(t, base, toolMember, `"tool":"`+name+`",`)))
		if err == nil || strings.Contains(err.Error(), name) {
			t.Errorf("error %v shows the name, or there is none", err)
		}
		if got := strictjson.Escape(name); got != `w\u{43e}rkspace.read` {
			t.Errorf("a log shows %s", got)
		}
	})
}

func TestDecodeRequestAccepts(t *testing.T) {
	for _, c := range []struct{ id, old, with string }{
		{"bg/A20", `{"path":"README.md"}`, `null`},
		{"the longest frame", `README.md`, strings.Repeat("a", 1<<20-len(base)+len("README.md"))},
		{"the longest id", `"ptr_1"`, `"` + strings.Repeat("a", 128) + `"`},
		{"an id of all characters", `"ptr_1"`, `"A0._:-z"`},
		{"the most deeply nested input", `{"path":"README.md"}`, strings.Repeat("[", 63) + strings.Repeat("]", 63)},
		{"the largest metadata", `"metadata":{}`, `"metadata":` + sized(16<<10)},
		{"a list with what is no tool name", `["workspace.read"]`, `["wоrkspace.read",""]`},
	} {
		t.Run(c.id, func(t *testing.T) {
			text := change(t, base, c.old, c.with)
			r := mustRequest(t, text)
			if got := string(r.Encode()); got != text {
				t.Errorf("encoded again: %.200s, want %.200s", got, text)
			}
		})
	}
}

// A value that was built has no source whose length could be counted.
func TestBuiltRequestIsBounded(t *testing.T) {
	r := mustRequest(t, base)
	r.Metadata = strictjson.Object(strictjson.Pair("a", strictjson.Text(strings.Repeat("a", 16<<10))))
	v := r.Value()
	if _, err := RequestOf(&v); codeOf(err) != "field_invalid" {
		t.Errorf("got %v", err)
	}
	r.Metadata = strictjson.Value{}
	v = r.Value()
	if again, err := RequestOf(&v); err != nil || again.Metadata.Kind != strictjson.KindObject {
		t.Errorf("control: %v", err)
	}
	if _, err := RequestOf(nil); err == nil {
		t.Error("nothing is a request")
	}
}

// The examples of the seed, and what becomes of them: byte for byte the same for ever.
func TestGolden(t *testing.T) {
	req := mustRequest(t, readFile(t, "testdata/seed/request.json"))
	golden(t, "request.json", req.Encode())
	res := DecodeResult(req, []byte(readFile(t, "testdata/seed/result.json")))
	if res.Status != Succeeded {
		t.Fatalf("the seed's result: %+v", res.Err)
	}
	golden(t, "result.json", res.Encode())
	golden(t, "failed.json", req.Fail(Timeout, CodeDispatchTimeout, "the tool did not answer in time").Encode())
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := readFile(t, path); string(got)+"\n" != want {
		t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(base))
	f.Add([]byte(strings.Replace(base, `"tool"`, `"\u0074ool"`, 1)))
	f.Add([]byte(readFile(f, "testdata/seed/request.json")))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeRequest(data)
		if err != nil {
			if r != nil || codeOf(err) == err.Error() {
				t.Fatalf("request %v with error %v", r, err)
			}
			return
		}
		if !RequestID(r.ID) || !strictjson.ToolName(r.Tool) || !Operation(r.Operation) {
			t.Fatalf("names %q %q %q", r.ID, r.Tool, r.Operation)
		}
		first := r.Encode()
		v, err := strictjson.Decode(first, strictjson.Limits{Bytes: 8 * strictjson.DefaultBytes})
		if err != nil {
			t.Fatalf("encoding %s: %v", first, err)
		}
		if again, err := RequestOf(v); err == nil && string(again.Encode()) != string(first) {
			t.Fatalf("not stable: %s, then %s", first, again.Encode())
		} else if err != nil && codeOf(err) != "field_invalid" { // escapes made an object too long
			t.Fatalf("encoding %s: %v", first, err)
		}
		if res := r.Fail(Denied, CodeToolNotAllowed, ""); DecodeResult(r, res.Encode()).Status != Denied {
			t.Fatalf("failing it gives %s", res.Encode())
		}
	})
}
