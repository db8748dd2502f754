package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brainbox/proxy/allow"
)

// front is a server with a proxy on loopback; ok.test is listed, with an origin on port 80.
type front struct {
	*world
	*Server
	addr string
	web  *web
}

// newFront lists ok.test with ports 80 and 443, and what else is given.
func newFront(t testing.TB, c Config, handle http.HandlerFunc, rules ...allow.Rule) *front {
	t.Helper()
	w := newWorld()
	f := &front{world: w, web: newWeb(t, handle)}
	w.answers["ok.test"] = addrs(publicA)
	w.stands[at(publicA, 80)] = f.web.Addr().String()
	f.Server = w.server(t, c, append(rules, allow.Rule{Name: "ok.test"})...)
	f.addr = serve(t, f.Server)
	return f
}

func serve(t testing.TB, s *Server) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); s.ServeProxy(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		finished(t, done)
	})
	return l.Addr().String()
}

// web is an origin with a log of the requests that reached it.
type web struct {
	net.Listener
	mu  sync.Mutex
	log []string
}

func newWeb(t testing.TB, handle http.HandlerFunc) *web {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &web{Listener: l}
	if handle == nil {
		handle = func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // who answers earlier may end the connection
			_, _ = io.WriteString(w, "hello")
		}
	}
	s := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.log = append(w.log, r.Method+" "+r.Host+" "+r.RequestURI)
		w.mu.Unlock()
		handle(rw, r)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return w
}

// saw fails the test unless exactly these requests reached the origin.
func (w *web) saw(t testing.TB, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.log, want) {
		t.Errorf("the origin saw %q, want %q", w.log, want)
	}
}

// connect is a connection to the proxy that a test can not hang on.
func (f *front) connect(t testing.TB) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(deadline))
	return c.(*net.TCPConn)
}

// talk sends text on a connection of its own and returns everything up to the end.
func (f *front) talk(t testing.TB, text string) string {
	t.Helper()
	back, err := f.try(t, text)
	if err != nil {
		t.Errorf("after %.60q: %.300q, and the connection was not ended: %v", text, back, err)
	}
	return back
}

func (f *front) try(t testing.TB, text string) (string, error) {
	t.Helper()
	c := f.connect(t)
	sent := make(chan struct{})
	go func() { defer close(sent); _, _ = io.WriteString(c, text) }()
	back, err := io.ReadAll(c)
	_ = c.Close()
	<-sent
	return string(back), err
}

// waitServed waits until there is room for one more client.
func (f *front) waitServed(t testing.TB) {
	t.Helper()
	late := time.Now().Add(deadline)
	for {
		// Who is one too many may see a reset behind the answer.
		back, err := f.try(t, plain("ok.test"))
		if statusOf(back) == 200 {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("nothing is served any more: %q, %v", back, err)
		}
	}
}

// statusOf is the status of an answer; 0: it is none.
func statusOf(answer string) (status int) {
	_, _ = fmt.Sscanf(answer, "HTTP/1.1 %d ", &status)
	return status
}

// plain is a whole request for a URL, after which the connection ends.
func plain(host string) string {
	return "GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
}

func tunnelTo(authority string) string {
	return "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n"
}

// works is the positive control: what is listed is reached.
func (f *front) works(t *testing.T) {
	t.Helper()
	if got := f.talk(t, plain("ok.test")); statusOf(got) != 200 || !strings.HasSuffix(got, "hello") {
		t.Errorf("what is listed: %q", got)
	}
}

const okSaw = "GET ok.test /"

// onlyOK fails the test when a name was looked up, or an address dialled, that is not listed.
func (f *front) onlyOK(t *testing.T) {
	t.Helper()
	asked, dialled, events := f.settled(t)
	for _, name := range asked {
		if name != "ok.test" {
			t.Errorf("%q was asked for", name)
		}
	}
	for _, a := range dialled {
		if a.Addr() != publicA {
			t.Errorf("%v was dialled", a)
		}
	}
	one(t, events)
}

// settled waits until everything that was let through has its end recorded.
func (f *front) settled(t testing.TB) (asked []string, dialled []netip.AddrPort, events []Event) {
	t.Helper()
	late := time.After(deadline)
	for {
		asked, dialled, events = f.snapshot()
		open := 0
		for _, e := range events {
			if e.Closed {
				open--
			} else if e.Reason == "" {
				open++
			}
		}
		if open == 0 {
			return asked, dialled, events
		}
		select {
		case <-f.changed:
		case <-late:
			t.Fatalf("%d passages have no end: %+v", open, events)
		}
	}
}

// readAnswer reads one answer to a request with that method.
func readAnswer(t testing.TB, r *bufio.Reader, method string) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// lead has a name lead to an address, whose port stands for a listener; "" is for no listener.
// The server may be at work already.
func (f *front) lead(name string, a netip.Addr, port uint16, listener string) {
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	f.answers[name] = addrs(a)
	if listener != "" {
		f.stands[at(a, port)] = listener
	}
}
