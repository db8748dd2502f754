package bridge

import (
	"brainbox/bridge/envelope"
	"brainbox/bridge/transcript"
)

// ParentOf is the parent of a bridge that was read; nil for none.
func ParentOf(b *envelope.Bridge, d envelope.Dispatcher) *Parent {
	if b == nil {
		return nil
	}
	p := &Parent{Tools: make(map[string]ParentTool, len(b.AllowedTools)), Dispatcher: d, NotReady: b.FailureStatus}
	for _, name := range b.AllowedTools {
		p.Tools[name] = ParentTool{}
	}
	return p
}

// Transcripts is the [Transcript] of a sink.
func Transcripts(s *transcript.Sink) Transcript { return sink{s} }

type sink struct{ s *transcript.Sink }

func (s sink) Write(c Call) (envelope.Ref, error) {
	r := transcript.Record{Request: c.Request, Result: c.Result, Cancelled: c.Cancelled, Started: c.Started, Took: c.Took}
	if c.Here {
		r.Type = "host"
	}
	return s.s.Write(r)
}
