package bridge

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

// esc/BR-10, esc/IP-20: descriptors that are passed are not taken; who passes them is closed.
func TestPassedDescriptors(t *testing.T) {
	s := newStand(t)
	p, other := s.agent(), s.agent()
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := openFDs(t)
	_, _, err = p.conn.WriteMsgUnix([]byte(`{"jsonrpc":"2.0","id":"1","method":"ping"}`+"\n"), syscall.UnixRights(int(file.Fd())), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.read(); got["closed"] != true {
		t.Errorf("%v", got)
	}
	if got := other.call("ping", `{}`); got["result"] == nil {
		t.Errorf("another: %v", got)
	}
	_ = p.conn.Close()
	// Both ends of the connection are this process's.
	eventually(t, "the descriptors are back", func() bool { return openFDs(t) == before-2 })
}

// esc/BR-12: what is too much is refused at once, and not looked into.
func TestOverload(t *testing.T) {
	release := make(chan struct{})
	block := func(_ context.Context, r *envelope.Request) *envelope.Result { <-release; return r.Succeed(nil) }
	s := newStand(t, many, func(c *Config) { c.Limits.InFlight, c.Limits.InFlightTotal, c.Limits.AgentConns = 3, 4, 2 })
	s.answers(block)
	p, q := s.agent(), s.agent()
	if got := s.dial("agent").read(); word(got) != "overloaded" {
		t.Errorf("a third connection: %v", got)
	}
	for i := range 3 {
		p.begin("tool.call", request(t, id("p"+strconv.Itoa(i))...))
	}
	eventually(t, "three are dispatched", func() bool { n, _ := s.count(); return n == 3 })
	over := request(t, id("over")...)
	p.send(`{"jsonrpc":"2.0","id":"c2","method":"tool.call","params":` + over + "}\n") // the id of the first
	if got := p.read(); word(got) != "id_in_use" {
		t.Errorf("%v", got)
	}
	if got := p.call("tool.call", over); word(got) != "overloaded" {
		t.Errorf("a fourth of the connection: %v", got)
	}
	q.begin("tool.call", request(t, id("q1")...))
	eventually(t, "four are dispatched", func() bool { n, _ := s.count(); return n == 4 })
	if got := q.call("tool.call", over); word(got) != "overloaded" {
		t.Errorf("a fifth of all: %v", got)
	}
	if got := q.call("ping", `{}`); got["result"] == nil {
		t.Errorf("ping: %v", got)
	}
	close(release)
	for range 3 {
		if got := p.read(); word(got) != "succeeded" {
			t.Errorf("%v", got)
		}
	}
	if got := p.call("tool.call", over); word(got) != "succeeded" {
		t.Errorf("the same request, later: %v", got)
	}
}

func TestRates(t *testing.T) {
	const perSecond = 5
	s := newStand(t, func(c *Config) { c.Limits.CallsPerSecond = perSecond })
	p := s.agent()
	count := map[string]int{}
	var all strings.Builder
	for i := range 1000 { // pipelined
		n := strconv.Itoa(i)
		all.WriteString(`{"jsonrpc":"2.0","id":"` + n + `","method":"tool.call","params":` + request(t, id("r"+n)...) + "}\n")
	}
	began := time.Now()
	go func() { _, _ = io.WriteString(p.conn, all.String()) }()
	for range 1000 {
		count[word(p.read())]++
	}
	most := 2*perSecond + 1 + int(perSecond*time.Since(began).Seconds())
	if count["succeeded"] < 2*perSecond || count["succeeded"] > most || count["succeeded"]+count["overloaded"] != 1000 {
		t.Errorf("%v, want at most %d", count, most)
	}
	if got := s.agent().call("tool.call", request(t, id("other")...)); word(got) != "succeeded" {
		t.Errorf("another connection: %v", got)
	}
}

// Memory that waiting calls take is bounded before they wait.
func TestInFlightBytes(t *testing.T) {
	s := newStand(t, many, func(c *Config) { c.Limits.InFlightBytes = 64 << 10 })
	p := s.agent()
	big := request(t, append(id("big"), `{"path":"README.md"}`, `[`+strings.Repeat("0,", 1000)+`0]`)...)
	if got := p.call("tool.call", big); word(got) != "overloaded" {
		t.Errorf("%v", got)
	}
	if got := p.call("tool.call", base); word(got) != "succeeded" {
		t.Errorf("the control: %v", got)
	}
}

// A peer that does not read is closed, and nobody waits for it.
func TestSlowReaders(t *testing.T) {
	s := newStand(t, many, func(c *Config) { c.Limits.QueueFrames, c.Limits.WriteStall = 16, 200*time.Millisecond })
	s.answers(func(_ context.Context, r *envelope.Request) *envelope.Result {
		v := strictjson.Text(strings.Repeat("x", 100_000))
		return r.Succeed(&v)
	})
	p, other := s.agent(), s.agent()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for i := 0; ; i++ {
			text := `{"jsonrpc":"2.0","id":"s` + strconv.Itoa(i) + `","method":"ping"}` + "\n"
			_ = p.conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
			if _, err := p.conn.Write([]byte(text)); err != nil {
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error("it is never closed")
				}
				return
			}
		}
	}()
	for i := range 20 {
		if got := other.call("tool.call", request(t, id("o"+strconv.Itoa(i))...)); word(got) != "succeeded" {
			t.Errorf("another: %v", got)
		}
	}
	<-closed
}

