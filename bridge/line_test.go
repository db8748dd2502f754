package bridge

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"brainbox/bridge/wire"
)

// peer is one connection, raw.
type peer struct {
	t    testing.TB
	conn *net.UnixConn
	r    *bufio.Reader
	n    int
}

type object = map[string]any

func (s *stand) dial(name string) *peer {
	s.t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(s.dir, name, name+".sock"), Net: "unix"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return &peer{t: s.t, conn: c, r: bufio.NewReaderSize(c, 1<<20)}
}

// agent connects and says hello.
func (s *stand) agent() *peer {
	s.t.Helper()
	p := s.dial("agent")
	if got := p.call("hello", `{"protocol":"brainbox/1","client":"test"}`); got["result"] == nil {
		s.t.Fatalf("hello: %v", got)
	}
	return p
}

func (s *stand) ui() *peer {
	s.t.Helper()
	p := s.dial("ui")
	if got := p.call("hello", `{"protocol":"brainbox/1","client":"test","proof":"`+s.proof(p)+`"}`); got["result"] == nil {
		s.t.Fatalf("hello: %v", got)
	}
	return p
}

// proof reads the greeting and answers it.
func (s *stand) proof(p *peer) string {
	s.t.Helper()
	m, err := wire.DecodeReply([]byte(p.line()))
	if err != nil {
		s.t.Fatal(err)
	}
	nonce, err := wire.ReadNonce(&m)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.s.c.Key.Proof(nonce)
}

func (p *peer) send(text string) {
	p.t.Helper()
	_ = p.conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
	if _, err := p.conn.Write([]byte(text)); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

// line reads one frame, or "" at the end of the connection.
func (p *peer) line() string {
	p.t.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	text, err := p.r.ReadString('\n')
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.t.Fatal("no answer")
		}
		return ""
	}
	return text
}

func (p *peer) read() object {
	p.t.Helper()
	text := p.line()
	if text == "" {
		return object{"closed": true}
	}
	var m object
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		p.t.Fatalf("%q: %v", text, err)
	}
	return m
}

// call calls a method and returns its answer; events that come first are skipped.
func (p *peer) call(method, params string) object {
	p.t.Helper()
	return p.await(p.begin(method, params))
}

func (p *peer) begin(method, params string) (id string) {
	p.t.Helper()
	p.n++
	id = "c" + strconv.Itoa(p.n)
	p.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"` + method + `","params":` + params + "}\n")
	return id
}

func (p *peer) await(id string) object {
	p.t.Helper()
	for {
		m := p.read()
		if m["closed"] == true || m["method"] == nil && (m["id"] == id || m["id"] == nil) {
			return m
		}
	}
}

// word is an answer in short: the code of an error, or the status and code of a result.
func word(m object) string {
	if m["closed"] == true {
		return "closed"
	}
	if e, ok := m["error"].(object); ok {
		data, _ := e["data"].(object)
		code, _ := data["code"].(string)
		return code
	}
	r, _ := m["result"].(object)
	status, _ := r["status"].(string)
	if e, ok := r["error"].(object); ok {
		code, _ := e["code"].(string)
		return status + "/" + code
	}
	return status
}

// eventually waits for something that must come true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// base is the request R of contract section A.10.
const base = `{"schema":"wp-codebox/parent-tool-request/v1","version":1,"request_id":"ptr_1","tool":"workspace.read",` +
	`"operation":"call","input":{"path":"README.md"},"sandbox_session":{"sandbox_session_id":"s1"},` +
	`"authorization":{"allowed_tools":["workspace.read"]},"metadata":{}}`

// request is R with replacements: old and new, in turn.
func request(t testing.TB, replace ...string) string {
	t.Helper()
	r := base
	for i := 0; i < len(replace); i += 2 {
		next := strings.Replace(r, replace[i], replace[i+1], 1)
		if next == r && replace[i] != replace[i+1] {
			t.Fatalf("%q is not in the request", replace[i])
		}
		r = next
	}
	return r
}

func id(s string) []string { return []string{`"ptr_1"`, `"` + s + `"`} }

func bufioReader(c net.Conn) *bufio.Reader { return bufio.NewReaderSize(c, 1<<20) }

// lockedBuffer is for a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
