package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"brainbox/proxy/allow"
)

// deadline is for what a loaded machine may take; nothing waits for it to pass.
const deadline = 20 * time.Second

// Addresses that are public for the rules and stand for listeners on loopback here.
var (
	publicA = netip.MustParseAddr("93.184.215.14")
	publicB = netip.MustParseAddr("2606:2800:21f:cb07:6820:80da:af6b:8b2c")
)

// world is what is outside: a resolver, origins, and their logs.
type world struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr // by name: one after the other, the last one again
	stands  map[netip.AddrPort]string // a public address → a listener on loopback
	asked   []string
	dialled []netip.AddrPort
	events  []Event
	changed chan struct{}
}

func newWorld() *world {
	return &world{
		answers: map[string][][]netip.Addr{},
		stands:  map[netip.AddrPort]string{},
		changed: make(chan struct{}, 1),
	}
}

func (w *world) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, name)
	all := w.answers[name]
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if len(all) > 1 {
		w.answers[name] = all[1:]
	}
	return all[0], nil
}

func (w *world) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, to)
	at := w.stands[to]
	w.mu.Unlock()
	if at == "" {
		return dialTCP(ctx, to)
	}
	return dialTCP(ctx, netip.MustParseAddrPort(at))
}

func (w *world) record(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *world) snapshot() (asked []string, dialled []netip.AddrPort, events []Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked), slices.Clone(w.dialled), slices.Clone(w.events)
}

// wait waits until there are n events, and returns them.
func (w *world) wait(t testing.TB, n int) []Event {
	t.Helper()
	late := time.After(deadline)
	for {
		_, _, events := w.snapshot()
		if len(events) >= n {
			return events
		}
		select {
		case <-w.changed:
		case <-late:
			t.Fatalf("%d events, want %d: %+v", len(events), n, events)
		}
	}
}

// server is one with the world's resolver, dialler and record, for the rules.
func (w *world) server(t testing.TB, c Config, rules ...allow.Rule) *Server {
	t.Helper()
	set, err := allow.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	c.Rules = set
	if c.Resolve == nil {
		c.Resolve = w.resolve
	}
	if c.ResolveUpstream == nil {
		c.ResolveUpstream = c.Resolve
	}
	if c.Dial == nil {
		c.Dial = w.dial
	}
	c.Record = w.record
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// pair is a TCP connection on loopback: the program's end and the host's.
func pair(t testing.TB) (program, client *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = dialled.Close(), accepted.Close() })
	_ = dialled.SetDeadline(time.Now().Add(deadline))
	return dialled.(*net.TCPConn), accepted.(*net.TCPConn)
}

// carried has the server carry a new connection of a program's for q.
func carried(t testing.TB, s *Server, q allow.Query) (program *net.TCPConn, done chan struct{}) {
	t.Helper()
	program, client := pair(t)
	done = make(chan struct{})
	go func() {
		defer close(done)
		s.Carry(t.Context(), client, q)
	}()
	t.Cleanup(func() { _ = program.Close(); finished(t, done) })
	return program, done
}

// finished waits for what ends a call.
func finished(t testing.TB, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(deadline):
		t.Fatal("not finished in time")
	}
}

// ask sends a word, half-closes and returns all that comes back.
func ask(c *net.TCPConn, word string) (string, error) {
	if _, err := io.WriteString(c, word); err != nil {
		return "", err
	}
	if err := c.CloseWrite(); err != nil {
		return "", err
	}
	back, err := io.ReadAll(c)
	return string(back), err
}

// refused fails the test unless nothing comes back.
func refused(t *testing.T, c *net.TCPConn) {
	t.Helper()
	back, err := ask(c, "hello")
	if back != "" {
		t.Errorf("%q came back", back)
	}
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Errorf("the connection was not ended: %v", err)
	}
}

// reached fails the test unless an echo answers.
func reached(t *testing.T, c *net.TCPConn) {
	t.Helper()
	if back, err := ask(c, "hello"); back != "hello" || err != nil {
		t.Fatalf("back came %q, %v; want hello", back, err)
	}
}

// one fails the test unless the events are of passages with one decision each, and with one
// end each where it was allowed.
func one(t *testing.T, events []Event) {
	t.Helper()
	type seen struct{ decided, closed, admitted int }
	by := map[uint64]*seen{}
	for _, e := range events {
		s := by[e.ID]
		if s == nil {
			s = &seen{}
			by[e.ID] = s
		}
		switch {
		case e.Closed:
			s.closed++
		case e.Reason == "":
			s.admitted++
			s.decided++
		default:
			s.decided++
		}
		if e.Closed && s.decided == 0 {
			t.Errorf("the end of %d was recorded before the decision", e.ID)
		}
	}
	for id, s := range by {
		if s.decided != 1 || s.closed != s.admitted {
			t.Errorf("passage %d: %+v", id, *s)
		}
	}
}

func query(host string, port uint16) allow.Query {
	return allow.Query{Host: host, Port: port, Path: allow.Direct}
}

func describe(e Event) string {
	return fmt.Sprintf("%s:%d %q rule %d closed %v", e.Host, e.Port, e.Reason, e.Rule, e.Closed)
}
