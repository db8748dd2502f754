package bridge

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/bridge/wire"
	"brainbox/gate"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/internal/strictjson"
)

// operationCall is the one operation of the tools that are carried out here.
const operationCall = "call"

// toolCall is tool.call.
func (c *conn) toolCall(ctx context.Context, params *strictjson.Value) (reply, error) {
	req, err := envelope.RequestOf(params)
	if err != nil {
		return reply{}, err
	}
	return c.call(ctx, wire.MethodToolCall, req, prompt.ToolCall)
}

// fsTools are the tools that fs.* are calls of.
var fsTools = map[string]string{
	wire.MethodFSWrite:  "fs.write",
	wire.MethodFSMkdir:  "mkdir",
	wire.MethodFSRename: "rename",
	wire.MethodFSRemove: "remove",
	wire.MethodFSMask:   "request_image_mask",
}

// mediated is a method of fs.*: the params are the tool's input, with the request's id.
func mediated(method string) handler {
	return func(c *conn, ctx context.Context, params *strictjson.Value) (reply, error) {
		f := strictjson.BindLenient(params) // the tool knows its fields
		req := &envelope.Request{
			ID: f.Match("request_id", envelope.RequestID), Tool: fsTools[method], Operation: operationCall,
			Input: strictjson.Object(), Session: envelope.Session{ID: c.s.c.Session}, Metadata: strictjson.Object(),
		}
		if err := f.Err(); err != nil {
			return reply{}, err
		}
		for i := range params.Members {
			if m := &params.Members[i]; m.Key != "request_id" {
				req.Input.Members = append(req.Input.Members, *m)
			}
		}
		return c.call(ctx, method, req, prompt.MediatedWrite)
	}
}

// unrecorded is what a caller is told after [Server.Halt].
const unrecorded = "the host can record no more, and does nothing more"

// call makes a valid call, from the session's check on: there is a result, whatever
// happens.
func (c *conn) call(ctx context.Context, method string, req *envelope.Request, source prompt.Source) (reply, error) {
	k := &Call{Method: method, Request: req, Input: &req.Input, Peer: c.peer, Started: time.Now()}
	k.Result = c.s.perform(ctx, k, source)
	c.s.finish(ctx, k)
	if k.Cancelled {
		return reply{}, withdrawn(ctx)
	}
	v := k.Result.Value()
	return reply{value: &v, short: func(code string) *strictjson.Value {
		res := req.Fail(envelope.Failed, envelope.CodeResultTooLarge, "the result is too long, or has too many parts, for a frame")
		if code == wire.CodeDuplicateKey {
			res = req.Fail(envelope.Failed, envelope.CodeResultDuplicateKey, "the result has a key twice")
		}
		v := res.Value()
		return &v
	}}, nil
}

// perform goes through the steps up to the result. It never panics.
func (s *Server) perform(ctx context.Context, k *Call, source prompt.Source) (res *envelope.Result) {
	req := k.Request
	defer func() {
		k.Decision.Close()
		if p := recover(); p != nil {
			s.log.Error("panic", "tool", req.Tool, "stack", strictjson.Escape(string(debug.Stack())))
			res = req.Fail(envelope.Failed, envelope.CodeInternalError, "internal error")
		}
	}()
	if res := s.bind(req); res != nil {
		return res
	}
	if s.halted.Load() {
		return req.Fail(envelope.Failed, envelope.CodeInternalError, unrecorded)
	}
	if t, ok := s.tools[req.Tool]; ok {
		k.Here = true
		return s.mediate(ctx, k, t, source)
	}
	return s.forward(ctx, k, source)
}

// bind is what needs no gate: session, replay, list of tools, capability and operation. It
// returns nil when the call may go on.
func (s *Server) bind(req *envelope.Request) *envelope.Result {
	if req.Session.ID != s.c.Session {
		s.replays.use(req.ID) // its transcript would be in the place of a later call's
		return req.Fail(envelope.Denied, envelope.CodeSessionMismatch, "the connection is of another session")
	}
	switch s.replays.use(req.ID) {
	case fresh:
	case full:
		res := req.Fail(envelope.Unavailable, envelope.CodeOverloaded, "no more requests are remembered in this session")
		res.Err.Retryable = false
		return res
	case replayed:
		return req.Fail(envelope.Denied, envelope.CodeRequestReplayed, "a request with this id was made before")
	default:
		return req.Fail(envelope.Denied, envelope.CodeRequestReplayed, "a request with this id was made before")
	}
	_, local := s.tools[req.Tool]
	if s.c.Parent == nil && !local {
		return req.Fail(envelope.Unavailable, envelope.CodeBridgeNotConfigured, "no bridge is configured")
	}
	for _, name := range req.AllowedTools {
		if !s.listed(name) {
			return req.Fail(envelope.Denied, envelope.CodeAllowlistMismatch, "the request claims tools that are not listed")
		}
	}
	if !s.listed(req.Tool) {
		return req.Fail(envelope.Denied, envelope.CodeToolNotAllowed, "the tool is not listed")
	}
	return s.permitted(req, local)
}

