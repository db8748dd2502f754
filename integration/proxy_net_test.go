package integration

import (
	"encoding/hex"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestProxyMatrixNetwork makes the attempts of area J where hosts are reached by name: what is
// not the proxy's, or a listener's for a name, goes nowhere.
func TestProxyMatrixNetwork(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	rows := slices.Concat(tcpRows(), ownNetwork(packetRows()), familyRows(), addressRows(t, p), questionRows(p), interfaceRows())
	real, control := runRows(t, rows, p.usual()...)
	if got := real.net.got.Load(); got != 0 {
		t.Errorf("%d connections or messages arrived outside", got)
	}
	waitFor(t, "what the controls sent", func() bool { return control.net.got.Load() >= 7 })
	// What the controls sent to the DNS server is there, and nothing came between it and this.
	waitFor(t, "the control's question", func() bool { return len(p.dns.all()) > 0 })
	c, err := net.Dial("udp", p.dns.address)
	must(t, err)
	defer c.Close()
	_, err = c.Write([]byte("x"))
	must(t, err)
	waitFor(t, "this test's question", func() bool { return len(p.dns.all()) > 1 })
	if seen := p.dns.all(); !slices.Equal(seen, []string{"malformed", "malformed"}) {
		t.Errorf("the resolver was asked %q", seen)
	}
	if seen := p.web.all(); len(seen) != 0 {
		t.Errorf("the origin was asked %q", seen)
	}
}

// addressRows is NW-15 and NW-16: addresses of the host, listed ones too, and of a cloud.
func addressRows(t *testing.T, p *proxyWorld) []row {
	refused := last(1, "ECONNREFUSED")
	at := func(id, name, address string) row {
		family, kind := unix.AF_INET, "in4:"
		if address[0] == '[' {
			family, kind = unix.AF_INET6, "in6:"
		}
		return row{id: id, name: name, attempt: then(socket(family, unix.SOCK_STREAM, 0), connect(kind+address)), want: refused, ns: refused}
	}
	rows := []row{
		at("NW-15", "a listed address of the host's loopback", "127.0.0.1:"+p.web.port),
		at("NW-15", "the same, mapped", "[::ffff:127.0.0.1]:"+p.web.port),
	}
	for _, a := range append(otherAddresses(t), "::1") {
		l, err := net.Listen("tcp", net.JoinHostPort(a, "0"))
		if err != nil {
			continue // no IPv6 here, or an address that is still tentative
		}
		t.Cleanup(func() { _ = l.Close() })
		rows = append(rows, at("NW-15", "the host's "+a, l.Addr().String()))
	}
	for _, a := range []string{"169.254.169.254:80", "[fd00:ec2::254]:80", "192.0.2.1:443", "[2001:db8::1]:443", "192.0.2.1:853", "192.0.2.1:53"} {
		if a[0] == '[' && !hasIPv6() {
			continue
		}
		r := at("NW-16", "a far address "+a, a)
		r.inside = "status Seccomp"
		rows = append(rows, r)
	}
	return rows
}

// questionRows is NW-07: what is sent to another resolver gets nowhere.
func questionRows(p *proxyWorld) []row {
	const stream, dgram, v4 = unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.AF_INET
	return []row{
		{
			id: "NW-07", name: "the host's resolver", attempt: then(socket(v4, dgram, 0), sendTo("in4:"+p.dns.address)),
			want: []string{"ok"}, // nobody has that port inside, and a datagram is lost
		},
		{
			id: "NW-09", name: "a port of the resolver's and the proxy's kind", inside: then(socket(v4, stream, 0), call(unix.SYS_BIND, "$1", "in4:127.0.0.1:0", "#")),
			attempt: then(socket(v4, stream, 0), call(unix.SYS_BIND, "$1", "in4:127.0.0.1:1022", "#")), want: last(1, "EACCES"), ns: last(1, "EACCES"),
		},
	}
}

// interfaceRows is NW-18: nobody inside changes the network.
func interfaceRows() []row {
	// struct ifreq of netdevice(7): a name, then flags or an address.
	request := func(name string, rest ...byte) string {
		b := make([]byte, 40)
		copy(b, name)
		copy(b[unix.IFNAMSIZ:], rest)
		return "hex:" + hex.EncodeToString(b)
	}
	control := func(what int, arg string) string {
		return then(socket(unix.AF_INET, unix.SOCK_DGRAM, 0), call(unix.SYS_IOCTL, "$1", what, arg))
	}
	refused := last(1, "EPERM")
	var rows []row
	for name, attempt := range map[string]string{
		"bring an interface up": control(unix.SIOCSIFFLAGS, request("lo", unix.IFF_UP|unix.IFF_LOOPBACK|unix.IFF_RUNNING)),
		"add an address":        control(unix.SIOCSIFADDR, request("lo:1", unix.AF_INET, 0, 0, 0, 10, 9, 8, 7)),
		"add a route":           control(unix.SIOCADDRT, "buf:120"),
		"remove a route":        control(unix.SIOCDELRT, "buf:120"),
	} {
		rows = append(rows, row{id: "NW-18", name: name, attempt: attempt, want: refused, ns: refused, inside: control(unix.SIOCGIFFLAGS, request("lo"))})
	}
	slices.SortFunc(rows, func(a, b row) int { return len(a.name) - len(b.name) })
	return rows
}

// TestProxyLookups is esc/NW-08: what libraries ask, by whatever way, is asked of nobody outside
// unless the name is listed, and then for the connection alone.
func TestProxyLookups(t *testing.T) {
	proxied(t)
	needs.Program(t, "/usr/bin/getent")
	needs.Program(t, "/usr/bin/python3")
	p := newProxyWorld(t)
	const python = `import socket, sys
try: print(sorted(a[4][0] for a in socket.getaddrinfo(sys.argv[1], 80, type=socket.SOCK_STREAM)))
except socket.gaierror as e: sys.exit(str(e))`
	for name, command := range map[string][]string{
		"getent ahosts": {"/usr/bin/getent", "ahosts"}, "getent hosts": {"/usr/bin/getent", "hosts"},
		"python": {"/usr/bin/python3", "-c", python}, "go": {program("visitor"), "lookup"},
	} {
		denied := confined(t, p.world, p.usual(), append(command, "secret-data.denied.test")...)
		if told := refusals(denied.err); denied.status == 0 && denied.out != "bad no such host\n" || len(told) != 1 {
			t.Errorf("%s: what is not listed: status %d, %q, %q", name, denied.status, denied.out, denied.err)
		}
		if ok := confined(t, p.world, p.usual(), append(command, "ok.test")...); ok.status != 0 || ok.out == "" || ok.err != "" { // the positive control
			t.Errorf("%s: what is listed: status %d, %q, %q", name, ok.status, ok.out, ok.err)
		}
	}
	if seen := p.dns.all(); len(seen) != 0 {
		t.Errorf("the resolver was asked %q", seen)
	}
	in := p.visit(t, p.usual()...)
	if got := in.ask(t, "line ok.test:"+p.lines.port); got != "ok hello" || !p.dns.has(" ok.test.") {
		t.Errorf("control: %q, and the resolver was asked %q", got, p.dns.all())
	}
}

// TestProxyVariables is esc/EV-13 where there is a proxy: the caller's values are replaced, and
// lead nowhere.
func TestProxyVariables(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	caller := newLineServer(t, "127.0.0.1:0", "HTTP/1.1 500 caller's\r\n\r\n")
	wrong := "http://127.0.0.1:" + caller.port
	cmd := boxed(p.usual(), program("visitor"))
	cmd.Dir, cmd.Env = p.dir("W"), environ(t)
	want := map[string]string{
		"HTTP_PROXY": "http://127.0.0.1:1023", "HTTPS_PROXY": "http://127.0.0.1:1023",
		"ALL_PROXY": "socks5h://127.0.0.1:1023", "NO_PROXY": "localhost,127.0.0.1,::1",
	}
	for name, value := range want {
		want[strings.ToLower(name)] = value
	}
	for name := range want {
		cmd.Env = append(cmd.Env, name+"="+wrong)
	}
	in := open(t, cmd)
	for name, value := range want {
		if got := in.ask(t, "env "+name); got != "ok "+value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	if got := in.ask(t, "fetch http://ok.test:"+p.web.port); got != "ok 200 served" {
		t.Errorf("a page: %q", got)
	}
	if n := caller.count(); n != 0 {
		t.Errorf("%d connections went to the caller's proxy", n)
	}
	out := p.visitBare(t)
	if got := out.ask(t, fmt.Sprintf("line 127.0.0.1:%s", caller.port)); got != "ok HTTP/1.1 500 caller's" { // the positive control
		t.Errorf("control: %q", got)
	}
}

// TestProxyRoutes is esc/NW-18 by netlink(7), with the program that administrators use: what
// the network of a run looks like can be seen and not changed.
func TestProxyRoutes(t *testing.T) {
	proxied(t)
	ip, err := exec.LookPath("ip")
	if err != nil {
		t.Skip(err) // gating: nobody asks for this program, and internal/needs has no word for it
	}
	p := newProxyWorld(t)
	show := []string{ip, "route", "show", "table", "all"}
	before := confined(t, p.world, p.usual(), show...)
	if before.status != 0 || !strings.Contains(before.out, "local default dev lo") { // the positive control
		t.Fatalf("status %d, %q, %q", before.status, before.out, before.err)
	}
	for _, change := range []string{
		"link set lo down", "link add name dummy9 type dummy", "link add name veth9 type veth peer name veth8 netns 1", "addr add 10.9.8.7/32 dev lo",
		"route add 10.0.0.0/8 dev lo", "route del local default dev lo", "-6 route del local default dev lo", "rule add to all blackhole",
	} {
		script := ip + " " + change + ` 2>said; status=$?; cat said; "$@"; exit $status`
		r := confined(t, p.world, p.usual(), append([]string{"/bin/sh", "-uc", script, "sh"}, show...)...)
		said, after, _ := strings.Cut(r.out, "\n")
		if r.status == 0 || !strings.Contains(said, "not permitted") || after != before.out {
			t.Errorf("ip %s: status %d, %q, and then %q, not %q", change, r.status, said, after, before.out)
		}
	}
}
