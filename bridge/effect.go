package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"runtime/debug"

	"brainbox/bridge/envelope"
	"brainbox/bridge/tool"
	"brainbox/gate"
	"brainbox/gate/prompt"
	"brainbox/internal/strictjson"
)

// question is the gate's call for a request.
func (s *Server) question(req *envelope.Request, surface string, source prompt.Source) gate.Call {
	return gate.Call{
		ID: req.ID, Surface: surface, Tool: req.Tool, Args: strictjson.Append(nil, &req.Input),
		Cwd: s.c.Cwd, Agent: s.c.Agent, Source: source,
	}
}

// spend uses a decision for a call whose arguments are the decided ones. Nothing is done for
// who is gone, or has withdrawn it while it waited.
func spend(ctx context.Context, req *envelope.Request, d *gate.Decision, q gate.Call) *envelope.Result {
	if ctx.Err() != nil {
		return req.Fail(envelope.Unavailable, envelope.CodeShuttingDown, "the call was withdrawn")
	}
	if err := d.Spend(q); err != nil {
		return req.Fail(envelope.Denied, envelope.CodePermissionDenied, "it is not what was decided")
	}
	return nil
}

// decided is the request with the arguments that may be used.
func decided(req *envelope.Request, d *gate.Decision) (*envelope.Request, error) {
	if !d.Edited {
		return req, nil
	}
	v, err := strictjson.Decode(d.Args, strictjson.Limits{})
	if err != nil {
		return nil, err
	}
	next := *req
	next.Input = *v
	return &next, nil
}

// forward asks the gate about a tool of the parent and dispatches what it allows. Rules
// know the call by the tool's name, and match its operation.
func (s *Server) forward(ctx context.Context, k *Call, source prompt.Source) *envelope.Result {
	req := k.Request
	q := s.question(req, req.Tool, source)
	q.Reading = gate.Reading{Value: req.Operation, Effect: beside(req)}
	q.Reread = func(json.RawMessage) (gate.Reading, error) { return q.Reading, nil }
	k.Decision = s.c.Gate.Decide(ctx, q)
	d := &k.Decision
	if !d.Allowed {
		return refused(req, d)
	}
	next, err := decided(req, d)
	if err != nil {
		return req.Fail(envelope.Denied, envelope.CodePermissionDenied, "the edit is not JSON")
	}
	k.Input = &next.Input
	q.Args = strictjson.Append(nil, k.Input)
	if s.c.Parent.Dispatcher == nil {
		return s.notReady(req)
	}
	if res := spend(ctx, req, d, q); res != nil {
		return res
	}
	return req.Checked(s.dispatch(ctx, next))
}

// beside is the digest of what a dispatcher gets beside the input: two calls of which one
// person's answer is for both have it in common.
func beside(req *envelope.Request) []byte {
	r := *req
	r.ID, r.Input = "", strictjson.Null()
	d := sha256.Sum256(r.Encode())
	return d[:]
}

// notReady is the result while there is no dispatcher.
func (s *Server) notReady(req *envelope.Request) *envelope.Result {
	status := envelope.Unavailable
	if s.c.Parent.NotReady == envelope.Denied {
		status = envelope.Denied
	}
	return req.Fail(status, envelope.CodeBridgeNotConfigured, "the bridge has no dispatcher")
}

// dispatch is total, whatever the dispatcher does but never return.
func (s *Server) dispatch(ctx context.Context, req *envelope.Request) (res *envelope.Result) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic in the dispatcher", "tool", req.Tool, "stack", strictjson.Escape(string(debug.Stack())))
			res = req.Fail(envelope.Failed, envelope.CodeInternalError, "internal error")
		}
	}()
	return s.c.Parent.Dispatcher.Dispatch(ctx, req)
}

// mediate plans a call of a tool of ours, asks the gate about the plan, and carries out
// what it allows: the very plan that the decision was spent on.
func (s *Server) mediate(ctx context.Context, k *Call, t tool.Tool, source prompt.Source) *envelope.Result {
	req := k.Request
	plan, err := t.Plan(&req.Input)
	if err != nil {
		return s.failed(req, err)
	}
	if p, ok := plan.(tool.Partial); ok {
		answer, whole, err := p.Partial()
		if err != nil {
			return s.failed(req, err)
		}
		if whole {
			return req.Succeed(answer)
		}
	}
	q := s.question(req, tool.SurfaceOf(t), source)
	q.Reading, q.Reread = plan.Reading(), reread(t)
	k.Decision = s.c.Gate.Decide(ctx, q)
	d := &k.Decision
	if !d.Allowed {
		return refused(req, d)
	}
	if d.Edited {
		next, err := decided(req, d)
		if err != nil {
			return req.Fail(envelope.Denied, envelope.CodePermissionDenied, "the edit is not JSON")
		}
		k.Input = &next.Input
		if plan, err = t.Plan(k.Input); err != nil {
			return s.failed(req, err)
		}
		q.Args, q.Reading = d.Args, plan.Reading()
	}
	var res *envelope.Result
	err = s.locked(ctx, plan.Locks(), func() error {
		if res = spend(ctx, req, d, q); res != nil {
			return nil
		}
		out, err := plan.Do(ctx, d)
		if err == nil {
			res = req.Succeed(out)
		}
		return err
	})
	switch {
	case err != nil:
		return s.failed(req, err)
	case res == nil: // the locks did not run it
		return req.Fail(envelope.Failed, envelope.CodeInternalError, "internal error")
	}
	return res
}

// reread tells the gate what edited arguments would mean.
func reread(t tool.Tool) func(json.RawMessage) (gate.Reading, error) {
	return func(args json.RawMessage) (gate.Reading, error) {
		v, err := strictjson.Decode(args, strictjson.Limits{})
		if err != nil {
			return gate.Reading{}, err
		}
		plan, err := t.Plan(v)
		if err != nil {
			return gate.Reading{}, err
		}
		return plan.Reading(), nil
	}
}

// failed is the result of an error: a refusal says what is wrong, and nothing else is told.
func (s *Server) failed(req *envelope.Request, err error) *envelope.Result {
	var r *tool.Refusal
	if errors.As(err, &r) {
		status := envelope.Failed
		if r.Status != "" {
			status = envelope.Status(r.Status)
		}
		return req.Fail(status, r.Code, r.Message)
	}
	s.log.Warn("a tool failed", "tool", req.Tool, "error", strictjson.Escape(err.Error()))
	return req.Fail(envelope.Failed, envelope.CodeInternalError, "internal error")
}

// locked runs f under the keys.
func (s *Server) locked(ctx context.Context, keys []string, f func() error) error {
	switch {
	case len(keys) == 0:
		return f()
	case s.c.Locks != nil:
		return s.c.Locks.WithLocks(ctx, keys, f)
	}
	select {
	case s.alone <- struct{}{}:
		defer func() { <-s.alone }()
		return f()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
