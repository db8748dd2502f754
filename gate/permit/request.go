package permit

import "brainbox/internal/strictjson"

// Call is one tool call as the runtime gives it.
type Call struct {
	ID          string // the tool use
	Tool        string
	Input       Input
	Description string // shown beside the request; empty: there is none
}

// Request is what the host is asked.
type Request struct {
	Call
	Kind Kind
	// Outside: the turn enforces its list and the tool is not on it. The host must
	// neither answer from what it remembers nor remember the answer.
	Outside bool
}

// NewRequest makes the request for a call that needs an approval
// (createToolPermissionRequest). Outside is the adapter's to know.
func NewRequest(c Call, a Approval, outside bool) Request { return Request{c, a.Kind, outside} }

// MarshalJSON writes the contract's form: description and outsideEnforcedAllowlist are
// there only when they say something.
func (r Request) MarshalJSON() ([]byte, error) {
	v := strictjson.Object(
		strictjson.Pair("toolUseId", strictjson.Text(r.ID)),
		strictjson.Pair("toolName", strictjson.Text(r.Tool)),
	)
	var input strictjson.Value
	if r.Input.root != nil {
		input = *r.Input.root
	}
	v.Add("input", input)
	if r.Description != "" {
		v.Add("description", strictjson.Text(r.Description))
	}
	v.Add("kind", strictjson.Text(r.Kind.String()))
	if r.Outside {
		v.Add("outsideEnforcedAllowlist", strictjson.Bool(true))
	}
	return strictjson.Append(nil, &v), nil
}

// Denied is the activity event permission_denied.
type Denied struct {
	ToolUseID string
	Kind      Kind
	Reason    string
}

// MarshalJSON writes the contract's form.
func (d Denied) MarshalJSON() ([]byte, error) {
	v := strictjson.Object(
		strictjson.Pair("type", strictjson.Text("permission_denied")),
		strictjson.Pair("toolUseId", strictjson.Text(d.ToolUseID)),
		strictjson.Pair("requestKind", strictjson.Text(d.Kind.String())),
		strictjson.Pair("reason", strictjson.Text(d.Reason)),
	)
	return strictjson.Append(nil, &v), nil
}
