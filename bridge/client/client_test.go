package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"brainbox/bridge/bridgetest"
	"brainbox/bridge/envelope"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

func open(t *testing.T, h *bridgetest.Host) *Client {
	t.Helper()
	c, err := Open(t.Context(), Options{Socket: bridgetest.Start(t, h).Socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func echo(_ context.Context, r *envelope.Request) *envelope.Result { return r.Succeed(&r.Input) }

func text(s string) *strictjson.Value {
	v := strictjson.Text(s)
	return &v
}

// Every status comes back as it was given, and only success has an output.
func TestCallBringsEveryStatus(t *testing.T) {
	h := &bridgetest.Host{Call: func(_ context.Context, r *envelope.Request) *envelope.Result {
		if r.Input.Text == "succeeded" {
			return r.Succeed(&r.Input)
		}
		return r.Fail(envelope.Status(r.Input.Text), "some_code", "because")
	}}
	c := open(t, h)
	for _, want := range []envelope.Status{envelope.Denied, envelope.Failed, envelope.Unavailable, envelope.Timeout, envelope.Succeeded} {
		res, err := c.Call(t.Context(), "x", text(string(want)))
		if err != nil || res.Status != want {
			t.Fatalf("%s: %+v, %v", want, res, err)
		}
		if ok := want == envelope.Succeeded; ok != (res.Output != nil) || ok != (res.Err == nil) {
			t.Errorf("%s: output %v, error %v", want, res.Output, res.Err)
		}
	}
	if n := len(h.Calls()); n != 5 {
		t.Errorf("the host saw %d calls, want 5: none is made again", n)
	}
}

// What the bridge does not list is denied before it is sent; what it lists is sent.
func TestToolThatIsNotOffered(t *testing.T) {
	h := &bridgetest.Host{Tools: []string{"workspace.read"}, Call: echo}
	c := open(t, h)
	res, err := c.Call(t.Context(), "workspace.write", nil)
	if err != nil || res.Status != envelope.Denied || res.Err.Code != envelope.CodeToolNotAllowed || code(res) != CodeDenied {
		t.Fatalf("%+v %+v, %v", res, res.Err, err)
	}
	if n := len(h.Calls()); n != 0 {
		t.Errorf("%d calls were sent", n)
	}
	if res, err := c.Call(t.Context(), "workspace.read", text("a")); err != nil || res.Status != envelope.Succeeded {
		t.Errorf("%+v, %v", res, err)
	}
	var e *wire.Error
	if _, err := c.Call(t.Context(), "wоrkspace.read", nil); !errors.As(err, &e) || e.Code != wire.CodeFieldInvalid {
		t.Errorf("a name with a letter of another alphabet: %v", err)
	}
}

// code is the reference client's code in a result.
func code(res *envelope.Result) string {
	if v := res.Diagnostics.Get("code"); v != nil && res.Diagnostics.Get("stage").Text == Stage {
		return v.Text
	}
	return ""
}

// A host that answers about another request, or not with a result, has not answered.
func TestResultThatIsNoneOfThisCall(t *testing.T) {
	change := func(from, to string) func(string) string {
		return func(s string) string { return strings.Replace(s, from, to, 1) }
	}
	for name, test := range map[string]struct {
		change func(string) string
		code   string
	}{
		"another id":        {change(`"request_id":"ptr-`, `"request_id":"ptx-`), envelope.CodeRequestIDMismatch},
		"another tool":      {change(`"tool":"x"`, `"tool":"y"`), envelope.CodeToolMismatch},
		"another operation": {change(`"operation":"call"`, `"operation":"read"`), envelope.CodeOperationMismatch},
		"another schema":    {change(`tool-result/v1`, `tool-result/v2`), envelope.CodeResultSchemaInvalid},
		"another version":   {change(`"version":1,`, `"version":1.0,`), envelope.CodeResultVersionUnsupported},
		"another status":    {change(`"succeeded"`, `"done"`), envelope.CodeResultStatusInvalid},
		"no artifacts":      {change(`"artifacts"`, `"artefacts"`), envelope.CodeResultShapeInvalid},
		"a word":            {func(string) string { return `"ok"` }, envelope.CodeResultSchemaInvalid},
		"unknown member":    {change(`"metadata"`, `"more":1,"metadata"`), ""},
		"nothing":           {change(`x`, `x`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := &bridgetest.Host{Raw: func(line []byte, w io.Writer) bool {
				m, err := wire.DecodeRequest(line)
				if err != nil || m.Method != wire.MethodToolCall {
					return false
				}
				r, err := envelope.RequestOf(m.Params)
				if err != nil {
					t.Error(err)
					return false
				}
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%q,"result":%s}`+"\n", m.ID, test.change(string(r.Succeed(text("v")).Encode())))
				return true
			}}
			res, err := open(t, h).Call(t.Context(), "x", nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.code == "" {
				if res.Status != envelope.Succeeded || res.Output.Text != "v" {
					t.Errorf("%+v", res)
				}
				return
			}
			if res.Status != envelope.Failed || res.Err.Code != test.code || code(res) != CodeResultInvalid || res.Output != nil {
				t.Errorf("%+v %+v", res, res.Err)
			}
		})
	}
}

// No bridge, and a bridge that is gone, are results that say so (section E.8).
func TestNoBridge(t *testing.T) {
	for _, name := range []string{EnvSocket, EnvFD, EnvSession} {
		t.Setenv(name, "")
	}
	_, err := Open(t.Context(), Options{})
	if !errors.Is(err, ErrNone) {
		t.Fatalf("without a variable: %v", err)
	}
	check := func(err error) {
		t.Helper()
		res := Unavailable("x", err)
		if res.Status != envelope.Unavailable || res.Err.Code != envelope.CodeBridgeNotConfigured || res.Err.Retryable || code(res) != CodeBridgeMissing {
			t.Errorf("%+v %+v", res, res.Err)
		}
	}
	check(err)
	host := bridgetest.Start(t, &bridgetest.Host{Call: echo})
	t.Setenv(EnvSocket, host.Socket)
	c, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := c.Call(t.Context(), "x", nil); err != nil || res.Status != envelope.Succeeded {
		t.Fatalf("%+v, %v", res, err)
	}
	host.Stop()
	<-c.Done()
	res, err := c.Call(t.Context(), "x", nil)
	if err != nil || res.Status != envelope.Unavailable || res.Err.Code != envelope.CodeShuttingDown || !res.Err.Retryable {
		t.Errorf("after the end: %+v, %v", res, err)
	}
	_, err = Open(t.Context(), Options{})
	if err == nil {
		t.Fatal("a socket that nobody listens on was opened")
	}
	check(err)
}

// A host that ends within a call is a result that says so, and the call is not made again.
func TestHostEndsWithinACall(t *testing.T) {
	h := &bridgetest.Host{}
	h.Call = func(ctx context.Context, _ *envelope.Request) *envelope.Result {
		h.Stop()
		<-ctx.Done()
		return nil
	}
	c := open(t, h)
	res, err := c.Call(t.Context(), "x", nil)
	if err != nil || res.Status != envelope.Unavailable || res.Err.Code != envelope.CodeShuttingDown {
		t.Fatalf("%+v, %v", res, err)
	}
	if n := len(h.Calls()); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestErrorsOfTheHost(t *testing.T) {
	var answer atomic.Value
	h := &bridgetest.Host{Raw: func(line []byte, w io.Writer) bool {
		m, err := wire.DecodeRequest(line)
		if err != nil || m.Method != wire.MethodToolCall {
			return false
		}
		f := wire.Message{Kind: wire.Failure, ID: m.ID, Err: &wire.Error{Code: answer.Load().(string), Message: "no"}}
		_, _ = w.Write(f.Append(nil))
		return true
	}}
	c := open(t, h)
	for _, test := range []struct{ code, status, result, stage string }{
		{wire.CodeOverloaded, "unavailable", envelope.CodeOverloaded, ""},
		{wire.CodeShuttingDown, "unavailable", envelope.CodeShuttingDown, ""},
		{wire.CodeNotReady, "unavailable", envelope.CodeBridgeNotConfigured, CodeDispatcherMissing},
		{wire.CodeMethodUnknown, "unavailable", envelope.CodeBridgeNotConfigured, CodeDispatcherMissing},
	} {
		answer.Store(test.code)
		res, err := c.Call(t.Context(), "x", nil)
		if err != nil || string(res.Status) != test.status || res.Err.Code != test.result || code(res) != test.stage {
			t.Errorf("%s: %+v, %v", test.code, res, err)
		}
	}
	answer.Store(wire.CodeFieldInvalid)
	var e *wire.Error
	if _, err := c.Call(t.Context(), "x", nil); !errors.As(err, &e) || e.Code != wire.CodeFieldInvalid {
		t.Errorf("a malformed call: %v", err)
	}
	if _, err := c.Call(t.Context(), "x", text(strings.Repeat("a", wire.MaxFrame))); !errors.As(err, &e) || e.Code != wire.CodeFrameTooLarge {
		t.Errorf("a call that is too long: %v", err)
	}
	answer.Store(wire.CodeNotReady)
	if _, err := c.Call(t.Context(), "x", nil); err != nil {
		t.Errorf("the connection was lost to a call that was never sent: %v", err)
	}
}

// A result may have any key (bk/AL8, bk/AF13): one that is special elsewhere ends nothing.
func TestResultWithProto(t *testing.T) {
	v := strictjson.Object(strictjson.Pair("__proto__", strictjson.Text("yes")))
	c := open(t, &bridgetest.Host{Call: func(_ context.Context, r *envelope.Request) *envelope.Result { return r.Succeed(&v) }})
	for range 2 {
		res, err := c.Call(t.Context(), "x", nil)
		if err != nil || res.Status != envelope.Succeeded || res.Output.Get("__proto__").Text != "yes" {
			t.Fatalf("%+v, %v", res, err)
		}
	}
}
