package client

import (
	"context"
	"errors"

	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// Question is what [Client.Check] and [Client.Prompt] ask about.
type Question struct {
	Surface string
	Value   string // empty: absent
	Agent   string // empty: absent
	Message string // of a prompt: why; shown as the agent's words; empty: absent
	Label   string // of a prompt: of the session; empty: absent
}

// Answer is what a call on the surface would be met with.
type Answer struct {
	Result  string // allow, ask or deny
	Pattern string // that matched; empty: none
	Origin  string // of the pattern; empty: none
}

// Check asks what the rules say, without asking a person or leaving an event.
func (c *Client) Check(ctx context.Context, q Question) (Answer, error) {
	params := strictjson.Object(strictjson.Pair("surface", strictjson.Text(q.Surface)))
	add(&params, "value", q.Value)
	add(&params, "agentName", q.Agent)
	v, err := c.conn.call(ctx, wire.MethodPermissionCheck, &params)
	if err != nil {
		return Answer{}, err
	}
	f := strictjson.BindLenient(v)
	a := Answer{Result: f.Enum("result", "allow", "ask", "deny"), Pattern: optional(f, "matchedPattern"), Origin: optional(f, "origin")}
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	return a, nil
}

// Said is a person's answer. It is advice for the asking program: an operation that needs
// a permission asks for its own (section E.4).
type Said struct {
	Approved  bool
	State     string
	Reason    string // of a denial; may be empty
	RequestID string
}

// ErrNoUI says that nobody is there to be asked.
var ErrNoUI = errors.New("nobody is there to be asked")

// Prompt asks a person. The error is [ErrNoUI] when there is none.
func (c *Client) Prompt(ctx context.Context, q Question) (Said, error) {
	params := strictjson.Object(strictjson.Pair("surface", strictjson.Text(q.Surface)), strictjson.Pair("value", strictjson.Text(q.Value)))
	add(&params, "message", q.Message)
	add(&params, "sessionLabel", q.Label)
	add(&params, "agentName", q.Agent)
	v, err := c.conn.call(ctx, wire.MethodPermissionPrompt, &params)
	var e *wire.Error
	if errors.As(err, &e) && e.Code == wire.CodeNoUI {
		return Said{}, ErrNoUI
	}
	if err != nil {
		return Said{}, err
	}
	f := strictjson.BindLenient(v)
	s := Said{Approved: f.Bool("approved"), State: f.String("state"), Reason: optional(f, "denialReason"), RequestID: f.String("requestId")}
	if err := f.Err(); err != nil {
		return Said{}, err
	}
	return s, nil
}

// Delegate hands a task to the host (contract, part B). Both objects are of that contract;
// the host checks them, the request before and the result after.
func (c *Client) Delegate(ctx context.Context, request *strictjson.Value) (*strictjson.Value, error) {
	return c.conn.call(ctx, wire.MethodDelegate, request)
}

func add(v *strictjson.Value, key, text string) {
	if text != "" {
		v.Add(key, strictjson.Text(text))
	}
}

// optional reads a string that may be absent or null.
func optional(f *strictjson.Fields, key string) string {
	if !f.Has(key) || f.Any(key).Kind == strictjson.KindNull {
		return ""
	}
	return f.String(key)
}
