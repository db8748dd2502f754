package bridge

import (
	"bytes"
	"testing"

	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

// One answer of a person is for calls that are the same in all that is dispatched.
func TestBeside(t *testing.T) {
	principal := strictjson.Object(strictjson.Pair("user", strictjson.Text("a")))
	base := func() *envelope.Request {
		return &envelope.Request{
			ID: "r1", Tool: "jobs.run", Operation: "call", Input: strictjson.Int(1),
			Session: envelope.Session{ID: "s1"}, Metadata: strictjson.Object(),
		}
	}
	want := beside(base())
	for name, change := range map[string]func(*envelope.Request){
		"metadata": func(r *envelope.Request) {
			r.Metadata = strictjson.Object(strictjson.Pair("force", strictjson.Bool(true)))
		},
		"principal":  func(r *envelope.Request) { r.Principal = &principal },
		"capability": func(r *envelope.Request) { r.Capability = "write" },
		"operation":  func(r *envelope.Request) { r.Operation = "delete" },
		"task":       func(r *envelope.Request) { r.Session.Task = "t" },
	} {
		r := base()
		change(r)
		if bytes.Equal(beside(r), want) {
			t.Errorf("%s: the same digest", name)
		}
	}
	again := base()
	again.ID, again.Input = "r2", strictjson.Int(2) // the input is the call's own
	if !bytes.Equal(beside(again), want) {
		t.Error("id and input are no part of it")
	}
}