// pair is one end of a socketpair whose other one is served; served has what that returns.
func (s *stand) pair() (p *peer, served <-chan error) {
	s.t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	var ends []*net.UnixConn
	for _, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		if err := errors.Join(err, f.Close()); err != nil {
			s.t.Fatal(err)
		}
		ends = append(ends, c.(*net.UnixConn)) //nolint:forcetypeassert // made above
	}
	done := make(chan error, 1)
	go func() { done <- s.s.ServeConn(context.Background(), ends[0]) }()
	s.t.Cleanup(func() { _ = ends[1].Close() })
	return &peer{t: s.t, conn: ends[1], r: bufioReader(ends[1])}, done
}

// One end of a socketpair is served as an agent.
func TestServeConn(t *testing.T) {
	s := newStand(t)
	p, served := s.pair()
	if got := p.call("hello", helloParams); got["result"] == nil {
		t.Fatalf("%v", got)
	}
	if got := p.call("prompt.list", `{}`); word(got) != "role_forbidden" {
		t.Errorf("%v", got)
	}
	if got := p.call("tool.call", base); word(got) != "succeeded" {
		t.Errorf("%v", got)
	}
	_ = p.conn.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// Who says hello on a socketpair is another program: the one before is gone, and nobody is
// asked about its calls any more.
func TestHelloEndsTheCallsBefore(t *testing.T) {
	s := newStand(t)
	s.ui().call("prompt.list", `{}`) // prompts wait
	p, _ := s.pair()
	p.call("hello", helloParams)
	p.begin("tool.call", request(t, toolName, `"tool":"asked"`))
	eventually(t, "it is asked", func() bool { return len(s.broker.List()) == 1 })
	if got := p.call("hello", helloParams); got["result"] == nil {
		t.Fatalf("%v", got)
	}
	eventually(t, "it is not asked", func() bool { _, n := s.count(); return len(s.broker.List()) == 0 && n == 1 })
	if got := s.recordedFirst(); !got.Cancelled || got.Decision.Allowed {
		t.Errorf("%+v", got)
	}
	if got := p.call("tool.call", request(t, id("2")...)); word(got) != "succeeded" { // nothing comes before its answer
		t.Errorf("%v", got)
	}
}

// esc/BR-15: there is no way in but a Unix socket.
func TestNoTCP(t *testing.T) {
	s := newStand(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.s.ServeAgent(context.Background(), l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, `{"jsonrpc":"2.0","id":"1","method":"hello","params":`+helloParams+"}\n")
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	if text, _ := io.ReadAll(c); len(text) != 0 {
		t.Errorf("answered %q", text)
	}
}

// What a peer says of itself reaches the log escaped.
func TestLogs(t *testing.T) {
	var log lockedBuffer
	s := newStand(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	p := s.dial("agent")
	p.call("hello", `{"protocol":"brainbox/1","client":"\u001b[2J\nfake"}`)
	p.conn.Close()
	eventually(t, "it is logged", func() bool { return strings.Contains(log.String(), "connected") })
	if text := log.String(); strings.ContainsAny(text, "\x1b") || strings.Contains(text, "\nfake") || !strings.Contains(text, "pid="+strconv.Itoa(os.Getpid())) {
		t.Errorf("%q", text)
	}
}
