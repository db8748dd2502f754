package proxy

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"
)

// passage is one decision from its beginning to its last record.
//
//	opening ──refuse──────────────────► ended     one event
//	   │ opened
//	   ▼
//	opened ──refuse, or end (gone)────► ended     one event
//	   │ admit
//	   ▼
//	admitted ──end────────────────────► ended     two events
type passage struct {
	server *Server
	event  Event           // of the decision; written by its one owner until that is recorded
	conn   net.Conn        // to the origin, or to the upstream that reaches it
	early  []byte          // what an upstream sent behind its answer
	taken  []chan struct{} // places among those that are limited
	rules  allow.Verdict   // what they say

	mu     sync.Mutex
	state  state
	spoken bool // somebody spoke first in the tunnel
	cancel context.CancelFunc
	open   []net.Conn // closed by Close
	closed bool
	whole  bool // all that the program said was passed on, and its end

	said     chan struct{} // closed when nothing more of the program is to be passed on
	saidOnce sync.Once
}

type state uint8

const (
	opening state = iota
	admitted
	ended
)

func newPassage(s *Server, q allow.Query, cancel context.CancelFunc) *passage {
	return &passage{server: s, cancel: cancel, said: make(chan struct{}), event: Event{
		ID:   s.ids.Add(1),
		Time: time.Now(),
		Path: q.Path,
		Host: strings.Clone(q.Host[:min(len(q.Host), 255)]), // and not all that a program sent
		Port: q.Port,
		Rule: -1,
	}}
}

// learn takes what the rules say into the event.
func (p *passage) learn(v allow.Verdict) {
	p.event.Rule = v.Rule
	p.rules = v
	if v.Name != "" {
		p.event.Host = v.Name
	}
}

// take counts the passage against its limits, until its end: that of all passages, and that of
// requests, for each of which this process holds a head and a piece of a body.
func (p *passage) take() bool {
	limits := []chan struct{}{p.server.slots}
	if p.event.Path == allow.Request {
		limits = append(limits, p.server.requests)
	}
	for _, limit := range limits {
		if !place(limit) {
			return false
		}
		p.taken = append(p.taken, limit)
	}
	return true
}

// opened takes the connection to the origin. It is false, and the connection closed, when
// the server was closed meanwhile.
func (p *passage) opened(conn net.Conn) bool {
	p.conn = conn
	return p.attach(conn)
}

// attach has Close end a connection.
func (p *passage) attach(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		pipe.Reset(c)
		return false
	}
	p.open = append(p.open, c)
	return true
}

// Close cuts the passage off. Its owner, who sees that, ends it. An origin that was told
// everything, the end included, gets no reset: it may not have read it all.
func (p *passage) Close() error {
	p.mu.Lock()
	p.closed = true
	open, whole := p.open, p.whole
	p.open = nil
	p.mu.Unlock()
	p.cancel()
	for _, c := range open {
		if whole && c == p.conn {
			_ = c.Close()
		} else {
			pipe.Reset(c)
		}
	}
	return nil
}

// silent says that nothing more of the program is to be passed on.
func (p *passage) silent() { p.saidOnce.Do(func() { close(p.said) }) }

// hear is silent, of a program that was passed on to its end.
func (p *passage) hear() {
	p.mu.Lock()
	p.whole = !p.closed
	p.mu.Unlock()
	p.silent()
}

// cut reports whether it was cut off.
func (p *passage) cut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// decided reports whether it was let through, or refused.
func (p *passage) decided() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state != opening
}

// claim is true for the first who speaks in the tunnel, of a passage that is not decided yet.
// That one decides.
func (p *passage) claim() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.state == opening && !p.spoken
	p.spoken = true
	return first
}

// needsHello reports whether nothing may be sent before a ClientHello was looked at.
func (p *passage) needsHello() bool { return p.event.Port == httpsPort }

// admit records that the program is let through, and gives the connection to the origin to
// who speaks for the program: what is asked for with an absolute-form HTTP request. Call end
// when it is over. Port 443 is refused, and ended: plain HTTP is no ClientHello.
func (p *passage) admit() (net.Conn, *refusal) {
	if p.needsHello() {
		p.refuse(allow.ServerName)
		return nil, &refusal{allow.ServerName, p.event.Host, p.event.Port}
	}
	p.let()
	p.silent() // a request that nobody waits for any more is not waited for
	return p.conn, nil
}

// let records the decision to let it through.
func (p *passage) let() {
	p.mu.Lock()
	first := p.state == opening
	if first {
		p.state = admitted
	}
	p.mu.Unlock()
	if first {
		p.record("")
	}
}

// refuse records a refusal and ends the passage.
func (p *passage) refuse(reason allow.Reason) { p.finish(reason, 0, 0) }

// end records the end of the passage, with the bytes from and to the program, and closes the
// connection to the origin. One that was never let through is recorded as gone. Calling it
// again does nothing.
func (p *passage) end(sent, received int64) { p.finish(allow.Gone, sent, received) }

func (p *passage) finish(reason allow.Reason, sent, received int64) {
	p.mu.Lock()
	was := p.state
	p.state = ended
	p.mu.Unlock()
	if was == ended {
		return
	}
	p.silent()
	if p.conn != nil {
		_ = p.conn.Close()
	}
	if was == opening {
		p.record(reason)
	} else {
		p.recordEnd(sent, received)
	}
	for _, limit := range p.taken {
		<-limit
	}
	p.server.release(p)
}

// record tells the decision.
func (p *passage) record(reason allow.Reason) {
	p.event.Reason = reason
	p.event.Time = time.Now()
	p.server.config.Record(p.event)
}

func (p *passage) recordEnd(sent, received int64) {
	e := p.event
	e.Closed = true
	e.Time = time.Now()
	e.Duration = e.Time.Sub(p.event.Time)
	e.Sent, e.Received = sent, received
	p.server.config.Record(e)
}
