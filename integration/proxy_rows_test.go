package integration

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProxyWays has every way in with its positive control: what is listed is reached with
// the variables, by CONNECT and without knowing of a proxy, and the program's variables are
// brainbox's own, esc/EV-13.
func TestProxyWays(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	in := p.visit(t, p.usual()...)
	ca := p.dir("R") + "/ca.pem"
	for attempt, want := range map[string]string{
		getFrom("ok.test:"+p.web.port, "/"):                                  `ok 200 "served\n"`,
		connectTo("ok.test:"+p.lines.port, "x\n"):                            `ok 200 "hello\n"`,
		"line ok.test:" + p.lines.port:                                       "ok hello",
		"fetch http://ok.test:" + p.web.port:                                 "ok 200 served",
		"fetch http://ok.test:" + p.web.port + " direct":                     "ok 200 served",
		"fetch https://ok.test:" + p.secure.port + " " + ca:                  "ok 200 served",
		"fetch https://OK.test.:" + p.secure.port + " " + ca:                 "ok 200 served", // esc/PX-06
		fmt.Sprintf("fetch https://ok.test:%s %s direct", p.secure.port, ca): "ok 200 served",
	} {
		if got := in.ask(t, attempt); got != want {
			t.Errorf("%q = %q, want %q", attempt, got, want)
		}
	}
	in.done()
	if said := in.stderr.String(); said != "" {
		t.Errorf("standard error: %q", said)
	}
	if seen := p.dns.all(); slices.ContainsFunc(seen, func(l string) bool { return !strings.HasSuffix(l, " ok.test.") }) || len(seen) == 0 {
		t.Errorf("the resolver was asked %q", seen)
	}
}

// TestProxyAddresses: an origin of IPv6 is reached by its name from a program that has IPv4
// alone, and a listed address by itself, by every way, if it is none of the program's own.
func TestProxyAddresses(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	p.dns.set("six.test", "::1")
	for _, a := range append(otherAddresses(t), "::1") {
		free := net.JoinHostPort(a, "0")
		l, err := net.Listen("tcp", free)
		if err != nil {
			t.Logf("%s: %v", a, err) // no IPv6 here, or an address that is still tentative
			continue
		}
		must(t, l.Close())
		at, other := newLineServer(t, free, "hello"), newLineServer(t, free, "other")
		listed, unlisted := net.JoinHostPort(a, at.port), net.JoinHostPort(a, other.port)
		in := p.visit(t, p.allow(listed, "six.test:"+at.port)...)
		ways := map[string]string{
			connectTo(listed, "x\n"): `ok 200 "hello\n"`, connectTo(unlisted): "ok 403",
			"line " + listed: "ok hello", "line " + unlisted: "errno ECONNREFUSED",
		}
		if a == "::1" {
			ways["line "+listed] = "errno ECONNREFUSED" // the program's own loopback
			ways["line six.test:"+at.port] = "ok hello"
			ways[connectTo("six.test:"+at.port, "x\n")] = `ok 200 "hello\n"`
		}
		for attempt, want := range ways {
			if got := in.ask(t, attempt); !strings.HasPrefix(got+" ", want+" ") {
				t.Errorf("%s: %q = %q, want %q", a, attempt, got, want)
			}
		}
		if n := other.count(); n != 0 {
			t.Errorf("%s: %d connections arrived at a port that is not listed", a, n)
		}
	}
}

// refusedWays are rows of area K: an attempt, its answer, and the line of brainbox.
type refusedWay struct{ name, attempt, want, line string }

// TestProxyRefuses is PX for one run with a short list: nothing of it arrives anywhere, no
// name that is not listed is looked up, and each is told in one line.
func TestProxyRefuses(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	other := newLineServer(t, "127.0.0.1:0", "other")
	web, lines := p.web.port, p.lines.port
	p.dns.set("secret.denied.test", "127.0.0.1")
	rows := append(listRows(web, lines, other.port), strictRows(web)...)
	flags := p.allow("ok.test:"+web, "127.0.0.1:"+web)
	for some := range slices.Chunk(rows, 8) { // of more than ten brainbox tells the number alone
		in := p.visit(t, flags...)
		for _, r := range some {
			t.Run(r.name, func(t *testing.T) {
				if got := in.ask(t, r.attempt); !strings.HasPrefix(got+" ", r.want+" ") {
					t.Errorf("%q = %q, want %q", r.attempt, got, r.want)
				}
			})
		}
		in.done()
		told := refusals(in.stderr.String())
		for _, r := range some {
			lines := slices.DeleteFunc(slices.Clone(told), func(l string) bool { return !strings.HasPrefix(l, "brainbox: refused: "+r.line) })
			if r.line != "" && len(lines) != 1 {
				t.Errorf("%s: told in %q: %s", r.name, lines, in.stderr)
			}
		}
	}
	if seen := append(p.dns.all(), p.web.all()...); len(seen) != 0 || p.lines.count()+other.count() != 0 {
		t.Errorf("arrived: %q, %d, %d", seen, p.lines.count(), other.count())
	}
	if got := p.visit(t, flags...).ask(t, getFrom("ok.test:"+web, "/")); got != `ok 200 "served\n"` { // the positive control
		t.Errorf("what is listed: %q", got)
	}
	out := p.visitBare(t)
	for _, port := range []string{lines, other.port} {
		if got := out.ask(t, "line 127.0.0.1:"+port); !strings.HasPrefix(got, "ok ") {
			t.Errorf("control outside: %q", got)
		}
	}
}

