package names

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"brainbox/proxy/allow"
)

// generous is how long a test waits for what must come.
const generous = 20 * time.Second

// loop makes the sockets that a test asks for on the loopback, at any port, and knows which is
// which.
type loop struct {
	mu    sync.Mutex
	real  map[netip.AddrPort]net.Listener
	asked []netip.AddrPort
	fails map[uint16]error // by port
}

// counted takes a listener off the list when it is closed.
type counted struct {
	net.Listener
	closed func()
	once   sync.Once
}

func (c *counted) Close() error {
	c.once.Do(c.closed)
	return c.Listener.Close()
}

func (l *loop) Listen(at netip.AddrPort) (net.Listener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, at)
	if err := l.fails[at.Port()]; err != nil {
		return nil, err
	}
	if l.real[at] != nil {
		return nil, syscall.EADDRINUSE
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l.real[at] = listener
	return &counted{Listener: listener, closed: func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.real, at)
	}}, nil
}

func (l *loop) fail(port uint16, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails[port] = err
}

// open is what listens now, sorted.
func (l *loop) open() []netip.AddrPort {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []netip.AddrPort
	for at := range l.real {
		all = append(all, at)
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return all
}

// dial connects to what stands for an address.
func (l *loop) dial(t *testing.T, at netip.AddrPort) net.Conn {
	t.Helper()
	l.mu.Lock()
	listener := l.real[at]
	l.mu.Unlock()
	if listener == nil {
		t.Fatalf("nobody listens at %v", at)
	}
	conn, err := net.DialTimeout("tcp", listener.Addr().String(), generous)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// note is one record.
type note struct {
	q allow.Query
	v allow.Verdict
}

// world is a server with everything around it.
type world struct {
	*Server
	t       testing.TB
	ctx     context.Context
	sockets *loop
	carried chan allow.Query

	mu    sync.Mutex
	notes []note
}

// listed is what the tests allow. Port 0 stands for 443 and 80.
var listed = []allow.Rule{
	{Name: "ok.test"},
	{Name: "db.test", Port: 5432},
	{Name: "two.test", Port: 8080},
	{Name: "two.test", Port: 443},
	{Name: "*.wild.test", Port: 443},
	{Name: "192.0.2.1", Port: 22},
}

func newWorld(t testing.TB, change func(*Config), rules ...allow.Rule) *world {
	t.Helper()
	if rules == nil {
		rules = listed
	}
	compiled, err := allow.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, ctx: t.Context(), carried: make(chan allow.Query, 100),
		sockets: &loop{real: map[netip.AddrPort]net.Listener{}, fails: map[uint16]error{}},
	}
	config := Config{
		Rules: compiled, Sockets: w.sockets,
		Carry: func(ctx context.Context, client net.Conn, q allow.Query) {
			w.carried <- q
			stop := context.AfterFunc(ctx, func() { client.Close() })
			defer stop()
			_, _ = io.Copy(client, client) // as long as the program holds it
		},
		Record: func(q allow.Query, v allow.Verdict) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.notes = append(w.notes, note{q, v})
		},
	}
	if change != nil {
		change(&config)
	}
	if w.Server, err = New(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.table.close()
		w.running.Wait()
	})
	return w
}

// take returns the records since it was called last.
func (w *world) take() []note {
	w.mu.Lock()
	defer w.mu.Unlock()
	notes := w.notes
	w.notes = nil
	return notes
}

// nextQuery is what the next accepted connection is carried for.
func (w *world) nextQuery() allow.Query {
	w.t.Helper()
	select {
	case q := <-w.carried:
		return q
	case <-time.After(generous):
		w.t.Fatal("nothing was carried after 20 s")
		panic("not reached")
	}
}

// query is the bytes of a question.
func query(t testing.TB, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	return pack(t, func(m *dnsmessage.Message) {
		m.Questions[0].Name = dnsmessage.MustNewName(name)
		m.Questions[0].Type = kind
	})
}

// pack is a question for A of ok.test, changed.
func pack(t testing.TB, change func(*dnsmessage.Message)) []byte {
	t.Helper()
	m := dnsmessage.Message{
		Header: dnsmessage.Header{ID: 0xbeef, RecursionDesired: true},
		Questions: []dnsmessage.Question{{
			Name: dnsmessage.MustNewName("ok.test."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET,
		}},
	}
	change(&m)
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unpack reads an answer, which must be one to the question of pack.
func unpack(t testing.TB, b []byte) *dnsmessage.Message {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(b); err != nil {
		t.Fatalf("the answer is no message: %v", err)
	}
	if m.ID != 0xbeef || !m.Response {
		t.Fatalf("the answer's header is %+v", m.Header)
	}
	return &m
}

// ask has a question answered.
func (w *world) ask(name string, kind dnsmessage.Type) *dnsmessage.Message {
	w.t.Helper()
	return unpack(w.t, w.answer(w.ctx, query(w.t, name, kind)))
}

// addrs are the addresses in an answer.
func addrs(m *dnsmessage.Message) []netip.Addr {
	var all []netip.Addr
	for _, r := range m.Answers {
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			all = append(all, netip.AddrFrom4(body.A))
		case *dnsmessage.AAAAResource:
			all = append(all, netip.AddrFrom16(body.AAAA))
		}
	}
	return all
}

// addr asks for the one address of a name that has one.
func (w *world) addr(name string, kind dnsmessage.Type) netip.Addr {
	w.t.Helper()
	m := w.ask(name, kind)
	all := addrs(m)
	if m.RCode != dnsmessage.RCodeSuccess || len(all) != 1 {
		w.t.Fatalf("%s %v: %v with %v, want one address", name, kind, m.RCode, all)
	}
	return all[0]
}

// served is a world that listens: for the resolver on UDP and TCP.
func served(t *testing.T, change func(*Config), rules ...allow.Rule) (w *world, udp, tcp string, end func() error) {
	t.Helper()
	w = newWorld(t, change, rules...)
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, packets, listener) }()
	end = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(generous):
			return errors.New("Serve has not returned after 20 s")
		}
	})
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return w, packets.LocalAddr().String(), listener.Addr().String(), end
}
