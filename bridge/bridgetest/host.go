package bridgetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"brainbox/bridge/envelope"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// Host is what a test's host does.
type Host struct {
	Session string // empty: "s1"
	Tools   []string
	Roots   []wire.Root

	// Call answers a call of a tool. Its context ends with a cancel, and then the answer
	// is the error cancelled. Nil: not_ready.
	Call func(ctx context.Context, r *envelope.Request) *envelope.Result

	// Method answers every other method but hello and ping. Nil: method_unknown.
	Method func(ctx context.Context, method string, params *strictjson.Value) (*strictjson.Value, *wire.Error)

	// Raw is offered every line before it is read, and may answer it itself. Nil: none.
	Raw func(line []byte, w io.Writer) (done bool)

	Socket string // set by Start
	socket net.Listener

	mu    sync.Mutex
	calls []*envelope.Request
	conns []net.Conn
	count int
}

// Start serves a socket until the test ends.
func Start(t testing.TB, host *Host) *Host {
	t.Helper()
	dir, err := os.MkdirTemp("", "bt") //nolint:usetesting // the path of a socket is short, a test's own folder may not be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	host.Socket = filepath.Join(dir, "agent.sock")
	if host.socket, err = net.Listen("unix", host.Socket); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := host.socket.Accept()
			if err != nil {
				return
			}
			go host.Serve(c)
		}
	}()
	t.Cleanup(host.Stop)
	return host
}

// Stop ends the socket and all connections.
func (h *Host) Stop() {
	_ = h.socket.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.conns {
		_ = c.Close()
	}
}

// Calls are the requests that came, in their order.
func (h *Host) Calls() []*envelope.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

// Connections is how many there were.
func (h *Host) Connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

// Serve serves one connection.
func (h *Host) Serve(c net.Conn) {
	h.mu.Lock()
	h.conns, h.count = append(h.conns, c), h.count+1
	h.mu.Unlock()
	defer c.Close()
	s := &served{host: h, w: c, running: map[string]context.CancelFunc{}}
	lines := bufio.NewScanner(c)
	lines.Buffer(nil, wire.MaxFrame)
	for lines.Scan() {
		line := bytes.Clone(lines.Bytes())
		if h.Raw != nil && h.Raw(line, s) || len(line) == 0 {
			continue
		}
		m, err := wire.DecodeRequest(line)
		if err != nil {
			s.reply(&wire.Message{Kind: wire.Failure, ID: m.ID, Err: wire.Refusal(err)})
			continue
		}
		s.serve(&m)
	}
}

type served struct {
	host *Host

	mu      sync.Mutex
	w       io.Writer
	running map[string]context.CancelFunc
}

// Write writes what a test answers itself.
func (s *served) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

func (s *served) reply(m *wire.Message) { _, _ = s.Write(m.Append(nil)) }

func (s *served) serve(m *wire.Message) {
	switch m.Method {
	case wire.MethodCancel:
		s.cancel(m.Params.Get("id").Text)
	case wire.MethodHello:
		s.hello(m)
	case wire.MethodPing:
		v := strictjson.Object(strictjson.Pair("now", strictjson.Text("2026-01-01T00:00:00.000Z")))
		s.reply(&wire.Message{Kind: wire.Result, ID: m.ID, Result: &v})
	default:
		ctx, cancel := context.WithCancel(context.Background())
		s.mu.Lock()
		s.running[m.ID] = cancel
		s.mu.Unlock()
		go func() {
			result, failure := s.host.answer(ctx, m)
			if ctx.Err() != nil {
				failure = &wire.Error{Code: wire.CodeCancelled, Message: "cancelled"}
			}
			s.cancel(m.ID)
			if failure != nil {
				s.reply(&wire.Message{Kind: wire.Failure, ID: m.ID, Err: failure})
				return
			}
			s.reply(&wire.Message{Kind: wire.Result, ID: m.ID, Result: result})
		}()
	}
}

func (s *served) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.running[id]; cancel != nil {
		cancel()
		delete(s.running, id)
	}
}

func (s *served) hello(m *wire.Message) {
	if _, err := wire.ReadHello(m.Params); err != nil {
		s.reply(&wire.Message{Kind: wire.Failure, ID: m.ID, Err: wire.Refusal(err)})
		return
	}
	w := wire.Welcome{
		Protocol: wire.Protocol, Session: s.host.session(), PermissionsVersion: wire.PermissionsVersion,
		Limits:       wire.Limits{FrameBytes: wire.MaxFrame, InFlight: 16, CallsPerSecond: 50},
		Capabilities: wire.Capabilities{Tools: s.host.Tools, Roots: s.host.Roots},
	}
	s.reply(&wire.Message{Kind: wire.Result, ID: m.ID, Result: w.Value()})
}

func (h *Host) session() string {
	if h.Session == "" {
		return "s1"
	}
	return h.Session
}

func (h *Host) answer(ctx context.Context, m *wire.Message) (*strictjson.Value, *wire.Error) {
	if m.Method != wire.MethodToolCall {
		if h.Method == nil {
			return nil, &wire.Error{Code: wire.CodeMethodUnknown, Message: "unknown method"}
		}
		return h.Method(ctx, m.Method, m.Params)
	}
	r, err := envelope.RequestOf(m.Params)
	if err != nil {
		return nil, wire.Refusal(err)
	}
	h.mu.Lock()
	h.calls = append(h.calls, r)
	h.mu.Unlock()
	switch {
	case h.Call == nil:
		return nil, &wire.Error{Code: wire.CodeNotReady, Message: "not ready"}
	case r.Session.ID != h.session():
		return result(r.Fail(envelope.Denied, envelope.CodeSessionMismatch, "another session")), nil
	}
	res := h.Call(ctx, r)
	if res == nil {
		return nil, wire.Refusal(errors.New("no result"))
	}
	return result(res), nil
}

func result(res *envelope.Result) *strictjson.Value {
	v := res.Value()
	return &v
}
