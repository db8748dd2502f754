package proxy

import (
	"net/netip"
	"time"

	"brainbox/proxy/allow"
)

// Event is one decision, or the end of what was let through. Each decision has exactly one
// event with Closed false; one that let something through is followed by one with the same
// ID and Closed true.
//
// What can't be read as a request, and a client of the proxy that is one too many, is a decision
// too, without a host and with [allow.Malformed] or [allow.Busy]. Who gets no further than the
// listener has said nothing yet: the path is that of the answer, [allow.Request].
type Event struct {
	ID      uint64
	Time    time.Time
	Path    allow.Path
	Host    string // as normalised, or as asked for where it cannot be; at most 255 bytes, raw; "": it named none
	Port    uint16 // 0: of a lookup
	Reason  allow.Reason
	Rule    int            // index into the rules; -1: none
	Address netip.AddrPort // what was dialled; not valid where nothing was

	Closed         bool
	Sent, Received int64 // bytes from and to the program, of a Closed one
	Duration       time.Duration
}

// turnAway records a refusal that no passage was made for.
func (s *Server) turnAway(path allow.Path, reason allow.Reason) {
	s.config.Record(Event{ID: s.ids.Add(1), Time: time.Now(), Path: path, Reason: reason, Rule: -1})
}