// listed reports whether a tool may be called at all. Names are compared byte by byte.
func (s *Server) listed(name string) bool {
	if _, ok := s.tools[name]; ok {
		return true
	}
	if s.c.Parent == nil {
		return false
	}
	_, ok := s.c.Parent.Tools[name]
	return ok
}

// permitted checks operation and capability.
func (s *Server) permitted(req *envelope.Request, local bool) *envelope.Result {
	if local {
		if req.Operation != operationCall {
			return req.Fail(envelope.Denied, envelope.CodeOperationNotAllowed, "the tool has the operation call only")
		}
		return nil
	}
	t := s.c.Parent.Tools[req.Tool]
	if len(t.Operations) > 0 && !slices.Contains(t.Operations, req.Operation) {
		return req.Fail(envelope.Denied, envelope.CodeOperationNotAllowed, "the tool does not have the operation")
	}
	if t.Capability != "" && req.Capability != t.Capability {
		return req.Fail(envelope.Denied, envelope.CodeCapabilityDenied, "the tool needs another capability")
	}
	return nil
}

// refused is the result of a call that the gate does not allow.
func refused(req *envelope.Request, d *gate.Decision) *envelope.Result {
	why := d.Reason
	if why == "" {
		why = "it is not allowed"
	}
	switch {
	case d.Resolution == event.WriteProtected:
		return req.Fail(envelope.Denied, envelope.CodeWriteProtectedDenied, why)
	case d.Resolution != event.ConfirmationUnavailable:
		return req.Fail(envelope.Denied, envelope.CodePermissionDenied, why)
	case d.Code == prompt.Timeout:
		return req.Fail(envelope.Timeout, envelope.CodePromptTimeout, why)
	case d.Code == prompt.Overloaded, d.Code == prompt.Cooldown:
		return req.Fail(envelope.Unavailable, envelope.CodeOverloaded, why)
	case d.Code == prompt.ShuttingDown:
		return req.Fail(envelope.Unavailable, envelope.CodeShuttingDown, why)
	}
	return req.Fail(envelope.Unavailable, envelope.CodeConfirmationUnavailable, why)
}

// finish takes out secrets, and writes down what became of the call.
func (s *Server) finish(ctx context.Context, k *Call) {
	k.Took = time.Since(k.Started)
	if cause := context.Cause(ctx); cause != nil && k.Result.Status != envelope.Succeeded {
		switch {
		case errors.Is(cause, errGone):
			k.Cancelled, k.Result = true, k.Request.Fail(envelope.Failed, envelope.CodeCallerGone, "the caller is gone")
		case errors.Is(cause, errCancelled):
			k.Cancelled, k.Result = true, k.Request.Fail(envelope.Failed, wire.CodeCancelled, "cancelled by the caller")
		default:
			k.Result = k.Request.Fail(envelope.Unavailable, envelope.CodeShuttingDown, "the session is over")
		}
	}
	k.Result = s.redact(k.Request, k.Result)
	s.record(k)
}

// redact is total: what cannot be redacted is not answered.
func (s *Server) redact(req *envelope.Request, res *envelope.Result) (out *envelope.Result) {
	failed := func() *envelope.Result {
		return req.Fail(envelope.Failed, envelope.CodeRedactionFailed, "the result could not be redacted")
	}
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic in the redactor", "stack", strictjson.Escape(string(debug.Stack())))
			out = failed()
		}
	}()
	out, err := s.c.Redact(res)
	if err != nil || out == nil {
		return failed()
	}
	return req.Checked(out)
}

// record writes the transcript, the event and the record, none of which needs another. A
// transcript that cannot be written does not change what became of the call.
func (s *Server) record(k *Call) {
	if s.c.Transcript != nil {
		err := errors.New("panic")
		s.guarded(func() {
			var ref envelope.Ref
			if ref, err = s.c.Transcript.Write(*k); err == nil {
				k.Result.Transcripts = []envelope.Ref{ref}
			}
		})
		if err != nil {
			s.log.Warn("transcript not written", "error", strictjson.Escape(err.Error()))
			k.Result.Transcripts = nil
			k.Result.Diagnose("transcript_error", strictjson.Text("the transcript could not be written"))
		}
	}
	code := ""
	if k.Result.Err != nil {
		code = k.Result.Err.Code
	}
	s.guarded(func() {
		s.c.Hub.Publish(event.Call{
			RequestID: k.Decision.RequestID, ClientRequestID: k.Request.ID, Tool: k.Request.Tool, Operation: k.Request.Operation,
			Status: string(k.Result.Status), ErrorCode: code, DurationMS: k.Took.Milliseconds(),
		})
	})
	if s.c.Recorder != nil {
		err := errors.New("panic")
		s.guarded(func() { err = s.c.Recorder.Record(*k) })
		if err != nil {
			s.log.Error("call not recorded", "error", strictjson.Escape(err.Error()))
			s.Halt()
		}
	}
}

// guarded calls f, which may panic.
func (s *Server) guarded(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic while recording", "stack", strictjson.Escape(string(debug.Stack())))
		}
	}()
	f()
}
