package turn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"brainbox/bridge/tool"
	"brainbox/dirchain/turntemp"
	"brainbox/gate"
	"brainbox/internal/strictjson"
)

// Name is that of the tool.
const Name = "turn_temp"

// Temp is the tool of one turn.
type Temp struct{ access *turntemp.Access }

// New makes the tool of the turn that the access is bound to; nil: it is withheld.
func New(access *turntemp.Access) *Temp { return &Temp{access} }

// Name is that of [tool.Tool].
func (t *Temp) Name() string { return Name }

// Offered tells whether the tool can be used at all.
func (t *Temp) Offered() bool { return t.access != nil }

// Plan is that of [tool.Tool].
func (t *Temp) Plan(v *strictjson.Value) (tool.Planned, error) {
	if !t.Offered() {
		return nil, &tool.Refusal{Status: "unavailable", Code: "not_supported", Message: Name + " is not supported by this host in this session"}
	}
	if v == nil || v.Kind != strictjson.KindObject {
		return nil, &tool.Refusal{Code: "invalid_request", Message: "an object is expected"}
	}
	p := &planned{t: t, text: strictjson.Append(nil, v)}
	if op := v.Get("operation"); op != nil && op.Kind == strictjson.KindString && op.Text == turntemp.OpUsage {
		p.value = turntemp.OpUsage
	} else {
		p.value = turntemp.OpPurge // or nothing that is done at all
	}
	return p, nil
}

// planned is one call.
type planned struct {
	t     *Temp
	text  []byte
	value string
}

// Reading is that of [tool.Planned].
func (p *planned) Reading() gate.Reading { return gate.Reading{Value: p.value, Effect: p.effect()} }

func (p *planned) effect() []byte {
	sum := sha256.Sum256(append([]byte("brainbox/tool/v1 turn_temp "), p.text...))
	return sum[:]
}

// Locks is that of [tool.Planned].
func (p *planned) Locks() []string { return []string{turntemp.LockKey(p.t.access.Turn())} }

// Do is that of [tool.Planned].
func (p *planned) Do(ctx context.Context, d *gate.Decision) (*strictjson.Value, error) {
	if d == nil || !d.Allowed || !bytes.Equal(d.Effect, p.effect()) {
		return nil, &tool.Refusal{Status: "denied", Code: "authority_revoked", Message: "this is not what was allowed"}
	}
	if ctx.Err() != nil {
		return nil, &tool.Refusal{Code: "cancelled", Message: "the call was given up"}
	}
	text, err := p.t.access.Handle(ctx, p.t.access.Turn(), p.text)
	if err != nil {
		return nil, refusal(err)
	}
	return strictjson.Decode(text, strictjson.Limits{})
}

func refusal(err error) error {
	var bad *strictjson.Error
	switch {
	case errors.As(err, &bad):
		return &tool.Refusal{Code: "invalid_request", Message: "an operation is usage, or purge with either all or older_than_seconds"}
	case errors.Is(err, turntemp.ErrEnded):
		return &tool.Refusal{Status: "unavailable", Code: "shutting_down", Message: "the turn ended"}
	case errors.Is(err, turntemp.ErrSink):
		return &tool.Refusal{Status: "unavailable", Code: "no_receipt", Message: "no receipt can be written, so nothing is removed"}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &tool.Refusal{Code: "cancelled", Message: "the call was given up"}
	}
	return err
}
