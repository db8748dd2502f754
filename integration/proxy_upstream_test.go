package integration

import (
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"
	"time"
)

// newUpstream is a company's proxy that knows names which nobody else does: it passes every
// tunnel and every http URL on to one address, and keeps what it was asked for.
func newUpstream(t testing.TB, to string) *webServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &webServer{port: portOf(t, l.Addr())}
	server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.add(r.Method + " " + r.Host)
		if r.Method != http.MethodConnect {
			onward := httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL.Host = to }}
			onward.ServeHTTP(w, r)
			return
		}
		origin, err := net.DialTimeout("tcp", to, patience)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer origin.Close()
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(origin, c) }()
		_, _ = io.Copy(c, origin)
	})}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
	return s
}

// TestProxyUpstream: with an upstream of the operator's a listed name goes there as it is, is
// looked up by nobody here, and what is not listed does not go there either.
func TestProxyUpstream(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	upstream := newUpstream(t, "127.0.0.1:"+p.web.port)
	file := policyFile(t, "[network]\nmode = \"proxy\"\nresolver = \""+p.dns.address+"\"\nupstream = \"http://127.0.0.1:"+upstream.port+
		"\"\nallow_hosts = [\"inner.test:"+p.web.port+"\"]\n")
	in := p.visit(t, "--policy", file)
	page := "http://inner.test:" + p.web.port
	for _, attempt := range []string{"fetch " + page, "fetch " + page + " direct"} {
		if got := in.ask(t, attempt); got != "ok 200 served" { // the positive control
			t.Errorf("%q = %q", attempt, got)
		}
	}
	for _, attempt := range []string{
		getFrom("denied.test:"+p.web.port, "/"), connectTo("denied.test:443"), connectTo("inner.test:1"), connectTo("127.0.0.1:" + upstream.port),
	} {
		if got := in.ask(t, attempt); !strings.HasPrefix(got, "ok 403 ") {
			t.Errorf("%q = %q", attempt, got)
		}
	}
	want := []string{"GET inner.test:" + p.web.port, "CONNECT inner.test:" + p.web.port}
	if got := upstream.all(); !slices.Equal(got, want) { // the URL as it is, and a tunnel for the program that knows of no proxy
		t.Errorf("the upstream was asked %q, want %q", got, want)
	}
	if seen := p.dns.all(); len(seen) != 0 {
		t.Errorf("the resolver was asked %q", seen)
	}
}