// listRows are about what the list says. The ports are the listed name's, and two others.
func listRows(web, lines, other string) []refusedWay {
	return []refusedWay{
		{"esc/PX-01 a page", getFrom("denied.test:"+web, "/leak"), "ok 403", "denied.test:" + web + ": not listed"},
		{"esc/PX-02 CONNECT", connectTo("denied.test:443"), "ok 403", "denied.test:443: not listed"},
		{"esc/PX-02 a name below", connectTo("x.ok.test:" + web), "ok 403", "x.ok.test:" + web + ": not listed"},
		{"esc/PX-03 the address at another port", connectTo("127.0.0.1:" + lines), "ok 403", "127.0.0.1:" + lines},
		{"esc/PX-04 in another spelling", connectTo("2130706433:" + other), "ok 403", "127.0.0.1:" + other},
		{"esc/PX-07 the end of a name", connectTo("evilok.test:" + web), "ok 403", "evilok.test:" + web},
		{"esc/PX-15 another port", connectTo("ok.test:" + lines), "ok 403", "ok.test:" + lines + ": listed with another port"},
		{"esc/PX-22 the proxy itself", connectTo(proxyAddress), "ok 403", proxyAddress},
		{"esc/NW-16 metadata", getFrom("169.254.169.254", "/latest/"), "ok 403", "169.254.169.254:80"},
		{"esc/NW-16 metadata v6", connectTo("[fd00:ec2::254]:80"), "ok 403", "[fd00:ec2::254]:80"},
		{"esc/NW-17 without the variables", "fetch http://denied.test:" + web + " direct", "bad no such host", "denied.test: not listed"},
		{"esc/NW-07 data in a name", "lookup secret.denied.test", "bad no such host", "secret.denied.test: not listed"},
		{"esc/NW-15 the host's loopback", "line 127.0.0.1:" + web, "errno ECONNREFUSED", ""},
		{"esc/NW-15 the host's loopback, a port that is not listed", "line 127.0.0.1:" + other, "errno ECONNREFUSED", ""},
		{"esc/NW-16 metadata, directly", "line 169.254.169.254:80", "errno ECONNREFUSED", ""},
		{"esc/NW-14 a listed port of another address", "line 127.0.0.2:" + web, "errno ECONNREFUSED", ""},
	}
}

// strictRows are about how a host is spelled, and what is no request.
func strictRows(web string) []refusedWay {
	get := func(head string) string {
		return request(strings.ReplaceAll(head, "\n", "\r\n") + "Connection: close\r\n\r\n")
	}
	return []refusedWay{
		{"esc/PX-05 mapped", connectTo("[::ffff:127.0.0.1]:1"), "ok 403", "127.0.0.1:1: "},
		{"esc/PX-05 NAT64", connectTo("[64:ff9b::7f00:1]:" + web), "ok 403", "[64:ff9b::7f00:1]:" + web},
		{"esc/PX-05 unspecified", connectTo("0.0.0.0:" + web), "ok 403", "0.0.0.0:" + web},
		{"esc/PX-06 an empty label", connectTo("ok..test:" + web), "ok 400", ""},
		{"esc/PX-07 something before an at sign", connectTo("ok.test@denied.test:" + web), "ok 400", ""},
		{"esc/PX-07 a name that goes on", connectTo("ok.test.evil:" + web), "ok 403", "ok.test.evil:" + web},
		{"esc/PX-08 a NUL", connectTo("evil\x00.ok.test:" + web), "ok 400", ""},
		{"esc/PX-09 a letter of another alphabet", connectTo("xn--k-0tb.test:" + web), "ok 403", "xn--k-0tb.test:" + web},
		{"esc/PX-10 two hosts", get("GET http://ok.test:" + web + "/ HTTP/1.1\nHost: ok.test:" + web + "\nHost: denied.test\n"), "ok 400", ""},
		{"esc/PX-10 another host", get("GET http://ok.test:" + web + "/ HTTP/1.1\nHost: denied.test\n"), "ok 400", ""},
		{"esc/PX-12 two lengths", get("POST http://ok.test:" + web + "/ HTTP/1.1\nHost: ok.test:" + web + "\nContent-Length: 1\nTransfer-Encoding: chunked\n"), "ok 400", ""},
		{"esc/PX-24 another scheme", get("GET ftp://ok.test/ HTTP/1.1\nHost: ok.test\n"), "ok 501", ""},
	}
}

