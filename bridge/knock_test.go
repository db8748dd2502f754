package bridge

import (
	"testing"
	"time"
)

// Who has no key takes no operator's place, however often he comes (contract, fact 6).
func TestUnprovedTakeNoPlace(t *testing.T) {
	s := newStand(t, func(c *Config) { c.Limits.UIConns, c.Limits.Hello = 3, time.Minute })
	before := openFDs(t)
	var all []*peer
	for range mostUnproved + 20 {
		p := s.dial("ui")
		if p.line() == "" {
			t.Fatal("no greeting")
		}
		all = append(all, p)
	}
	for range 3 {
		if got := s.ui().call("grants.list", `{}`); got["result"] == nil {
			t.Errorf("%v", got)
		}
	}
	p := s.dial("ui") // the places of those who have the key are bounded, too
	if got := p.call("hello", `{"protocol":"brainbox/1","client":"test","proof":"`+s.proof(p)+`"}`); word(got) != "overloaded" {
		t.Errorf("a fourth: %v", got)
	}
	if got := all[0].read(); got["closed"] != true {
		t.Errorf("the oldest: %v", got)
	}
	for _, p := range all {
		_ = p.conn.Close()
	}
	eventually(t, "they are gone", func() bool {
		s.s.mu.Lock()
		defer s.s.mu.Unlock()
		return len(s.s.unproved) == 0 && s.s.uis == 3
	})
	eventually(t, "their descriptors are back", func() bool { return openFDs(t) <= before+2*4 })
}
