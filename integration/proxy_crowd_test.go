package integration

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// residentSet is the memory of a process, in KiB.
func residentSet(t testing.TB, pid int) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSuffix(field(pid, "VmRSS"), " kB"))
	must(t, err)
	return n
}

// TestProxyCrowd is esc/PX-25: thousands of connections from inside, some of which say
// nothing more, and a header without end, leave the proxy as it was.
func TestProxyCrowd(t *testing.T) {
	proxied(t)
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	p := newProxyWorld(t)
	in := p.visit(t, p.usual()...)
	if got := in.ask(t, getFrom("ok.test:"+p.web.port, "/")); !strings.HasPrefix(got, "ok 200 ") { // the positive control
		t.Fatal(got)
	}
	host, _ := children(t, in.cmd.Process.Pid)
	before := residentSet(t, host)
	begun := hex.EncodeToString([]byte("GET http://ok.test/ HTTP/1.1\r\nX: "))
	if got := in.ask(t, "stall "+proxyAddress+" 100 "+begun); got != "ok 100" {
		t.Errorf("slow headers: %q", got)
	}
	if got := in.ask(t, request("GET http://ok.test/ HTTP/1.1\r\nX: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")); strings.HasPrefix(got, "ok 2") {
		t.Errorf("a long header: %q", got)
	}
	refused := hex.EncodeToString([]byte("CONNECT denied.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\r\n"))
	const part = 1_000 // what a slow machine answers in one line's time
	for range n / part {
		if got := in.ask(t, fmt.Sprintf("flood %s %d %s", proxyAddress, part, refused)); got != fmt.Sprint("ok ", part) {
			t.Errorf("%d connections: %q were answered", part, got)
		}
	}
	for _, attempt := range []string{getFrom("ok.test:"+p.web.port, "/"), "fetch http://ok.test:" + p.web.port + " direct"} {
		if got := in.ask(t, attempt); !strings.HasPrefix(got, "ok 200 ") {
			t.Errorf("afterwards %q = %q", attempt, got)
		}
	}
	grown := residentSet(t, host) - before
	t.Logf("brainbox-host has grown from %d KiB by %d", before, grown)
	if grown > 64<<10 {
		t.Errorf("brainbox-host has grown by %d KiB", grown)
	}
	in.done()
	// An event that finds the queue full is counted and not told (package netask): that is so
	// when brainbox is not scheduled for long. One part always finds room.
	told, times := refusals(in.stderr.String()), 0
	if len(told) > 0 {
		_, _ = fmt.Sscanf(told[0], "brainbox: refused: denied.test:443: not listed (%d times)", &times)
	}
	if times < part || times > n {
		t.Errorf("told: %q, want %d to %d times", told, part, n)
	}
}

// TestProxyTells: what the program chooses as names reaches the terminal as text, and however
// many it chooses, brainbox says it in a few lines.
func TestProxyTells(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	in := p.visit(t, p.usual()...)
	const escape = "\x1b]0;owned\a\x1b[31m\u202egnp.exe\u200b\x9b2J"
	hostile := []string{connectTo(escape + ".test:443"), connectTo("evil.test:443" + escape), getFrom(escape+".test", "/")}
	for _, attempt := range hostile {
		if got := in.ask(t, attempt); strings.HasPrefix(got, "ok 2") {
			t.Errorf("%q = %q", attempt, got)
		}
	}
	// SOCKS5 (RFC 1928): no authentication, and CONNECT to a name of these bytes.
	socks := "\x05\x01\x00\x05\x01\x00\x03" + string(rune(len("a\x1b[2Jb"))) + "a\x1b[2Jb\x01\xbb"
	if got := in.ask(t, fmt.Sprintf("flood %s 1 %s", proxyAddress, hex.EncodeToString([]byte(socks)))); got != "ok 1" {
		t.Errorf("SOCKS5: %q", got)
	}
	const many = 3000
	for i := range many {
		name := fmt.Sprintf("n%d.denied.test", i)
		if got := in.ask(t, connectTo(name+":443")); !strings.HasPrefix(got, "ok 403 ") {
			t.Fatalf("%s: %q", name, got)
		}
	}
	in.done()
	said := in.stderr.String()
	if i := strings.IndexFunc(said, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("standard error has %q", said[i:min(len(said), i+20)])
	}
	if n := strings.Count(said, "\n"); n > 15 || len(refusals(said)) == 0 {
		t.Errorf("%d lines: %q", n, said)
	}
	if seen := p.dns.all(); len(seen) != 0 {
		t.Errorf("the resolver was asked %q", seen)
	}
}
