package notify

import (
	"testing"
	"time"
)

// A handler that takes long without a word of it holds up its own call only.
func TestALateHandlerIsRelieved(t *testing.T) {
	gate, began := make(chan struct{}), make(chan struct{})
	p, _ := run(t, "two", Config{Surplus: 1, Late: time.Millisecond, Handlers: map[int]Handler{notified: func(c *Call) Answer {
		if c.Args[0] == 0 {
			close(began)
			<-gate
		}
		select {
		case <-began:
		default:
			return Answer{} // asked again
		}
		return Answer{Value: int64(c.Args[0]) + 10}
	}}})
	if got := p.line(); got != "other 12" {
		t.Fatalf("got %q while another call is handled", got)
	}
	close(gate)
	if got := p.line(); got != "blocked 10" {
		t.Errorf("the late call gave %q", got)
	}
}
