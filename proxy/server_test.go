package proxy

import (
	"context"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"
)

// blocked is a Resolve and a Dial that tell when they are called, and wait for the end of
// their context.
type blocked struct{ called, ended chan struct{} }

func newBlocked() *blocked {
	return &blocked{make(chan struct{}, 100), make(chan struct{}, 100)}
}

func (b *blocked) wait(ctx context.Context) error {
	b.called <- struct{}{}
	<-ctx.Done()
	b.ended <- struct{}{}
	return ctx.Err()
}

func (b *blocked) resolve(ctx context.Context, _ string) ([]netip.Addr, error) {
	return nil, b.wait(ctx)
}

func (b *blocked) dial(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
	return nil, b.wait(ctx)
}

// A program that leaves while its name is resolved or its address dialled ends that; so does
// Close. Each leaves one record.
func TestGivingUp(t *testing.T) {
	leave := map[string]func(program *net.TCPConn, s *Server, cancel func()){
		"orderly":        func(c *net.TCPConn, _ *Server, _ func()) { _ = c.Close() },
		"with a reset":   func(c *net.TCPConn, _ *Server, _ func()) { pipe.Reset(c) },
		"server closed":  func(_ *net.TCPConn, s *Server, _ func()) { _ = s.Close() },
		"context is off": func(_ *net.TCPConn, _ *Server, cancel func()) { cancel() },
	}
	for how, leave := range leave {
		for what, set := range map[string]func(*Config, *blocked){
			"resolving": func(c *Config, b *blocked) { c.Resolve = b.resolve },
			"dialling":  func(c *Config, b *blocked) { c.Dial = b.dial },
		} {
			t.Run(how+" while "+what, func(t *testing.T) {
				b := newBlocked()
				c := Config{Limits: Limits{Lookup: time.Hour, Dial: time.Hour}}
				set(&c, b)
				w, s := through(t, newOrigin(t, nil), c)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				program, client := pair(t)
				done := make(chan struct{})
				go func() { defer close(done); s.Carry(ctx, client, query("ok.test", 7000)) }()
				finished(t, b.called)
				leave(program, s, cancel)
				finished(t, b.ended)
				finished(t, done)
				events := w.wait(t, 1)
				if len(events) != 1 || events[0].Reason != allow.Gone {
					t.Errorf("recorded %+v", events)
				}
			})
		}
	}
}

// A connection that comes about although the server was closed meanwhile is closed, unused.
func TestDialledWhileClosing(t *testing.T) {
	called := make(chan struct{})
	o := newOrigin(t, nil)
	w, s := through(t, o, Config{Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		close(called)
		<-ctx.Done()
		return net.Dial("tcp", o.Addr().String())
	}})
	program, done := carried(t, s, query("ok.test", 7000))
	_, _ = io.WriteString(program, "hello")
	finished(t, called)
	closing := make(chan struct{})
	go func() { defer close(closing); _ = s.Close() }()
	finished(t, closing)
	finished(t, done)
	if events := w.wait(t, 1); len(events) != 1 || events[0].Reason != allow.Gone {
		t.Errorf("recorded %+v", events)
	}
	_ = o.Close()
	o.work.Wait()
	if _, got := o.log(); got != "" {
		t.Errorf("the origin got %q", got)
	}
}

// A program that has said all it has to say before it is through is not one that left.
func TestEarlyHalfCloseIsNoGivingUp(t *testing.T) {
	o := newOrigin(t, nil)
	w := newWorld()
	w.at(publicA, 7000, o)
	resolving, go_ := make(chan struct{}), make(chan struct{})
	s := w.server(t, Config{Resolve: func(ctx context.Context, _ string) ([]netip.Addr, error) {
		close(resolving)
		select {
		case <-go_:
			return []netip.Addr{publicA}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}, allow.Rule{Name: "ok.test", Port: 7000})
	program, _ := carried(t, s, query("ok.test", 7000))
	finished(t, resolving)
	_, _ = io.WriteString(program, "hello")
	_ = program.CloseWrite()
	close(go_)
	if back, err := io.ReadAll(program); string(back) != "hello" || err != nil {
		t.Errorf("back came %q, %v", back, err)
	}
	one(t, w.wait(t, 2))
}

// A passage whose owner never carries it, one that is admitted, one in the middle: Close ends
// them all, and returns when each is recorded. Nothing runs or is recorded afterwards.
func TestCloseEndsEverything(t *testing.T) {
	before := goroutines()
	o := newOrigin(t, nil)
	w, s := through(t, o, Config{})
	const n = 20
	var programs []*net.TCPConn
	var work sync.WaitGroup
	for range n {
		program, client := pair(t)
		programs = append(programs, program)
		work.Go(func() { s.Carry(t.Context(), client, query("ok.test", 7000)) })
		_, _ = io.WriteString(program, "x")
		if _, err := io.ReadFull(program, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	request, no := s.open(t.Context(), query("ok.test", 7000))
	if no != nil {
		t.Fatal(no)
	}
	conn, no := request.admit()
	if no != nil {
		t.Fatal(no)
	}
	work.Go(func() { // as the owner of a request does
		_, _ = io.Copy(io.Discard, conn)
		request.end(1, 2)
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_, _, events := w.snapshot()
	if len(events) != 2*(n+1) {
		t.Errorf("%d events when Close returned, want %d", len(events), 2*(n+1))
	}
	one(t, events)
	work.Wait()
	for _, c := range programs {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a connection is still open")
		}
		_ = c.Close()
	}
	if p, no := s.open(t.Context(), query("ok.test", 7000)); p != nil || no == nil {
		t.Error("a closed server opened something")
	}
	if _, _, after := w.snapshot(); len(after) != len(events) {
		t.Errorf("%d events after Close", len(after)-len(events))
	}
	_ = o.Close()
	o.work.Wait()
	late := time.After(deadline)
	for goroutines() > before {
		select {
		case <-late:
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
		case <-time.After(time.Millisecond):
		}
	}
}

// goroutines counts those of this package; the tests' own frames are among them.
func goroutines() int {
	buf := make([]byte, 4<<20)
	n := 0
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "brainbox/proxy.") {
			n++
		}
	}
	return n
}

// Closing while connections come and go leaves one record for each.
func TestCloseInTheMiddle(t *testing.T) {
	for range 20 {
		o := newOrigin(t, nil)
		w, s := through(t, o, Config{})
		var work sync.WaitGroup
		for range 8 {
			program, client := pair(t)
			work.Go(func() { s.Carry(t.Context(), client, query("ok.test", 7000)) })
			work.Go(func() { _, _ = ask(program, "hello") })
		}
		_ = s.Close()
		_, _, events := w.snapshot()
		one(t, events)
		work.Wait()
		if _, _, after := w.snapshot(); len(after) != len(events) {
			t.Errorf("%d events after Close", len(after)-len(events))
		}
	}
}
