package integration

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// greeting is a ClientHello for a server name, or for none.
func greeting(t *testing.T, name string) string {
	t.Helper()
	c, s := net.Pipe()
	go func() {
		_ = tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: name == ""}).Handshake() //nolint:gosec // only its first bytes are of use
		_ = c.Close()
	}()
	b := make([]byte, 16<<10)
	n, err := s.Read(b) // a ClientHello is written as a whole
	must(t, err)
	must(t, s.Close())
	return string(b[:n])
}

// TestProxyServerName is esc/PX-13: to port 443 nothing goes but a ClientHello for the name
// that was asked for.
func TestProxyServerName(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	const host = "127.0.0.4"
	l, err := net.Listen("tcp", host+":443")
	if errors.Is(err, unix.EACCES) {
		needs.Root(t)
	}
	if errors.Is(err, unix.EADDRINUSE) {
		t.Skip(err) // gating: somebody has the port at every address of this machine
	}
	must(t, err)
	must(t, l.Close())
	certificate := newAuthority(t, p.dir("R"), "named.test")
	origin := newWebServer(t, host+":443", certificate)
	p.dns.set("named.test", host)
	in := p.visit(t, p.allow("named.test", host)...)
	for name, sent := range map[string]string{
		"another name": greeting(t, "denied.test"), "no name": greeting(t, ""), "a name below": greeting(t, "x.named.test"),
		"no TLS": "GET / HTTP/1.1\r\nHost: named.test\r\n\r\n",
	} {
		got := in.ask(t, connectTo("named.test:443", sent))
		if !strings.HasPrefix(got, `ok 200 "`) || strings.Contains(got, "x16") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if seen := origin.all(); len(seen) != 0 {
		t.Errorf("the origin saw %q", seen)
	}
	ca := filepath.Join(p.dir("R"), "ca.pem")
	for _, attempt := range []string{"fetch https://named.test " + ca, "fetch https://named.test " + ca + " direct"} { // the positive control
		if got := in.ask(t, attempt); got != "ok 200 served" {
			t.Errorf("%q = %q", attempt, got)
		}
	}
	if curl, err := exec.LookPath("curl"); err == nil {
		for _, way := range [][]string{{}, {"--noproxy", "*"}} {
			command := append([]string{curl, "-sS", "--fail", "--cacert", ca, "https://named.test/"}, way...)
			if r := confined(t, p.world, p.allow("named.test", host), command...); r.out != "served\n" {
				t.Errorf("%q: status %d, %q, %q", command, r.status, r.out, r.err)
			}
		}
	}
	if !origin.has("hello named.test") || origin.has("denied") {
		t.Errorf("the origin saw %q", origin.all())
	}
	in.done()
	if told := refusals(in.stderr.String()); len(told) != 1 || !strings.Contains(told[0], "named.test:443: what the program sent is no TLS greeting for this name (4 times)") {
		t.Errorf("told: %q", told)
	}
}

// TestProxyServerNameElsewhere is esc/PX-13 on any other port: TLS that is spoken first is for
// the name that was asked for.
func TestProxyServerNameElsewhere(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	at := "ok.test:" + p.secure.port
	in := p.visit(t, p.allow(at, "127.0.0.1:"+p.secure.port)...)
	for _, name := range []string{"denied.test", "x.ok.test"} {
		if got := in.ask(t, connectTo(at, greeting(t, name))); !strings.HasPrefix(got, `ok 200 "`) || strings.Contains(got, "x16") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if p.secure.has("hello") { // it saw connections end
		t.Errorf("the origin saw %q", p.secure.all())
	}
	attempt := "fetch https://" + at + " " + filepath.Join(p.dir("R"), "ca.pem")
	if got := in.ask(t, attempt); got != "ok 200 served" || !p.secure.has("hello ok.test") { // the positive control
		t.Errorf("%q = %q, the origin saw %q", attempt, got, p.secure.all())
	}
	in.done()
	if told := refusals(in.stderr.String()); len(told) != 1 || !strings.Contains(told[0], at+": what the program sent is no TLS greeting for this name (2 times)") {
		t.Errorf("told: %q", told)
	}
}

// TestProxyRelay is esc/PX-19: a relay inside is one more client.
func TestProxyRelay(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	in := p.visit(t, p.usual()...)
	relay := strings.TrimPrefix(in.ask(t, "relay 127.0.0.1:0 "+proxyAddress), "ok ")
	through := func(attempt string) string { return in.ask(t, strings.Replace(attempt, proxyAddress, relay, 1)) }
	if got := through(connectTo("denied.test:443")); !strings.HasPrefix(got, "ok 403 ") {
		t.Errorf("CONNECT: %q", got)
	}
	if got := through(getFrom("denied.test:"+p.web.port, "/")); !strings.HasPrefix(got, "ok 403 ") || len(p.web.all()) != 0 {
		t.Errorf("a page: %q, %q", got, p.web.all())
	}
	if got := through(getFrom("ok.test:"+p.web.port, "/")); got != `ok 200 "served\n"` {
		t.Errorf("control: %q", got)
	}
}

// TestProxyEmptyList is esc/PX-20: no list, and an empty one, mean nothing.
func TestProxyEmptyList(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	for name, flags := range map[string][]string{
		"no list":    p.resolver(),
		"empty list": append(p.resolver(), "--policy", policyFile(t, "[network]\nmode = \"proxy\"\nallow_hosts = []\n")),
	} {
		in := p.visit(t, flags...)
		for _, attempt := range []string{getFrom("ok.test:"+p.web.port, "/"), connectTo("ok.test:443"), connectTo("127.0.0.1:" + p.web.port)} {
			if got := in.ask(t, attempt); !strings.HasPrefix(got, "ok 403 ") {
				t.Errorf("%s: %q = %q", name, attempt, got)
			}
		}
		if got := in.ask(t, "line ok.test:"+p.lines.port); got != "bad no such host" {
			t.Errorf("%s: directly: %q", name, got)
		}
	}
	if seen := append(p.dns.all(), p.web.all()...); len(seen) != 0 {
		t.Errorf("arrived: %q", seen)
	}
	if got := p.visit(t, p.usual()...).ask(t, "line ok.test:"+p.lines.port); got != "ok hello" { // the positive control
		t.Errorf("control: %q", got)
	}
}

// policyFile is a policy of the operator's.
func policyFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.toml")
	must(t, os.WriteFile(path, []byte("version = 1\n"+text), 0o644))
	return path
}

// TestProxySnapshot is esc/PX-21: a policy that changes during a run is the next run's.
func TestProxySnapshot(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	list := func(names ...string) string {
		text := "[network]\nmode = \"proxy\"\nresolver = \"" + p.dns.address + "\"\nallow_hosts = [\"127.0.0.1:" + p.lines.port + "\""
		for _, n := range names {
			text += ", \"" + n + ":" + p.lines.port + "\""
		}
		return text + "]\n"
	}
	file := policyFile(t, list("ok.test"))
	in := p.visit(t, "--policy", file)
	ok, denied := "line ok.test:"+p.lines.port, "line denied.test:"+p.lines.port
	for range 2 {
		if got := in.ask(t, ok); got != "ok hello" {
			t.Errorf("what is listed at the start: %q", got)
		}
		if got := in.ask(t, denied); got != "bad no such host" {
			t.Errorf("what is not listed at the start: %q", got)
		}
		must(t, os.WriteFile(file, []byte("version = 1\n"+list("denied.test")), 0o644))
	}
	next := p.visit(t, "--policy", file) // the positive control
	if got := next.ask(t, denied); got != "ok hello" {
		t.Errorf("control: %q", got)
	}
}

// TestProxyIsNotOutside is esc/PX-23: nothing listens on the host for a run, so no other
// process or user reaches the proxy.
func TestProxyIsNotOutside(t *testing.T) {
	proxied(t)
	answers := func(address string) bool {
		c, err := net.DialTimeout("tcp", address, patience)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	// A machine may have a resolver of its own.
	places := slices.DeleteFunc([]string{proxyAddress, "[::1]:1023", "127.0.0.1:53"}, answers)
	p := newProxyWorld(t)
	published := freePort(t)
	in := p.visit(t, append(p.usual(), "--publish", published)...)
	if got := in.ask(t, "line ok.test:"+p.lines.port); got != "ok hello" { // it is all there
		t.Fatal(got)
	}
	for _, address := range places {
		if answers(address) {
			t.Errorf("somebody listens at %s on the host", address)
		}
	}
	if got := in.ask(t, connectTo("denied.test:443")); !strings.HasPrefix(got, "ok 403 ") { // the positive control: inside somebody does
		t.Errorf("inside: %q", got)
	}
	if os.Geteuid() != 0 {
		return
	}
	host, program := children(t, in.cmd.Process.Pid)
	for _, pid := range []int{in.cmd.Process.Pid, program} {
		if list := hostSockets(t, pid); len(list) != 0 {
			t.Errorf("process %d has %q on the host", pid, list)
		}
	}
	n, err := strconv.Atoi(published)
	must(t, err)
	for _, s := range hostSockets(t, host) { // what is published is all that there is
		if !strings.HasSuffix(s, fmt.Sprintf(":%04X", n)) {
			t.Errorf("brainbox-host has %q on the host", s)
		}
	}
	if len(hostSockets(t, host)) == 0 {
		t.Error("control: the published port is not seen")
	}
}
