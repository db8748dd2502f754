package integration

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// freePort is a port that nobody has, and that the kernel gives nobody by itself: those begin
// at 32768 (ip_local_port_range, ip(7)).
func freePort(t testing.TB) string {
	t.Helper()
	for range 1000 {
		if port := itoa(20_000 + rand.IntN(10_000)); isFree(port) {
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// isFree reports whether nobody listens on a port of the loopback.
func isFree(port string) bool {
	for _, address := range []string{"127.0.0.1:", "[::1]:"} {
		l, err := net.Listen("tcp", address+port)
		if errors.Is(err, unix.EADDRINUSE) {
			return false
		}
		if err == nil {
			_ = l.Close()
		}
	}
	return true
}

// hasIPv6 reports whether the kernel has IPv6 at all, as a network of one's own has then:
// ipv6.disable=1 on its command line takes the sockets away.
func hasIPv6() bool {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil
}

// TestProxyOwnPort: a program that listens on an allowed port itself still can, is reached
// there by itself, and the name with that port is reached as well.
func TestProxyOwnPort(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	port := p.lines.port
	name := "line ok.test:" + port
	in := p.visit(t, p.usual()...)
	for _, step := range []struct{ attempt, want string }{
		{"serve 127.0.0.1:" + port + " own", "ok 127.0.0.1:" + port},
		{"line 127.0.0.1:" + port, "ok own"},
		{name, "ok hello"},
		{"line 127.0.0.1:" + port, "ok own"},
		{"serve [::1]:" + port + " own6", "ok [::1]:" + port}, // after the name is in use
		{"line [::1]:" + port, "ok own6"},
		{connectTo("ok.test:"+port, "x\n"), `ok 200 "hello\n"`},
		{"serve 0.0.0.0:" + port + " every", "errno EADDRINUSE"},
	} {
		if strings.Contains(step.attempt, "[::1]") && !hasIPv6() {
			continue
		}
		if got := in.ask(t, step.attempt); got != step.want {
			t.Errorf("%q = %q, want %q", step.attempt, got, step.want)
		}
	}
	every := p.visit(t, p.usual()...) // before the name is in use
	for _, step := range []struct{ attempt, want string }{
		{"serve 0.0.0.0:" + port + " every", "ok 0.0.0.0:" + port},
		{"line 127.0.0.1:" + port, "ok every"},
		{connectTo("ok.test:"+port, "x\n"), `ok 200 "hello\n"`},
		{"fetch http://ok.test:" + p.web.port + " direct", "ok 200 served"}, // another port of the name
	} {
		if got := every.ask(t, step.attempt); got != step.want {
			t.Errorf("every address: %q = %q, want %q", step.attempt, got, step.want)
		}
	}
}

// lineFrom is the first line of a connection that this process makes; empty: there is none.
func lineFrom(address string) string {
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line)
}

// otherAddresses are this machine's addresses that are not of its loopback.
func otherAddresses(t *testing.T) []string {
	t.Helper()
	var all []string
	addresses, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast() {
			all = append(all, ip.IP.String())
		}
	}
	return all
}

// TestPublish: a published port is reached from the host's loopback, and from no other
// address of the host; a port that is taken is refused.
func TestPublish(t *testing.T) {
	proxied(t)
	for _, mode := range []string{"none", "proxy"} {
		t.Run(mode, func(t *testing.T) {
			p := newProxyWorld(t)
			port, other := freePort(t), freePort(t)
			flags := []string{"--net", mode, "--publish", port}
			in := p.visit(t, flags...)
			if got := in.ask(t, "serve 127.0.0.1:"+port+" inside"); !strings.HasPrefix(got, "ok ") {
				t.Fatal(got)
			}
			if got := in.ask(t, "serve 127.0.0.1:"+other+" unpublished"); !strings.HasPrefix(got, "ok ") {
				t.Fatal(got)
			}
			if got := lineFrom("127.0.0.1:" + port); got != "inside" { // the positive control
				t.Errorf("the host's loopback: %q\n%s", got, in.stderr)
			}
			for _, a := range append(otherAddresses(t), "127.0.0.2") {
				if got := lineFrom(net.JoinHostPort(a, port)); got != "" {
					t.Errorf("%s answers %q", a, got)
				}
			}
			if got := lineFrom("127.0.0.1:" + other); got != "" {
				t.Errorf("a port that is not published answers %q", got)
			}
			if got := in.ask(t, "line 127.0.0.1:"+p.lines.port); got != "errno ECONNREFUSED" {
				t.Errorf("the way out: %q", got)
			}
			r := confined(t, p.world, flags, "/bin/sh", "-c", "echo ran") // the first run has the port
			if r.status != 125 || r.out != "" || !strings.Contains(r.err, "127.0.0.1:"+port+" of this machine is taken") {
				t.Errorf("a port that is taken: status %d, %q, %q", r.status, r.out, r.err)
			}
			in.done()
			waitFor(t, "a free port", func() bool { return isFree(port) })
			if r := confined(t, p.world, flags, "/bin/sh", "-c", "echo ran"); r.out != "ran\n" {
				t.Errorf("afterwards: status %d, %q, %q", r.status, r.out, r.err)
			}
		})
	}
}
