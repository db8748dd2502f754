package bridge

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brainbox/bridge/wire"
)

const helloParams = `{"protocol":"brainbox/1","client":"test"}`

func TestHello(t *testing.T) {
	s := newStand(t)
	for _, tt := range []struct{ name, method, params, want string }{
		{"another method first", "ping", `{}`, "hello_required"},
		{"a method of the other role first", "prompt.list", `{}`, "hello_required"},
		{"another protocol", "hello", `{"protocol":"brainbox/2","client":"test"}`, "protocol_unsupported"},
		{"a role of its own choice", "hello", `{"protocol":"brainbox/1","client":"test","role":"ui"}`, "unknown_field"},
		{"nothing", "hello", `{}`, "field_invalid"},
	} {
		p := s.dial("agent")
		if got := p.call(tt.method, tt.params); word(got) != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
		if got := p.read(); got["closed"] != true {
			t.Errorf("%s: still open: %v", tt.name, got)
		}
	}
	if got := s.agent().call("hello", helloParams); word(got) != "field_invalid" {
		t.Errorf("twice: %v", got)
	}
}

func TestHelloInTime(t *testing.T) {
	const limit = time.Second
	s := newStand(t, func(c *Config) { c.Limits.Hello = limit })
	if got := s.dial("agent").read(); got["closed"] != true {
		t.Errorf("no hello in time: %v", got)
	}
	p := s.dial("agent")
	for p.call("hello", helloParams)["closed"] == true { // this machine was too slow
		p = s.dial("agent")
	}
	time.Sleep(limit + limit/4) // the time for hello is over, and was kept
	got := p.call("ping", `{}`)
	if r, _ := got["result"].(object); r["now"] == nil {
		t.Errorf("the control: %v", got)
	}
}

func TestWelcome(t *testing.T) {
	s := newStand(t, withTool(&note{name: "mkdir"}))
	p := s.dial("agent")
	r, _ := p.call("hello", helloParams)["result"].(object)
	if r["session"] != "s1" || r["protocol"] != wire.Protocol || r["permissionsProtocolVersion"] != 1.0 {
		t.Errorf("%v", r)
	}
	told, _ := r["capabilities"].(object)
	list := func(key string) string {
		var all []string
		for _, c := range told[key].([]any) { //nolint:forcetypeassert // a panic fails the test
			all = append(all, c.(string)) //nolint:forcetypeassert // a panic fails the test
		}
		return strings.Join(all, " ")
	}
	if got := list("methods"); got != "fs.mkdir" {
		t.Errorf("methods %s", got)
	}
	if got := list("tools"); got != "asked forbidden jobs mkdir workspace.read" {
		t.Errorf("tools %s", got)
	}
}

// Only who has the key is an operator.
func TestProofOfTheKey(t *testing.T) {
	s := newStand(t)
	other := wire.Key{2}
	for name, proof := range map[string]func(p *peer, nonce [wire.NonceSize]byte, first string) string{
		"none":               func(*peer, [wire.NonceSize]byte, string) string { return "" },
		"another key's":      func(_ *peer, n [wire.NonceSize]byte, _ string) string { return other.Proof(n) },
		"another nonce's":    func(_ *peer, _ [wire.NonceSize]byte, first string) string { return first },
		"of the zero nonce":  func(*peer, [wire.NonceSize]byte, string) string { return s.s.c.Key.Proof([wire.NonceSize]byte{}) },
		"without the prefix": func(*peer, [wire.NonceSize]byte, string) string { return strings.Repeat("0", 64) },
	} {
		first := s.proof(s.dial("ui"))
		p := s.dial("ui")
		m, err := wire.DecodeReply([]byte(p.line()))
		if err != nil {
			t.Fatal(err)
		}
		nonce, err := wire.ReadNonce(&m)
		if err != nil {
			t.Fatal(err)
		}
		text := `{"protocol":"brainbox/1","client":"x"}`
		if proof := proof(p, nonce, first); proof != "" {
			text = `{"protocol":"brainbox/1","client":"x","proof":"` + proof + `"}`
		}
		if got := p.call("hello", text); word(got) != "role_forbidden" {
			t.Errorf("%s: %v", name, got)
		}
		if got := p.read(); got["closed"] != true {
			t.Errorf("%s: still open: %v", name, got)
		}
		_ = p.conn.Close()
	}
	if got := s.ui().call("grants.list", `{}`); got["result"] == nil {
		t.Errorf("the control: %v", got)
	}
	c := s.s.c
	c.Key = wire.Key{}
	keyless, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(filepath.Join(s.dir, "x"), "x.sock")
	if err != nil {
		t.Fatal(err)
	}
	if err := keyless.ServeUI(context.Background(), l); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("served without a key: %v", err)
	}
}

