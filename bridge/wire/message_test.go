package wire

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"brainbox/internal/strictjson"
)

func TestDecodeRequestRefuses(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	tests := []struct{ name, line, code, id string }{
		{"no JSON", `hello`, CodeNotJSON, ""},
		{"bg/A22 two values", `{"jsonrpc":"2.0","id":"1","method":"ping"}{}`, CodeNotJSON, ""},
		{"bg/A23 byte order mark", "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":"1","method":"ping"}`, CodeEncodingInvalid, ""},
		{"bg/A24 raw byte", `{"jsonrpc":"2.0","id":"1","method":"ping","params":{"a":"` + "\xff" + `"}}`, CodeEncodingInvalid, ""},
		{"esc/BR-03 depth", `{"jsonrpc":"2.0","id":"1","method":"ping","params":{"a":` + deep + `}}`, CodeTooComplex, ""},
		{"esc/BR-03 NaN", `{"jsonrpc":"2.0","id":"1","method":"ping","params":{"a":NaN}}`, CodeNotJSON, ""},
		{"esc/BR-03 duplicate key", `{"jsonrpc":"2.0","id":"1","id":"2","method":"ping"}`, CodeDuplicateKey, ""},
		{"duplicate key, escaped", `{"jsonrpc":"2.0","id":"1","method":"ping","\u006dethod":"cancel"}`, CodeDuplicateKey, ""},
		{"__proto__", `{"jsonrpc":"2.0","id":"1","method":"ping","params":{"__proto__":1}}`, CodeUnknownField, ""},
		{"unknown field", `{"jsonrpc":"2.0","id":"1","method":"ping","timeout":1}`, CodeUnknownField, "1"},
		{"field in another case", `{"jsonrpc":"2.0","id":"1","Method":"ping"}`, CodeUnknownField, "1"},
		{"result from a client", `{"jsonrpc":"2.0","id":"1","method":"ping","result":1}`, CodeUnknownField, "1"},
		{"batch", `[{"jsonrpc":"2.0","id":"1","method":"ping"}]`, CodeSchemaInvalid, ""},
		{"version 1.0", `{"jsonrpc":"1.0","id":"1","method":"ping"}`, CodeFieldInvalid, "1"},
		{"version as a number", `{"jsonrpc":2.0,"id":"1","method":"ping"}`, CodeFieldInvalid, "1"},
		{"no version", `{"id":"1","method":"ping"}`, CodeFieldInvalid, "1"},
		{"no method", `{"jsonrpc":"2.0","id":"1"}`, CodeFieldInvalid, "1"},
		{"method null", `{"jsonrpc":"2.0","id":"1","method":null}`, CodeFieldInvalid, "1"},
		{"id as a number", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, CodeFieldInvalid, ""},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, CodeFieldInvalid, ""},
		{"id empty", `{"jsonrpc":"2.0","id":"","method":"ping"}`, CodeFieldInvalid, ""},
		{"id of 65 bytes", `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 65) + `","method":"ping"}`, CodeFieldInvalid, ""},
		{"id with U+0000", `{"jsonrpc":"2.0","id":"a\u0000","method":"ping"}`, CodeFieldInvalid, ""},
		{"a call without an id", `{"jsonrpc":"2.0","method":"tool.call","params":{}}`, CodeFieldInvalid, ""},
		{"cancel with an id", `{"jsonrpc":"2.0","id":"1","method":"cancel","params":{"id":"2"}}`, CodeFieldInvalid, ""},
		{"params a list", `{"jsonrpc":"2.0","id":"1","method":"ping","params":[]}`, CodeFieldInvalid, "1"},
		{"params null", `{"jsonrpc":"2.0","id":"1","method":"ping","params":null}`, CodeFieldInvalid, "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := DecodeRequest([]byte(tt.line))
			if err == nil || Refusal(err).Code != tt.code || m.ID != tt.id || m.Kind != NoKind {
				t.Errorf("%+v, %v; want %s and the id %q", m, err, tt.code, tt.id)
			}
		})
	}
}

func TestDecodeRequestReads(t *testing.T) {
	long := strings.Repeat("i", 64)
	tests := []struct {
		line string
		want Message
	}{
		{`{"jsonrpc":"2.0","id":"1","method":"ping"}`, Message{Kind: Request, ID: "1", Method: MethodPing}},
		{`{ "method":"x", "id":"` + long + `", "jsonrpc":"2.0" } `, Message{Kind: Request, ID: long, Method: "x"}},
		{`{"jsonrpc":"2.0","method":"cancel"}`, Message{Kind: Notification, Method: MethodCancel}},
	}
	for _, tt := range tests {
		got, err := DecodeRequest([]byte(tt.line))
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v", tt.line, got, err)
		}
	}
	m, err := DecodeRequest([]byte(`{"jsonrpc":"2.0","id":"1","method":"ping","params":{"n":1.50e+1}}`))
	if err != nil || m.Params.Get("n").Text != "1.50e+1" {
		t.Errorf("params: %+v, %v", m.Params, err)
	}
}

