package event

import (
	"crypto/rand"
	"encoding/hex"
	"sync"

	"brainbox/internal/strictjson"
)

// Resolution is how a decision was reached. The zero value is a fault of the gate.
type Resolution string

// The resolutions.
const (
	PolicyAllow               Resolution = "policy_allow"
	PolicyDeny                Resolution = "policy_deny"
	SessionApproved           Resolution = "session_approved"
	InfrastructureAutoAllowed Resolution = "infrastructure_auto_allowed"
	UserApproved              Resolution = "user_approved"
	UserApprovedForSession    Resolution = "user_approved_for_session"
	UserDenied                Resolution = "user_denied"
	AutoApproved              Resolution = "auto_approved"
	ConfirmationUnavailable   Resolution = "confirmation_unavailable"
	AuthorizerAllowed         Resolution = "authorizer_allowed"
	AuthorizerDenied          Resolution = "authorizer_denied"
	GateError                 Resolution = "gate_error"
	WriteProtected            Resolution = "write_protected"
)

// Allowed reports whether the resolution allows. What is not known denies.
func (r Resolution) Allowed() bool {
	switch r {
	case PolicyAllow, SessionApproved, InfrastructureAutoAllowed, UserApproved, UserApprovedForSession,
		AutoApproved, AuthorizerAllowed:
		return true
	case PolicyDeny, UserDenied, ConfirmationUnavailable, AuthorizerDenied, GateError, WriteProtected:
	}
	return false
}

// DecidedBy says who decided: rule, session_approval, infrastructure_read, user, auto,
// authorizer, write_protection, unavailable or gate_error.
func (r Resolution) DecidedBy() string {
	switch r {
	case PolicyAllow, PolicyDeny:
		return "rule"
	case SessionApproved:
		return "session_approval"
	case InfrastructureAutoAllowed:
		return "infrastructure_read"
	case UserApproved, UserApprovedForSession, UserDenied:
		return "user"
	case AutoApproved:
		return "auto"
	case ConfirmationUnavailable:
		return "unavailable"
	case AuthorizerAllowed, AuthorizerDenied:
		return "authorizer"
	case WriteProtected:
		return "write_protection"
	case GateError:
	}
	return "gate_error"
}

// Request is what is to be decided.
type Request struct {
	ClientRequestID string // the caller's own name for it; empty: null
	Surface         string
	Value           string // the command, tool name, skill name or path
	AgentName       string // empty: null
}

// Verdict is a decision. The zero Verdict denies with gate_error.
type Verdict struct {
	Resolution     Resolution
	Origin         string // the scope of the rule that won; empty: null
	MatchedPattern string // of that rule; empty: null
	AnsweredBy     string // which user interface the answer came from; empty: null
	Value          string // what an edit made of the request's value; empty: it is as it was
}

// Record is one request on its way to its one decision. It may be used by several
// goroutines.
type Record struct {
	hub *Hub
	id  string
	req Request

	mu      sync.Mutex
	decided bool
	claimed bool
}

// Begin opens the record of a request and gives it its id, perm- and a random UUID, which
// everything about the request carries.
func (h *Hub) Begin(r Request) *Record { return &Record{hub: h, id: newID(), req: r} }

// ID returns the id of the request.
func (r *Record) ID() string { return r.id }

// Claim reports whether the caller is the first to put the request before people: a
// request is asked for once, and a decided one not at all.
func (r *Record) Claim() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.claimed && !r.decided
	r.claimed = true
	return first
}

// Decide publishes the decision, and reports whether it was the first. A later one has no
// effect.
func (r *Record) Decide(v Verdict) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.decided {
		return false
	}
	r.decided = true
	if v.Resolution.DecidedBy() == "gate_error" {
		v.Resolution = GateError
	}
	r.hub.append(TopicDecision, decision{r, v}.data(&r.hub.writer))
	return true
}

// End decides gate_error where nothing was decided. It is meant for defer.
func (r *Record) End() { r.Decide(Verdict{}) }

// decision is the payload: the seven members of the first version, then our own. The hub
// adds number and time.
type decision struct {
	rec *Record
	v   Verdict
}

func (d decision) data(w *writer) strictjson.Value {
	result, value := "deny", d.rec.req.Value
	if d.v.Resolution.Allowed() {
		result = "allow"
	}
	if d.v.Value != "" {
		value = d.v.Value
	}
	members := [...]strictjson.Member{
		strictjson.Pair("surface", w.text(d.rec.req.Surface)),
		strictjson.Pair("value", w.value(value)),
		strictjson.Pair("result", strictjson.Text(result)),
		strictjson.Pair("resolution", strictjson.Text(string(d.v.Resolution))),
		strictjson.Pair("origin", w.orNull(d.v.Origin)),
		strictjson.Pair("agentName", w.orNull(d.rec.req.AgentName)),
		strictjson.Pair("matchedPattern", w.orNull(d.v.MatchedPattern)),
		strictjson.Pair("requestId", strictjson.Text(d.rec.id)),
		strictjson.Pair("clientRequestId", w.orNull(d.rec.req.ClientRequestID)),
		strictjson.Pair("sessionId", w.session),
		strictjson.Pair("decidedBy", strictjson.Text(d.v.Resolution.DecidedBy())),
		strictjson.Pair("answeredBy", w.orNull(d.v.AnsweredBy)),
		strictjson.Pair("protocolVersion", strictjson.Int(ProtocolVersion)),
	}
	v := strictjson.Value{Kind: strictjson.KindObject, Members: make([]strictjson.Member, 0, len(members)+2)} // two are the hub's
	v.Members = append(v.Members, members[:]...)
	return v
}

// newID is perm- and a random UUID (RFC 9562, version 4). [rand.Read] does not fail.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	id := hex.AppendEncode(append(make([]byte, 0, 48), "perm-"...), b[:4])
	for _, part := range [...][]byte{b[4:6], b[6:8], b[8:10], b[10:]} {
		id = hex.AppendEncode(append(id, '-'), part)
	}
	return string(id)
}
