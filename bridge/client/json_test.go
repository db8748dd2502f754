package client

import (
	"context"
	"testing"

	"brainbox/bridge/bridgetest"
	"brainbox/bridge/envelope"
)

// An input that is no JSON, or JSON that two readers read differently, is no call; any other
// arrives as it is, and the output comes back as JSON.
func TestCallJSON(t *testing.T) {
	h := &bridgetest.Host{Call: func(_ context.Context, r *envelope.Request) *envelope.Result {
		if r.Input.Get("none") != nil {
			return r.Succeed(nil)
		}
		if r.Input.Get("fail") != nil {
			return r.Fail(envelope.Failed, "some_code", "because")
		}
		return r.Succeed(&r.Input)
	}}
	c := open(t, h)
	for _, text := range []string{"", "{", `{"a":1}{`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{"a":NaN}`} {
		if res, err := c.CallJSON(t.Context(), "x", []byte(text)); err == nil {
			t.Errorf("%q: %+v", text, res)
		}
	}
	if n := len(h.Calls()); n != 0 {
		t.Fatalf("%d calls were sent", n)
	}
	for text, want := range map[string]string{
		`{ "a": 1.50, "b": [null] }`: `{"a":1.50,"b":[null]}`, `{"none":1}`: "", `{"fail":1}`: "",
	} {
		res, err := c.CallJSON(t.Context(), "x", []byte(text))
		if err != nil || string(res.OutputJSON()) != want {
			t.Errorf("%s: %s, %v", text, res.OutputJSON(), err)
		}
	}
}
