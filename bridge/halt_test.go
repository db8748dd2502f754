package bridge

import (
	"context"
	"testing"

	"brainbox/internal/strictjson"
)

// What cannot be written down is not done any more.
func TestNothingIsDoneUnrecorded(t *testing.T) {
	handed := 0
	s := newStand(t, func(c *Config) {
		c.Delegate = func(context.Context, *strictjson.Value) (*strictjson.Value, error) {
			handed++
			v := strictjson.Object()
			return &v, nil
		}
	})
	a := s.agent()
	if got := a.call("delegate.request", `{}`); got["result"] == nil || handed != 1 { // control
		t.Fatal(got)
	}
	if got := a.call("tool.call", request(t, id("r1")...)); word(got) != "succeeded" { // control
		t.Fatal(got)
	}
	s.mu.Lock()
	s.noRecord = true
	s.mu.Unlock()
	if got := a.call("tool.call", request(t, id("r2")...)); word(got) != "succeeded" { // it had its effect
		t.Error(got)
	}
	before, _ := s.count()
	for name, c := range map[string]*peer{"r3": a, "r4": s.agent()} {
		if got := c.call("tool.call", request(t, id(name)...)); word(got) != "failed/internal_error" {
			t.Error(got)
		}
	}
	if got := a.call("delegate.request", `{}`); got["error"] == nil || handed != 1 {
		t.Error(got)
	}
	if after, _ := s.count(); after != before || before != 2 {
		t.Errorf("%d calls were dispatched, %d of them unrecorded", after, after-before)
	}
}
