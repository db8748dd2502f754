package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"
)

func addrs(a ...netip.Addr) [][]netip.Addr { return [][]netip.Addr{a} }

func at(a netip.Addr, port uint16) netip.AddrPort { return netip.AddrPortFrom(a, port) }

// esc/PX-01, esc/PX-02, esc/PX-03, esc/PX-06, esc/PX-07, esc/PX-15: what is asked for, in
// either form, and what the answer is.
func TestRefusedHosts(t *testing.T) {
	for _, c := range []struct {
		name, host string
		status     int
		line       string
	}{
		{"esc/PX-01, esc/PX-02", "denied.test", 403, "brainbox: denied.test:%d is not listed; --allow-host denied.test:%d would allow it\n"},
		{"esc/PX-03 the address of a host that is listed", publicA.String(), 403, "brainbox: 93.184.215.14:%d is an address that is not listed; "},
		{"esc/PX-03 an IPv6 address", "[2606:2800::1]", 403, "brainbox: [2606:2800::1]:%d is an address that is not listed; "},
		{"esc/PX-04 a loopback address in hex", "0x7f.1", 403, "brainbox: 127.0.0.1:%d is an address that is not listed; "},
		{"esc/PX-06 an empty label", "ok..test", 400, "brainbox: \"ok..test\" is no host name\n"},
		{"esc/PX-07 a prefix", "evilok.test", 403, "brainbox: evilok.test:%d is not listed; "},
		{"esc/PX-07 a suffix", "ok.test.evil", 403, "brainbox: ok.test.evil:%d is not listed; "},
		{"esc/PX-07 a user", "ok.test@evil", 400, ""},
		{"esc/PX-07 a fragment", "evil#.ok.test", 400, ""},
		{"esc/PX-07 a slash", "evil/ok.test", 400, ""},
		{"esc/PX-09 a full-width dot and a look-alike", "ok\uff0et\u0435st", 403, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFront(t, Config{}, nil)
			for text, port := range map[string]string{
				plain(c.host):             "80",
				tunnelTo(c.host + ":443"): "443",
				tunnelTo(c.host + ":80"):  "80",
			} {
				got := f.talk(t, text)
				if strings.Contains(c.name, "a slash") && strings.HasPrefix(text, "GET") {
					continue // that is a URL of a host "evil": another test's
				}
				want := strings.ReplaceAll(c.line, "%d", port)
				if _, body, _ := strings.Cut(got, "\r\n\r\n"); statusOf(got) != c.status || !strings.HasPrefix(body, want) {
					t.Errorf("%q: %q, want %d and %q", text, got, c.status, want)
				}
			}
			if asked, dialled, _ := f.snapshot(); len(asked)+len(dialled) > 0 {
				t.Errorf("%q was asked for, %v dialled", asked, dialled)
			}
			f.works(t)
			f.web.saw(t, okSaw)
			f.onlyOK(t)
		})
	}
}

// esc/PX-06: other spellings of a listed name reach it, and the origin gets the normal one.
func TestSpellings(t *testing.T) {
	f := newFront(t, Config{}, nil)
	for _, host := range []string{"ok.test.", "OK.Test", "ok.test:80"} {
		if got := f.talk(t, plain(host)); statusOf(got) != 200 {
			t.Errorf("%s: %q", host, got)
		}
	}
	f.web.saw(t, okSaw, okSaw, okSaw)
	f.onlyOK(t)
}

// esc/PX-07, esc/PX-10, esc/PX-12, esc/PX-24, esc/PX-25: what is no proper head is answered,
// the connection ended, and nothing of it reaches anybody.
func TestRefusedHeads(t *testing.T) {
	f := newFront(t, Config{}, nil)
	bad := 0
	for _, c := range heads {
		if c.status == 0 {
			continue
		}
		bad++
		// A request that follows is not read any more.
		got := f.talk(t, c.raw+plain("ok.test"))
		head, body, _ := strings.Cut(got, "\r\n\r\n")
		if statusOf(got) != c.status || !strings.Contains(head, "\r\nConnection: close") || strings.Count(body, "\n") != 1 {
			t.Errorf("%s: %q, want %d", c.name, got, c.status)
		}
	}
	f.web.saw(t)
	_, _, events := f.snapshot()
	one(t, events)
	if len(events) != bad || slices.ContainsFunc(events, func(e Event) bool {
		return e.Reason != allow.Malformed || e.Path != allow.Request || e.Host != "" || e.Rule != -1
	}) {
		t.Errorf("%d events, want %d: %+v", len(events), bad, events)
	}
	f.works(t)
	f.web.saw(t, okSaw)
}

