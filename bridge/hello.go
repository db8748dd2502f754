package bridge

import (
	"time"

	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// hello answers the first request, which must be one.
func (c *conn) hello(m *wire.Message) (more, last bool) {
	refuse := func(e *wire.Error) (more, last bool) { return false, c.fail(m.ID, e) }
	if m.Method != wire.MethodHello {
		return refuse(&wire.Error{Code: wire.CodeHelloRequired, Message: "the first request is hello"})
	}
	h, err := wire.ReadHello(m.Params)
	if err != nil {
		return refuse(wire.Refusal(err))
	}
	if c.role == wire.UI && !c.s.c.Key.Check(c.nonce, h.Proof) {
		c.s.log.Warn("proof refused", "pid", c.peer.PID, "uid", c.peer.UID)
		return refuse(&wire.Error{Code: wire.CodeRoleForbidden, Message: "no proof of the key"})
	}
	c.nonce = [wire.NonceSize]byte{}
	if c.role == wire.UI {
		if err := c.s.prove(c); err != nil {
			return refuse(wire.Refusal(err))
		}
	}
	c.mu.Lock()
	c.client = h.Client
	for _, f := range c.flights { // of the program that had the connection before
		f.cancel(errGone)
	}
	c.mu.Unlock()
	c.greeted = true
	c.r.Until(time.Time{})
	w := wire.Welcome{
		Protocol: wire.Protocol, Session: c.s.c.Session, Capabilities: c.s.capabilities(c.role), PermissionsVersion: wire.PermissionsVersion,
		Limits: wire.Limits{FrameBytes: int64(c.s.l.Frame), InFlight: int64(c.s.l.InFlight), CallsPerSecond: int64(c.s.l.CallsPerSecond)},
	}
	return c.answer(m.ID, w.Value()), false
}

// ping needs no place among the calls.
func (c *conn) ping(m *wire.Message) bool {
	if err := noParams(m.Params); err != nil {
		return c.fail(m.ID, wire.Refusal(err))
	}
	v := strictjson.Object(strictjson.Pair("now", strictjson.Text(time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))))
	return c.answer(m.ID, &v)
}

// cancelCall ends a call's context; the call answers.
func (c *conn) cancelCall(m *wire.Message) bool {
	f := strictjson.Bind(params(m), "id")
	id := f.String("id")
	if err := f.Err(); err != nil {
		return c.fail("", wire.Refusal(err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if fl := c.flights[id]; fl != nil {
		fl.cancel(errCancelled)
	}
	return true
}

// params of a message; none are an empty object.
func params(m *wire.Message) *strictjson.Value {
	if m.Params == nil {
		return &strictjson.Value{Kind: strictjson.KindObject}
	}
	return m.Params
}

func noParams(v *strictjson.Value) error {
	if v == nil {
		return nil
	}
	return strictjson.Bind(v).Err()
}
