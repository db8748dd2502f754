package proxy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"brainbox/proxy/allow"
)

// strictUpstream allows CONNECT to port 443 alone, and answers an http URL with the header
// fields and the body that it got.
func strictUpstream(t *testing.T) *corporate {
	t.Helper()
	return serveCorporate(t, func(conn *net.TCPConn, in *bufio.Reader, r *http.Request) {
		switch {
		case r.Method != http.MethodConnect && r.URL.Path == "/secret":
			_, _ = io.WriteString(conn, "HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")
		case r.Method != http.MethodConnect:
			var all bytes.Buffer // with its length: in chunks it would come in pieces
			_ = r.Header.Write(&all)
			_, _ = io.Copy(&all, r.Body)
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", all.Len(), &all)
		case !strings.HasSuffix(r.RequestURI, ":443"):
			_, _ = io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\n\r\n")
		default:
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			_, _ = io.Copy(conn, in)
		}
	})
}

// An http URL goes to the upstream as it is, with nobody's credentials; CONNECT is for all
// else, and would be refused for it. What is not listed gets there in neither form.
func TestUpstreamGetsURLs(t *testing.T) {
	up := strictUpstream(t)
	f := newFront(t, Config{Upstream: "http://" + up.Addr().String()}, nil, allow.Rule{Name: "ok.test", Port: 8080})
	for _, text := range []string{plain("denied.test"), plain("127.0.0.1"), tunnelTo("denied.test:443"), plain("ok.test:443")} {
		if got := f.talk(t, text); statusOf(got) != 403 {
			t.Errorf("%q: %q", text, got)
		}
	}
	if len(up.asked()) != 0 {
		t.Errorf("the upstream was asked for %q", up.asked())
	}
	got := f.talk(t, "POST http://OK.test/a?b HTTP/1.1\r\nHost: OK.test\r\nConnection: close, x-hop\r\nX-Hop: 1\r\nX-Kept: 1\r\n"+
		"Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nContent-Length: 5\r\n\r\nhello")
	// In chunks, as the upstream's writes came together.
	resp, back := readAnswer(t, bufio.NewReader(strings.NewReader(got)), http.MethodPost)
	if resp.StatusCode != 200 || !strings.Contains(back, "X-Kept: 1\r\nhello") ||
		strings.Contains(back, "X-Hop") || strings.Contains(back, "Proxy-") {
		t.Errorf("%q", got)
	}
	for _, text := range []string{plain("ok.test:8080"), "OPTIONS http://ok.test HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n"} {
		if got := f.talk(t, text); statusOf(got) != 200 {
			t.Errorf("%q: %q", text, got)
		}
	}
	// Which way a program asks is its own to know: a tunnel to port 80 stays one.
	if got := f.talk(t, tunnelTo("ok.test:80")); statusOf(got) != 502 {
		t.Errorf("a tunnel to port 80: %q", got)
	}
	if got := f.talk(t, "GET http://ok.test/secret HTTP/1.1\r\nHost: ok.test\r\n\r\n"); statusOf(got) != 502 {
		t.Errorf("an upstream that wants credentials: %q", got)
	}
	want := []string{
		"POST http://ok.test/a?b ok.test", "GET http://ok.test:8080/ ok.test:8080", "OPTIONS http://ok.test ok.test",
		"CONNECT ok.test:80 ok.test:80", "GET http://ok.test/secret ok.test",
	}
	if !slices.Equal(up.asked(), want) {
		t.Errorf("the upstream was asked for %q, want %q", up.asked(), want)
	}
	asked, dialled, events := f.settled(t)
	one(t, events)
	if len(asked) != 0 || slices.ContainsFunc(dialled, func(a netip.AddrPort) bool { return a != up.addrPort() }) {
		t.Errorf("asked for %q, dialled %v", asked, dialled)
	}
	f.web.saw(t)
}

// The search list is for the upstream's own name, and for no name of the program's.
func TestOnlyTheUpstreamIsSearchedFor(t *testing.T) {
	up := strictUpstream(t)
	w := newWorld()
	w.answers["ok"] = addrs(publicA)
	var searched []string
	search := func(_ context.Context, name string) ([]netip.Addr, error) {
		searched = append(searched, name)
		return []netip.Addr{up.addrPort().Addr()}, nil
	}
	s := w.server(t, Config{Upstream: "http://proxy:" + portOf(up.origin), ResolveUpstream: search}, allow.Rule{Name: "ok"})
	program, _ := carried(t, s, query("ok", 443))
	if back, err := ask(program, string(clientHello(t, "ok"))); back == "" || err != nil {
		t.Errorf("%q came back, %v", back, err)
	}
	asked, _, _ := w.snapshot()
	if !slices.Equal(searched, []string{"proxy"}) || len(asked) != 0 {
		t.Errorf("searched for %q, asked for %q", searched, asked)
	}
	straight := w.server(t, Config{ResolveUpstream: search}, allow.Rule{Name: "ok"})
	if p, no := straight.open(t.Context(), query("denied", 80)); p != nil || no == nil {
		t.Error("what is not listed is open")
	}
	w.stands[at(publicA, 80)] = up.Addr().String()
	p, no := straight.open(t.Context(), query("ok", 80))
	if no != nil {
		t.Fatalf("%+v", no)
	}
	p.end(0, 0)
	if asked, _, _ := w.snapshot(); !slices.Equal(asked, []string{"ok"}) || len(searched) != 1 {
		t.Errorf("asked for %q, searched for %q", asked, searched)
	}
}