// esc/PX-24: a request with a path says that this is a proxy.
func TestPathSaysProxy(t *testing.T) {
	f := newFront(t, Config{}, nil)
	if got := f.talk(t, "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n"); !strings.Contains(got, "\r\n\r\nbrainbox: this is a proxy: ") {
		t.Errorf("%q", got)
	}
}

// esc/PX-11: each request of a connection is judged by itself.
func TestSecondRequest(t *testing.T) {
	for name, second := range map[string]string{
		"another URL":          plain("denied.test"),
		"CONNECT":              tunnelTo("denied.test:443"),
		"another Host":         "GET http://ok.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n",
		"a path":               "GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n",
		"another URL at once":  plain("denied.test"),
		"after a body at once": plain("denied.test"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t, Config{}, nil)
			c := f.connect(t)
			r := bufio.NewReader(c)
			first, want := get+"\r\n", "GET ok.test /"
			if strings.HasPrefix(name, "after a body") {
				first = "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 3\r\n\r\nabc"
				want = "POST ok.test /"
			}
			if strings.HasSuffix(name, "at once") {
				first, second = first+second, ""
			}
			_, _ = io.WriteString(c, first)
			if resp, body := readAnswer(t, r, "GET"); resp.StatusCode != 200 || body != "hello" || resp.Close {
				t.Fatalf("the first request: %v %q", resp, body)
			}
			_, _ = io.WriteString(c, second)
			resp, _ := readAnswer(t, r, "GET")
			if resp.StatusCode != 403 && resp.StatusCode != 400 || resp.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("the second request: %v", resp)
			}
			if n, err := r.Read(make([]byte, 1)); n > 0 || err != io.EOF {
				t.Errorf("%d bytes and %v after a refusal", n, err)
			}
			f.web.saw(t, want)
			f.onlyOK(t)
		})
	}
}

// esc/PX-11: and one that is listed as well is served, over a connection of its own.
func TestThirdRequest(t *testing.T) {
	f := newFront(t, Config{}, nil)
	c := f.connect(t)
	r := bufio.NewReader(c)
	for range 3 {
		_, _ = io.WriteString(c, get+"\r\n")
		if resp, body := readAnswer(t, r, "GET"); resp.StatusCode != 200 || body != "hello" {
			t.Fatalf("%v %q", resp, body)
		}
	}
	f.web.saw(t, okSaw, okSaw, okSaw)
	one(t, f.wait(t, 6))
	if _, dialled, _ := f.snapshot(); len(dialled) != 3 {
		t.Errorf("dialled %v, want three", dialled)
	}
}

// esc/PX-18: a redirect is passed on and never followed; what the client makes of it is
// refused.
func TestRedirect(t *testing.T) {
	for _, where := range []string{"http://denied.test/", "http://127.0.0.1/", "http://169.254.169.254/latest"} {
		f := newFront(t, Config{}, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, where, http.StatusFound) })
		if got := f.talk(t, plain("ok.test")); statusOf(got) != 302 || !strings.Contains(got, "\r\nLocation: "+where+"\r\n") {
			t.Errorf("%q", got)
		}
		f.web.saw(t, okSaw)
		f.onlyOK(t)
		host := strings.Split(where, "/")[2]
		if got := f.talk(t, plain(host)); statusOf(got) != 403 {
			t.Errorf("the second request: %q", got)
		}
		f.onlyOK(t)
	}
}

