package proxy

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"brainbox/proxy/allow"
)

func TestParseUpstreamRefuses(t *testing.T) {
	for _, text := range []string{
		"proxy.corp:3128", "https://proxy.corp:3128", "socks5://proxy.corp:1080", "http://", "http://proxy.corp",
		"http://proxy.corp:", "http://proxy.corp:0", "http://proxy.corp:65536", "http://:3128", "http:proxy.corp:3128",
		"http://user:secret@proxy.corp:3128", "http://user@proxy.corp:3128", "http://proxy.corp:3128/path",
		"http://proxy.corp:3128?q", "http://proxy.corp:3128/?", "http://proxy.corp:3128#f", "http://a b:3128", "\x00",
	} {
		if _, err := New(Config{Upstream: text}); err == nil {
			t.Errorf("New accepts upstream %q", text)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
	for text, want := range map[string]upstream{
		"http://proxy.corp:3128":  {name: "proxy.corp", port: 3128},
		"http://proxy.corp:3128/": {name: "proxy.corp", port: 3128},
		"http://10.0.0.1:80":      {addr: netip.MustParseAddr("10.0.0.1"), port: 80},
		"http://[fd00::1]:80":     {addr: netip.MustParseAddr("fd00::1"), port: 80},
	} {
		if got, err := parseUpstream(text); err != nil || *got != want {
			t.Errorf("parseUpstream(%q) = %+v, %v", text, got, err)
		}
	}
}

// corporate is an upstream, with a log of what it was asked for; newCorporate is one that
// answers every CONNECT with the same, and echoes behind it.
type corporate struct {
	*origin
	mu      sync.Mutex
	targets []string
}

func newCorporate(t *testing.T, answer string) *corporate {
	t.Helper()
	return serveCorporate(t, func(conn *net.TCPConn, in *bufio.Reader, _ *http.Request) {
		_, _ = io.WriteString(conn, answer)
		if strings.Contains(answer, "\r\n\r\n") {
			_, _ = io.Copy(conn, in)
		}
	})
}

// serveCorporate logs each request and has it answered.
func serveCorporate(t *testing.T, answer func(*net.TCPConn, *bufio.Reader, *http.Request)) *corporate {
	t.Helper()
	c := &corporate{}
	c.origin = newOrigin(t, func(conn *net.TCPConn) {
		in := bufio.NewReader(conn)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		c.mu.Lock()
		c.targets = append(c.targets, r.Method+" "+r.RequestURI+" "+r.Host)
		c.mu.Unlock()
		answer(conn, in, r)
	})
	return c
}

func (c *corporate) asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.targets)
}

// What the upstream refuses, or answers with nonsense, is unreachable.
func TestUpstreamRefuses(t *testing.T) {
	for name, answer := range map[string]string{
		"denied":         "HTTP/1.1 403 Forbidden\r\n\r\n",
		"wants a secret": "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
		"no HTTP":        "220 smtp.corp\r\n\r\n",
		"other version":  "HTTP/2 200 OK\r\n\r\n",
		"looks like 200": "HTTP/1.1 2000 OK\r\n\r\n",
		"endless head":   "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 20_000) + "\r\n",
		"nothing":        "",
		"half a head":    "HTTP/1.1 200 OK\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			up := newCorporate(t, answer)
			w := newWorld()
			s := w.server(t, Config{Upstream: "http://" + up.Addr().String()}, allow.Rule{Name: "ok.test", Port: 7000})
			program, _ := carried(t, s, query("ok.test", 7000))
			refused(t, program)
			if e := w.wait(t, 1)[0]; e.Reason != allow.Unreachable {
				t.Error(describe(e))
			}
			if len(up.asked()) != 1 {
				t.Errorf("the upstream was asked for %q", up.asked())
			}
		})
	}
}