func TestDecodeReplyRefusesAndReads(t *testing.T) {
	for name, line := range map[string]string{
		"both":                `{"jsonrpc":"2.0","id":"1","result":1,"error":{"code":-32603,"message":"m","data":{"code":"x"}}}`,
		"neither":             `{"jsonrpc":"2.0","id":"1"}`,
		"result without id":   `{"jsonrpc":"2.0","id":null,"result":1}`,
		"error without code":  `{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"m","data":{}}}`,
		"error without data":  `{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"m"}}`,
		"code as text":        `{"jsonrpc":"2.0","id":"1","error":{"code":"1","message":"m","data":{"code":"x"}}}`,
		"no version":          `{"id":"1","result":1}`,
		"duplicate key":       `{"jsonrpc":"2.0","id":"1","result":1,"result":2}`,
		"notification params": `{"jsonrpc":"2.0","method":"event","params":[]}`,
	} {
		if m, err := DecodeReply([]byte(line)); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	m, err := DecodeReply([]byte(`{"jsonrpc":"2.0","id":"1","result":null,"later":1}`))
	if err != nil || m.Kind != Result || m.ID != "1" || m.Result.Kind != strictjson.KindNull {
		t.Errorf("result: %+v, %v", m, err)
	}
	m, err = DecodeReply([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":{"code":"not_json","more":1},"x":1}}`))
	if err != nil || m.Kind != Failure || m.ID != "" || *m.Err != (Error{CodeNotJSON, "m"}) {
		t.Errorf("error: %+v, %v", m, err)
	}
}

// What one side writes is what the other side reads.
func TestMessagesComeBack(t *testing.T) {
	params := strictjson.Object(strictjson.Pair("a", strictjson.Text("b\u202e\x1b\n")))
	for _, m := range []Message{
		{Kind: Request, ID: "1\"", Method: MethodPing, Params: &params},
		{Kind: Notification, Method: MethodCancel, Params: &params},
	} {
		line := m.Append(nil)
		got, err := DecodeRequest(line[:len(line)-1])
		if err != nil || got.Kind != m.Kind || got.ID != m.ID || got.Method != m.Method || got.Params.Get("a").Text != "b\u202e\x1b\n" {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
	for _, m := range []Message{
		{Kind: Result, ID: "1", Result: &params},
		{Kind: Failure, ID: "1", Err: &Error{CodeNoUI, "m"}},
		{Kind: Failure, Err: &Error{CodeNotJSON, "m"}},
	} {
		line := m.Append(nil)
		got, err := DecodeReply(line[:len(line)-1])
		if err != nil || got.Kind != m.Kind || got.ID != m.ID || (m.Err != nil) && *got.Err != *m.Err || (m.Err == nil) && got.Result.Get("a") == nil {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
		if strings.ContainsAny(string(line), "\x1b\u202e") {
			t.Errorf("%q is not for a terminal", line)
		}
	}
}

func TestNumbersOfCodes(t *testing.T) {
	for code, want := range map[string]int64{
		CodeNotJSON: -32700, CodeTooComplex: -32700, CodeDuplicateKey: -32700, CodeEncodingInvalid: -32700, CodeFrameTooLarge: -32700,
		CodeHelloRequired: -32600, CodeIDInUse: -32600, CodeUnknownField: -32600, CodeProtocolUnsupported: -32600,
		CodeMethodUnknown: -32601, CodeFieldInvalid: -32602, CodeSurfaceUnknown: -32602, CodeVersionUnsupported: -32602, CodeSchemaInvalid: -32602,
		CodeInternal: -32603, "anything": -32603, "": -32603,
		CodeRoleForbidden: -32000, CodeNoUI: -32000, CodeStalePrompt: -32000, CodeOverloaded: -32000, CodeShuttingDown: -32000, CodeCancelled: -32000, CodeNotReady: -32000,
	} {
		if got := Number(code); got != want {
			t.Errorf("%s is %d, want %d", code, got, want)
		}
	}
	if got := Refusal(errors.New("open /home/op/secret")); got.Code != CodeInternal || strings.Contains(got.Message, "secret") {
		t.Errorf("another error: %+v", got)
	}
}

func TestRolesOfMethods(t *testing.T) {
	for _, tt := range []struct {
		method    string
		agent, ui bool
	}{
		{MethodToolCall, true, false},
		{MethodFSMask, true, false},
		{MethodDelegate, true, false},
		{MethodPermissionPrompt, true, false},
		{MethodPromptAnswer, false, true},
		{MethodGrantsRevoke, false, true},
		{MethodEventsSubscribe, false, true},
		{MethodHello, true, true},
		{MethodPing, true, true},
		{MethodCancel, true, true},
		{MethodEvent, false, false},
		{"Tool.call", false, false},
	} {
		known, agent := Allowed(tt.method, Agent)
		_, ui := Allowed(tt.method, UI)
		_, none := Allowed(tt.method, NoRole)
		if agent != tt.agent || ui != tt.ui || none || known != (tt.agent || tt.ui) {
			t.Errorf("%s: known %v, agent %v, ui %v, nobody %v", tt.method, known, agent, ui, none)
		}
	}
}

func TestHello(t *testing.T) {
	decode := func(s string) *strictjson.Value {
		v, err := strictjson.Decode([]byte(s), strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for text, code := range map[string]string{
		`{"protocol":"brainbox/2","client":"c"}`:                                CodeProtocolUnsupported,
		`{"client":"c"}`:                                                        CodeFieldInvalid,
		`{"protocol":"brainbox/1"}`:                                             CodeFieldInvalid,
		`{"protocol":"brainbox/1","client":"c","role":"ui"}`:                    CodeUnknownField,
		`{"protocol":"brainbox/1","client":"` + strings.Repeat("c", 129) + `"}`: CodeFieldInvalid,
		`{"protocol":"brainbox/1","client":"c","proof":null}`:                   CodeFieldInvalid,
	} {
		if _, err := ReadHello(decode(text)); err == nil || Refusal(err).Code != code {
			t.Errorf("%s: %v, want %s", text, err, code)
		}
	}
	want := Hello{Protocol: Protocol, Client: "c", Proof: "p"}
	if got, err := ReadHello(want.Value()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	w := Welcome{Protocol: Protocol, Session: "s1", Limits: Limits{1, 2, 3}, PermissionsVersion: 1}
	w.Capabilities = Capabilities{Methods: []string{"ping"}, Tools: []string{"a", "b"}, Roots: []Root{{"repo", "/r"}}}
	got, err := ReadWelcome(w.Value())
	if err != nil || got.Session != "s1" || got.Limits != w.Limits || !reflect.DeepEqual(got.Capabilities, w.Capabilities) || got.PermissionsVersion != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	w.Protocol = "brainbox/2"
	if _, err := ReadWelcome(w.Value()); err == nil {
		t.Error("another protocol was welcome")
	}
}

func TestProof(t *testing.T) {
	key, other, nonce := NewKey(), NewKey(), [NonceSize]byte{1}
	proof := key.Proof(nonce)
	switch {
	case key.Check(nonce, ""), key.Check(nonce, proof[:63]), key.Check(nonce, strings.ToUpper(proof)+" "):
		t.Error("half a proof counts")
	case other.Check(nonce, proof):
		t.Error("a proof with another key counts")
	case key.Check([NonceSize]byte{2}, proof):
		t.Error("a proof for another nonce counts")
	case (&Key{}).Check(nonce, (&Key{}).Proof(nonce)):
		t.Error("the zero key proves")
	case !key.Check(nonce, proof):
		t.Error("the proof does not count")
	}
	greeting := Nonce(nonce, time.Now())
	line := greeting.Append(nil)
	m, err := DecodeReply(line[:len(line)-1])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadNonce(&m); err != nil || got != nonce {
		t.Errorf("%v, %v", got, err)
	}
	m.Method = "other"
	if _, err := ReadNonce(&m); err == nil {
		t.Error("another notification is a greeting")
	}
}

func TestKeyFiles(t *testing.T) {
	dir, key := t.TempDir(), NewKey()
	path := filepath.Join(dir, "ui.key")
	if err := WriteKey(path, key); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadKey(path); err != nil || got != key {
		t.Errorf("%v", err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if err := WriteKey(path, key); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(link); err == nil {
		t.Error("a link was followed")
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(path); err == nil {
		t.Error("a key that the group can read was read")
	}
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, key[:31], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(short); err == nil {
		t.Error("31 bytes are a key")
	}
}
