package proxy

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// whole waits until a passage has passed on all that the program said.
func whole(t *testing.T, s *Server) {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); time.Now().Before(late); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		for c := range s.held {
			if p, ok := c.(*passage); ok {
				p.mu.Lock()
				done := p.whole
				p.mu.Unlock()
				if done {
					s.mu.Unlock()
					return
				}
			}
		}
		s.mu.Unlock()
	}
	t.Fatal("what the program said is not passed on")
}

// A program that speaks and ends, and its run with it, was heard: an origin that is slow to
// read gets all of it, and an end that is no reset.
func TestLastWordsReachASlowOrigin(t *testing.T) {
	const size = 300_000 // more than waits at the origin (tcp(7), tcp_rmem), less than on this side
	type all struct {
		n   int
		err error
	}
	read, got := make(chan struct{}), make(chan all, 1)
	o := newOrigin(t, func(c *net.TCPConn) {
		<-read
		text, err := io.ReadAll(c)
		got <- all{len(text), err}
	})
	_, s := through(t, o, Config{})
	program, _ := carried(t, s, query("ok.test", 7000))
	if _, err := program.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	_ = program.Close()
	whole(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	close(read)
	if g := <-got; g.n != size || g.err != nil {
		t.Errorf("the origin got %d bytes, %v", g.n, g.err)
	}
}

// Close waits for what the program has said, and not for ever.
func TestCloseWaitsForLastWords(t *testing.T) {
	for _, c := range []struct{ said, want time.Duration }{{lastWords / 2, lastWords / 2}, {2 * lastWords, lastWords}} {
		synctest.Test(t, func(t *testing.T) {
			s, err := New(Config{})
			if err != nil {
				t.Fatal(err)
			}
			var p *passage
			p = newPassage(s, query("ok.test", 7000), func() { go p.end(0, 0) }) // as who sees that it is cut off
			if !s.hold(p) {
				t.Fatal("closed")
			}
			defer time.AfterFunc(c.said, p.hear).Stop()
			begun := time.Now()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took != c.want {
				t.Errorf("said after %v: it took %v, want %v", c.said, took, c.want)
			}
		})
	}
}