// The name goes to the upstream as it is, and this host resolves nothing but the upstream's
// own name, which may be private. Only allowed names and listed addresses get there.
func TestUpstream(t *testing.T) {
	up := newCorporate(t, "HTTP/1.1 200 Connection established\r\nContent-Length: 5\r\n\r\nearly ")
	w := newWorld()
	w.answers["proxy.corp"] = [][]netip.Addr{{netip.MustParseAddr("127.0.0.1")}}
	s := w.server(t, Config{Upstream: "http://proxy.corp:" + portOf(up.origin)},
		allow.Rule{Name: "ok.test", Port: 7000}, allow.Rule{Name: "10.1.2.3", Port: 7000},
		allow.Rule{Name: "fd00::5", Port: 7000})
	for _, host := range []string{"denied.test", "10.1.2.4", "127.0.0.1"} {
		program, _ := carried(t, s, query(host, 7000))
		refused(t, program)
	}
	if asked, dialled, _ := w.snapshot(); len(asked)+len(dialled)+len(up.asked()) != 0 {
		t.Errorf("for what is refused: asked for %q, dialled %v, told the upstream %q", asked, dialled, up.asked())
	}
	for _, host := range []string{"OK.test.", "10.1.2.3", "fd00::5"} {
		program, _ := carried(t, s, query(host, 7000))
		if back, err := ask(program, "hello"); back != "early hello" || err != nil {
			t.Fatalf("%s: back came %q, %v", host, back, err)
		}
	}
	events := w.wait(t, 9)
	one(t, events)
	if e := events[len(events)-1]; e.Sent != 5 || e.Received != 11 || e.Address != up.addrPort() {
		t.Errorf("the end: %+v", e)
	}
	want := []string{
		"CONNECT ok.test:7000 ok.test:7000", "CONNECT 10.1.2.3:7000 10.1.2.3:7000",
		"CONNECT [fd00::5]:7000 [fd00::5]:7000",
	}
	if !slices.Equal(up.asked(), want) {
		t.Errorf("the upstream was asked for %q, want %q", up.asked(), want)
	}
	if asked, _, _ := w.snapshot(); !slices.Equal(slices.Compact(asked), []string{"proxy.corp"}) {
		t.Errorf("asked for %q", asked)
	}
}

func portOf(o *origin) string {
	_, port, _ := net.SplitHostPort(o.Addr().String())
	return port
}

// One that accepts and says nothing is given up.
func TestUpstreamIsSilent(t *testing.T) {
	up := newOrigin(t, func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) })
	w := newWorld()
	s := w.server(t, Config{
		Upstream: "http://" + up.Addr().String(), Limits: Limits{Dial: 100 * time.Millisecond},
	}, allow.Rule{Name: "ok.test", Port: 7000})
	program, _ := carried(t, s, query("ok.test", 7000))
	refused(t, program)
	if e := w.wait(t, 1)[0]; e.Reason != allow.Unreachable {
		t.Error(describe(e))
	}
}

// An upstream that accepts and says nothing is left when the program leaves.
func TestUpstreamIsSlow(t *testing.T) {
	reached := make(chan struct{}, 1)
	ended := make(chan struct{})
	up := newOrigin(t, func(c *net.TCPConn) {
		reached <- struct{}{}
		_, _ = io.Copy(io.Discard, c)
		close(ended)
	})
	w := newWorld()
	s := w.server(t, Config{Upstream: "http://" + up.Addr().String(), Limits: Limits{Dial: time.Hour}},
		allow.Rule{Name: "ok.test", Port: 7000})
	program, done := carried(t, s, query("ok.test", 7000))
	finished(t, reached)
	_ = program.Close()
	finished(t, ended)
	finished(t, done)
	if e := w.wait(t, 1)[0]; e.Reason != allow.Gone {
		t.Error(describe(e))
	}
}

// reading is a connection that only reads.
type reading struct {
	net.Conn
	io.Reader
}

func (r reading) Read(p []byte) (int, error) { return r.Reader.Read(p) }

// A head is at most 64 KiB, also when its end comes with the same read.
func TestHeadIsBounded(t *testing.T) {
	for size, ok := range map[int]bool{maxHead: true, maxHead + 1: false} {
		data := append(bytes.Repeat([]byte("x"), size), headEnd...)
		if _, _, err := readHead(reading{Reader: bytes.NewReader(data)}); (err == nil) != ok {
			t.Errorf("%d bytes and an end: %v", size, err)
		}
	}
}

func FuzzReadHead(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\nrest"))
	f.Add([]byte("HTTP/1.0 403 no\r\nX: \r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\n\n"))
	f.Add([]byte("\r\n\r\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		want := bytes.Index(data, headEnd)
		for _, in := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data))} {
			head, rest, err := readHead(reading{Reader: in})
			switch {
			case err != nil && want >= 0 && want <= maxHead:
				t.Fatalf("%q: %v", data, err)
			case err != nil:
				continue
			case want < 0 || !bytes.Equal(head, data[:want+4]) || !bytes.HasPrefix(data[want+4:], rest):
				t.Fatalf("%q: head %q, rest %q", data, head, rest)
			}
			if granted(head) {
				r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil)
				if err == nil && r.StatusCode != http.StatusOK {
					t.Fatalf("%q is granted; net/http reads %d", head, r.StatusCode)
				}
			}
		}
	})
}