// esc/PX-19: through a relay of the program's own each connection is judged the same.
func TestRelay(t *testing.T) {
	f := newFront(t, Config{}, nil)
	proxy := f.addr
	relay := newOrigin(t, func(c *net.TCPConn) {
		to, err := net.Dial("tcp", proxy)
		if err != nil {
			return
		}
		defer to.Close()
		go func() { _, _ = io.Copy(to, c); _ = pipe.CloseWrite(to) }()
		_, _ = io.Copy(c, to)
	})
	f.addr = relay.Addr().String()
	for text, want := range map[string]int{
		tunnelTo("denied.test:443"): 403, tunnelTo("127.0.0.1:80"): 403, plain("denied.test"): 403,
	} {
		if got := f.talk(t, text); statusOf(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	f.works(t)
	f.web.saw(t, okSaw)
	f.onlyOK(t)
}

// esc/PX-22: the proxy is not reached through itself, by no name and no address.
func TestProxyToItself(t *testing.T) {
	own := map[netip.AddrPort]bool{}
	f := newFront(t, Config{Own: func(a netip.AddrPort) bool { return own[a] }}, nil,
		allow.Rule{Name: "127.0.0.1", Port: 1}, allow.Rule{Name: "self.test", Port: 1})
	self := netip.MustParseAddrPort(f.addr)
	// The port is known only now: a second server, for rules that list the first one.
	g := newFront(t, Config{Own: func(a netip.AddrPort) bool { return a == self }}, nil,
		allow.Rule{Name: "127.0.0.1", Port: self.Port()}, allow.Rule{Name: "self.test", Port: self.Port()})
	_, port, _ := net.SplitHostPort(f.addr)
	g.lead("self.test", self.Addr(), 0, "")
	for _, c := range []struct {
		f    *front
		host string
	}{
		{f, "127.0.0.1"},
		{f, "[::1]"},
		{f, "[::ffff:127.0.0.1]"},
		{f, "localhost"},
		{g, "127.0.0.1"}, // listed, and its own all the same
		{g, "self.test"},
	} {
		for _, text := range []string{tunnelTo(c.host + ":" + port), plain(c.host + ":" + port)} {
			if got := c.f.talk(t, text); statusOf(got) != 403 {
				t.Errorf("%q: %q", text, got)
			}
		}
	}
	for _, f := range []*front{f, g} {
		if _, dialled, _ := f.snapshot(); len(dialled) > 0 {
			t.Errorf("dialled %v", dialled)
		}
		f.works(t)
	}
}

// TestTunnel: what comes in one packet with CONNECT is not lost.
func TestTunnel(t *testing.T) {
	f := newFront(t, Config{}, nil)
	got := f.talk(t, tunnelTo("ok.test:80")+"GET /early HTTP/1.0\r\nHost: inner\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.0 200 OK\r\n") || !strings.HasSuffix(got, "hello") {
		t.Errorf("%q", got)
	}
	f.web.saw(t, "GET inner /early")
	one(t, f.wait(t, 2))
}

// TestOriginIsNotThere: 502, and a line that says which of the two it was.
func TestOriginIsNotThere(t *testing.T) {
	f := newFront(t, Config{}, nil, allow.Rule{Name: "nowhere.test"}, allow.Rule{Name: "closed.test"})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	f.lead("closed.test", publicB, 80, l.Addr().String())
	for host, want := range map[string]string{
		"nowhere.test": "brainbox: nowhere.test:80 has no address", "closed.test": "brainbox: closed.test:80 does not answer",
	} {
		for _, text := range []string{plain(host), tunnelTo(host + ":80")} {
			if got := f.talk(t, text); statusOf(got) != 502 || !strings.Contains(got, "\r\n\r\n"+want) {
				t.Errorf("%q: %q", text, got)
			}
		}
	}
	f.works(t)
}

// TestPlainHTTPOn443: port 443 is for TLS, also in the other form.
func TestPlainHTTPOn443(t *testing.T) {
	f := newFront(t, Config{}, nil)
	f.lead("ok.test", publicA, 443, f.web.Addr().String())
	if got := f.talk(t, plain("ok.test:443")); statusOf(got) != 403 {
		t.Errorf("%q", got)
	}
	f.web.saw(t)
}