// bg/D56: a role is its listener's; who asks three times for the other's is closed.
func TestRoles(t *testing.T) {
	s := newStand(t)
	for _, tt := range []struct {
		p               *peer
		forbidden, mine string
	}{{s.agent(), "prompt.answer", "permission.check"}, {s.ui(), "tool.call", "prompt.list"}} {
		for range 2 {
			if got := tt.p.call(tt.forbidden, `{}`); word(got) != "role_forbidden" {
				t.Errorf("%s: %v", tt.forbidden, got)
			}
		}
		if got := word(tt.p.call(tt.mine, `{}`)); got == "role_forbidden" || got == "closed" {
			t.Errorf("%s: %v", tt.mine, got)
		}
		if got := tt.p.call(tt.forbidden, `{}`); word(got) != "role_forbidden" {
			t.Errorf("%s: %v", tt.forbidden, got)
		}
		if got := tt.p.read(); got["closed"] != true {
			t.Errorf("still open: %v", got)
		}
	}
}

// What is refused as a frame or a message; the connection that sent it, and another one,
// are served on unless closed says otherwise.
func TestIllegalFrames(t *testing.T) {
	s := newStand(t, many)
	other := s.agent()
	long := strings.Repeat("x", wire.MaxFrame)
	for _, tt := range []struct {
		name, text, want string
		closed           bool
	}{
		{"bg/A26 a frame of 1 MiB and 1", long + "\n", "frame_too_large", true},
		{"esc/BR-02 no end", long + long, "frame_too_large", true},
		{"too many empty lines", strings.Repeat("\n", 20), "", true},
		{"carriage return", "{}\r\n", "not_json", false},
		{"bg/A22 two values", "{}{}\n", "not_json", false},
		{"bg/A23 byte order mark", "\xef\xbb\xbf{}\n", "encoding_invalid", false},
		{"esc/BR-02 a length and no text", "\x00\x00\x00\x80\n", "encoding_invalid", false},
		{"esc/BR-03 depth", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "\n", "too_complex", false},
		{"esc/BR-03 keys twice", `{"a":1,"a":1}` + "\n", "duplicate_key", false},
		{"esc/BR-03 NaN", `{"a":NaN}` + "\n", "not_json", false},
		{"esc/BR-03 huge integer", `{"jsonrpc":"2.0","id":"1","method":"grants.revoke","params":{"id":` + strings.Repeat("9", 400) + `}}` + "\n", "role_forbidden", false},
		{"esc/BR-03 invalid UTF-8", "\"\xc3\x28\"\n", "encoding_invalid", false},
		{"esc/BR-03 trailing bytes", `{"jsonrpc":"2.0","id":"1","method":"ping"} x` + "\n", "not_json", false},
		{"batch", `[{"jsonrpc":"2.0","id":"1","method":"ping"}]` + "\n", "schema_invalid", false},
		{"id as a number", `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", "field_invalid", false},
		{"unknown member", `{"jsonrpc":"2.0","id":"1","method":"ping","auth":1}` + "\n", "unknown_field", false},
		{"unknown method", `{"jsonrpc":"2.0","id":"1","method":"Tool.call"}` + "\n", "method_unknown", false},
		{"params of ping", `{"jsonrpc":"2.0","id":"1","method":"ping","params":{"a":1}}` + "\n", "unknown_field", false},
		{"a notification", `{"jsonrpc":"2.0","method":"tool.call","params":{}}` + "\n", "field_invalid", false},
		{"cancel without an id", `{"jsonrpc":"2.0","method":"cancel"}` + "\n", "field_invalid", false},
		{"an answer", `{"jsonrpc":"2.0","id":"1","result":{}}` + "\n", "unknown_field", false},
		{"esc/BR-15 HTTP", "POST / HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n{}\n", "not_json", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := s.agent()
			defer p.conn.Close()
			_, _ = p.conn.Write([]byte(tt.text))
			if tt.want != "" {
				if got := p.read(); word(got) != tt.want {
					t.Errorf("%v, want %s", got, tt.want)
				}
			}
			if tt.closed {
				if got := p.read(); got["closed"] != true {
					t.Errorf("still open: %v", got)
				}
			} else {
				p.send(`{"jsonrpc":"2.0","id":"last","method":"ping"}` + "\n")
				for m := p.read(); m["id"] != "last"; m = p.read() {
					if m["closed"] == true {
						t.Fatal("closed")
					}
				}
			}
			if got := other.call("ping", `{}`); got["result"] == nil {
				t.Errorf("another: %v", got)
			}
		})
	}
}

// A frame ends in time, or the connection does.
func TestSlowFrames(t *testing.T) {
	s := newStand(t, many, func(c *Config) { c.Limits.FrameIdle = 100 * time.Millisecond })
	p, other := s.agent(), s.agent()
	p.send("{") // esc/BR-02
	if got := p.read(); got["closed"] != true {
		t.Errorf("esc/BR-02: %v", got)
	}
	if got := other.call("ping", `{}`); got["result"] == nil {
		t.Errorf("who says nothing: %v", got)
	}
}
