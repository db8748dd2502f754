package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

const bearer = `tk_/Zq9+"ß x~7`

func decoded(t testing.TB, text string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Decode([]byte(text), strictjson.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return *v
}

func encode(v strictjson.Value) string { return string(strictjson.Append(nil, &v)) }

func request() *envelope.Request {
	return &envelope.Request{ID: "ptr_1", Tool: "workspace.read", Operation: "call", Session: envelope.Session{ID: "s1"}}
}

func quoted(t testing.TB, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// output redacts the output of a tool.
func output(t testing.TB, r *Redactor, v strictjson.Value) string {
	t.Helper()
	req := request()
	res := r.Answer(req, req.Succeed(&v))
	if res.Status != envelope.Succeeded {
		t.Fatalf("status %s %+v", res.Status, res.Err)
	}
	return encode(*res.Output)
}

func TestOutput(t *testing.T) {
	r := New(Options{Secrets: []string{bearer}})
	for _, c := range []struct{ id, text, want string }{
		{"bg/A54", bearer, "[redacted]"},
		{"bg/A54", "Bearer " + bearer + ".", "Bearer [redacted]."},
		{"bg/A55", base64.StdEncoding.EncodeToString([]byte(bearer)), "[redacted]"},
		{"bg/A55", base64.StdEncoding.EncodeToString([]byte("x"+bearer)) + ";", "e[redacted];"},
		{"bg/A59", "x ghp_" + strings.Repeat("aB3", 12), "x [redacted]"},
	} {
		t.Run(c.id, func(t *testing.T) {
			if got := output(t, r, strictjson.Text(c.text)); got != quoted(t, c.want) {
				t.Errorf("%q becomes %s, want %q", c.text, got, c.want)
			}
		})
	}
	t.Run("bg/A56", func(t *testing.T) {
		const text = `{"code":"1","state":"open","token":"x","path":"/home/op/x","n":1.50}`
		if got := output(t, r, decoded(t, text)); got != text {
			t.Errorf("becomes %s", got)
		}
	})
}

func TestAroundOutput(t *testing.T) {
	r := New(Options{Secrets: []string{bearer}, SandboxRoots: []string{"/usr", "/work/"}})
	res := request().Fail(envelope.Failed, "x", "no /home/op/secret/x here")
	res.Diagnostics = decoded(t, `{"api_key":"zzz","stderr":"`+`/work/a and /root/b","state":"open"}`)
	res.Metadata = decoded(t, `{"x":{"clientSecret":{"a":[1]},"token_present":true,"cookie":null}}`)
	details := decoded(t, `{"authorization":"Basic x","author":"y"}`)
	res.Err.Details = &details
	res.Evidence = []envelope.Ref{{Kind: "evidence", URI: "file:///home/op/x", Path: "a/" + bearer[:3]}}
	before := string(res.Encode())
	got := r.Answer(request(), res)
	t.Run("bg/A57", func(t *testing.T) {
		if want := "no [host-path] here"; got.Err.Message != want {
			t.Errorf("message %q, want %q", got.Err.Message, want)
		}
	})
	t.Run("bg/A58", func(t *testing.T) {
		want := `{"api_key":"[redacted]","stderr":"/work/a and [host-path]","state":"open"}`
		if got := encode(got.Diagnostics); got != want {
			t.Errorf("diagnostics %s, want %s", got, want)
		}
	})
	if want := `{"x":{"clientSecret":"[redacted]","token_present":true,"cookie":null}}`; encode(got.Metadata) != want {
		t.Errorf("metadata %s", encode(got.Metadata))
	}
	if want := `{"authorization":"[redacted]","author":"y"}`; encode(*got.Err.Details) != want {
		t.Errorf("details %s", encode(*got.Err.Details))
	}
	if want := "file://[host-path]"; got.Evidence[0].URI != want {
		t.Errorf("uri %s", got.Evidence[0].URI)
	}
	if after := string(res.Encode()); after != before {
		t.Errorf("what was given changed: %s", after)
	}
	if request().Checked(got) != got {
		t.Error("no whole result")
	}
}

func TestTree(t *testing.T) {
	r := New(Options{Secrets: []string{"abcdef", "12345678"}})
	in := decoded(t, `{"abcdef":1,"x-abcdef":{"n":12345678},"y":["abcdef",[0.12345678e9],"z"],`+
		`"abcdef#":2,"[redacted]":3,"k":4}`)
	before := encode(in)
	want := `{"[redacted]":1,"x-[redacted]":{"n":"[redacted]"},"y":["[redacted]",["0.[redacted]e9"],"z"],` +
		`"[redacted]#":2,"[redacted]#2":3,"k":4}`
	if got := output(t, r, in); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if encode(in) != before {
		t.Error("what was given changed")
	}
	if _, err := strictjson.Decode([]byte(want), strictjson.Limits{}); err != nil {
		t.Errorf("the keys are not unique: %v", err)
	}
}

// What cannot be redacted is not sent.
func TestFailure(t *testing.T) {
	const secret = "abcdef"
	r := New(Options{Secrets: []string{secret}})
	deep := strictjson.Text("TAINT")
	for range 1000 {
		deep = strictjson.Array(deep)
	}
	long := strings.Repeat("a/", 122) + secret // a path that grows beyond its bound
	for name, edit := range map[string]func(*envelope.Result){
		"a tree without end": func(res *envelope.Result) { res.Output = &deep },
		"a code with a secret": func(res *envelope.Result) {
			res.Err = &envelope.Error{Code: "x" + secret, Message: "TAINT"}
		},
		"a path that gets longer": func(res *envelope.Result) {
			res.Evidence = []envelope.Ref{{Kind: "x", Path: long + "/" + secret}}
		},
	} {
		req := request()
		null := strictjson.Text("TAINT")
		res := req.Succeed(&null)
		if got := r.Answer(req, res); got.Status != envelope.Succeeded {
			t.Fatalf("control: %+v", got.Err)
		}
		edit(res)
		got := r.Answer(req, res)
		if got.Status != envelope.Failed || got.Err.Code != envelope.CodeRedactionFailed || got.Output != nil {
			t.Errorf("%s: %s %+v", name, got.Status, got.Err)
		}
		if text := string(got.Encode()); strings.Contains(text, "TAINT") || strings.Contains(text, secret) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if got := r.Answer(request(), nil); got.Err.Code != envelope.CodeRedactionFailed {
		t.Errorf("nothing: %+v", got)
	}
}

func TestMessageIsCutBehindSecrets(t *testing.T) {
	r := New(Options{Secrets: []string{"SECRET-VALUE"}})
	res := request().Fail(envelope.Failed, "x", "y")
	res.Err.Message = strings.Repeat("a", envelope.MaxMessage-6) + "SECRET-VALUE"
	got := r.Answer(request(), res).Err.Message
	if len(got) > envelope.MaxMessage || strings.Contains(got, "SECRET") {
		t.Errorf("%d bytes, end %q", len(got), got[len(got)-12:])
	}
}

func TestManyAtOnce(t *testing.T) {
	r := New(Options{Secrets: []string{bearer}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := r.Text("a "+bearer+" b", Full); got != "a [redacted] b" {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestSkipped(t *testing.T) {
	r := New(Options{Secrets: []string{"", "short", " five5 ", "redacted", "[host-path]", " longer\n", "longer"}})
	if r.Skipped() != 5 {
		t.Errorf("skipped %d", r.Skipped())
	}
	if got := r.Text("a short redacted longer thing", Output); got != "a short redacted [redacted] thing" {
		t.Errorf("got %q", got)
	}
}

func TestScrubEnvironment(t *testing.T) {
	const token = "tok-0123456789"
	r := New(Options{Secrets: []string{token}})
	env := []string{
		"HOME=/h", "HOST_TOKEN=other", "A=x" + token, "B=" + base64.StdEncoding.EncodeToString([]byte("u:"+token)),
		token + "=x", "C=" + url.QueryEscape(token), "D=tok", "E=", "=x", "noname",
	}
	t.Run("bg/A75", func(t *testing.T) {
		got := r.ScrubEnvironment(env, []string{"HOST_TOKEN"})
		if want := []string{"HOME=/h", "D=tok", "E="}; !slices.Equal(got, want) {
			t.Errorf("kept %q, want %q", got, want)
		}
	})
}

// A program that colours what it prints does not make a secret readable.
func TestColoured(t *testing.T) {
	const secret = "s3cr3t/v4lue"
	r := New(Options{Secrets: []string{secret}})
	for _, mark := range []string{"\x1b[01;31m\x1b[K", "\x1b[m", "\x1b(B", "\x1b]8;;http://x/\x07", "\x1b]8;;x\x1b\\", "\x1b7", "\x1b[0 q"} {
		for at := 1; at < len(secret); at++ {
			text := "a " + secret[:at] + mark + secret[at:] + " z"
			for s, want := range map[string]string{
				text: "a [redacted] z", quoted(t, text): `"a [redacted] z"`, url.PathEscape(text): "a%20[redacted]%20z",
			} {
				if got := r.Text(s, Output); got != want {
					t.Errorf("%q becomes %q", s, got)
				}
			}
		}
	}
	for _, text := range []string{"\x1b[31mred\x1b[0m", "\x1b", "\x1b[", "\x1b]x", "x\x1b", "\x1b[1;2"} {
		if got := r.Text(text, Output); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