// TestProxyAnswers is esc/PX-16 and esc/PX-17: an allowed name that leads to an address that
// is not public, at once or the second time, is not reached, and an address that was checked
// is the one that is connected to.
func TestProxyAnswers(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	port := freePort(t)
	inner := newLineServer(t, "127.0.0.3:"+port, "inner")
	p.lines = newLineServer(t, "127.0.0.1:"+port, "hello")
	answers := map[string]string{
		"loopback.test": "127.0.0.3", "private.test": "10.0.0.1", "linklocal.test": "169.254.169.254", "cgnat.test": "100.64.0.1",
		"ula.test": "fd00::1", "v6.test": "::1", "mapped.test": "::ffff:127.0.0.3", "unspecified.test": "0.0.0.0", "nat64.test": "64:ff9b::7f00:3",
		"both.test": "127.0.0.1 127.0.0.3",
	}
	hosts := []string{"127.0.0.1:" + inner.port, "*.test:" + inner.port}
	for name, a := range answers {
		p.dns.set(name, a)
	}
	p.dns.set("rebind.test", "127.0.0.1", "127.0.0.3") // the answer, and the one of the next question
	in := p.visit(t, p.allow(hosts...)...)
	if got := in.ask(t, connectTo("rebind.test:"+inner.port, "x\n")); got != `ok 200 "hello\n"` {
		t.Errorf("the first answer: %q", got)
	}
	for _, attempt := range []string{connectTo("rebind.test:" + inner.port), connectTo("rebind.test:" + inner.port)} {
		if got := in.ask(t, attempt); !strings.HasPrefix(got, "ok 403") {
			t.Errorf("the second answer: %q", got)
		}
	}
	for name := range answers {
		if got := in.ask(t, connectTo(name+":"+inner.port)); !strings.HasPrefix(got, "ok 403 ") {
			t.Errorf("%s by CONNECT: %q", name, got)
		}
		if got := in.ask(t, "line "+name+":"+inner.port); got == "ok inner" || got == "ok hello" || strings.HasPrefix(got, "ok") {
			t.Errorf("%s directly: %q", name, got)
		}
	}
	if n := inner.count(); n != 0 {
		t.Errorf("%d connections arrived at the address that is not listed", n)
	}
	if n := p.lines.count(); n != 1 {
		t.Errorf("%d connections arrived at the listed one, want 1", n)
	}
	for name := range answers { // the positive control: each name was looked up
		if !p.dns.has(" " + name + ".") {
			t.Errorf("%s was never looked up", name)
		}
	}
	if got := p.visitBare(t).ask(t, "line 127.0.0.3:"+inner.port); got != "ok inner" {
		t.Errorf("control outside: %q", got)
	}
}

// TestProxyRedirect is esc/PX-18: a redirect is the client's affair, who asks again.
func TestProxyRedirect(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	in := p.visit(t, p.usual()...)
	if got := in.ask(t, getFrom("ok.test:"+p.web.port, "/away")); !strings.HasPrefix(got, "ok 302 ") {
		t.Errorf("the redirect itself: %q", got)
	}
	if got := in.ask(t, "fetch http://ok.test:"+p.web.port+"/away"); !strings.HasPrefix(got, "ok 403 ") {
		t.Errorf("followed: %q", got)
	}
	want := []string{"GET ok.test:" + p.web.port + " /away", "GET ok.test:" + p.web.port + " /away"}
	if diff := cmp.Diff(want, p.web.all()); diff != "" {
		t.Errorf("the origin (-want +got):\n%s", diff)
	}
	allowed := p.visit(t, p.usual("denied.test:"+p.web.port)...) // the positive control
	if got := allowed.ask(t, "fetch http://ok.test:"+p.web.port+"/away"); got != "ok 200 served" || !p.web.has("/landed") {
		t.Errorf("control: %q, %q", got, p.web.all())
	}
}
