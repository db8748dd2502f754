package ask

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"brainbox/bridge/spec"
	"brainbox/bridge/tool"
	"brainbox/gate"
	"brainbox/gate/permit"
	"brainbox/internal/strictjson"
)

// Config of a Set.
type Config struct {
	Host    Host           // nil: every call is refused
	Posture permit.Posture // of the turn
	Form    FormLimits     // the zero value: the defaults
}

// Set is the tools of one turn.
type Set struct {
	c     Config
	nonce func() string // for query_activity
}

// New checks the limits of forms; a wrong one must end the start.
func New(c Config) (*Set, error) {
	var err error
	if c.Form, err = c.Form.filled(); err != nil {
		return nil, err
	}
	return &Set{c: c, nonce: uuid}, nil
}

// Tools gives all five, also those that this host or this turn does not have: they say so
// when they are called.
func (s *Set) Tools() []tool.Tool {
	return []tool.Tool{
		one{s, spec.AskUser, s.hasUser, s.planUser},
		one{s, spec.AskUserList, s.hasList, s.planList},
		one{s, spec.AskUserRank, s.hasRank, s.planRank},
		one{s, spec.AskUserForm, s.hasForm, s.planForm},
		one{s, spec.QueryActivity, s.hasActivity, s.planActivity},
	}
}

func (s *Set) hasUser() bool     { _, ok := s.c.Host.(UserAsker); return ok }
func (s *Set) hasList() bool     { _, ok := s.c.Host.(ListAsker); return ok }
func (s *Set) hasRank() bool     { _, ok := s.c.Host.(RankAsker); return ok }
func (s *Set) hasForm() bool     { _, ok := s.c.Host.(FormAsker); return ok }
func (s *Set) hasActivity() bool { _, ok := s.c.Host.(ActivityQuerier); return ok }

// Offered gives the names to announce: ask_user always, the others when a call could
// succeed. A prompt names the same ones.
func (s *Set) Offered() []string {
	var out []string
	for _, t := range s.Tools() {
		if o, ok := t.(one); ok && o.Offered() {
			out = append(out, o.name)
		}
	}
	return out
}

// one is a tool of a Set.
type one struct {
	set  *Set
	name string
	has  func() bool
	plan func(in *strictjson.Value) (doer, error)
}

// doer asks, after the input was found good.
type doer func(ctx context.Context, id string) (*strictjson.Value, error)

// Name is the bare name.
func (o one) Name() string { return o.name }

// Offered tells whether the tool is to be announced.
func (o one) Offered() bool { return o.name == spec.AskUser || o.refused() == nil }

// refused says why no call can succeed in this turn, or nil.
func (o one) refused() error {
	c, known := spec.FindContract(o.name)
	switch {
	case !known || c.Eyes && o.set.c.Posture.NoGrantSurface:
		return &tool.Refusal{Status: "denied", Code: "permission_denied", Message: o.name + ": nobody can look at it in this turn. Do not call it again."}
	case !o.has():
		return &tool.Refusal{Status: "unavailable", Code: CodeUnsupported, Message: o.name + " is not supported by this host in this session."}
	}
	return nil
}

// Plan checks the turn, the host and the input; it shows nothing to anybody.
func (o one) Plan(input *strictjson.Value) (tool.Planned, error) {
	if err := o.refused(); err != nil {
		return nil, err
	}
	do, err := o.plan(input)
	if err != nil {
		return nil, invalid(o.name, err)
	}
	return planned{o.name, do}, nil
}

// planned is a call whose input was good.
type planned struct {
	name string
	do   doer
}

// Reading is empty: the call is judged by the tool's name alone.
func (planned) Reading() gate.Reading { return gate.Reading{} }

// Locks are none.
func (planned) Locks() []string { return nil }

// Do asks. A host that panics has given no answer.
func (p planned) Do(ctx context.Context, d *gate.Decision) (out *strictjson.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("ask: %s: the host panicked: %v", p.name, r)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, p.failed(ctx, err)
	}
	if d == nil || !d.Allowed {
		return nil, &tool.Refusal{Status: "denied", Code: CodeNotAllowed, Message: p.name + ": there is no decision that allows the call."}
	}
	id := d.RequestID
	if id == "" {
		id = uuid()
	}
	out, err = p.do(ctx, id)
	if err != nil {
		return nil, p.failed(ctx, err)
	}
	return out, nil
}

// uuid is a random one, version 4.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// repeated gives the first text that occurs twice.
func repeated(list []string) (string, bool) {
	for i, s := range list {
		if slices.Contains(list[:i], s) {
			return s, true
		}
	}
	return "", false
}
