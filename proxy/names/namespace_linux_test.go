package names

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/netns"
	"brainbox/proxy/allow"
)

// inside is the program and its namespace.
type inside struct {
	t   *testing.T
	ns  netns.NS
	in  io.Writer
	out *bufio.Scanner
}

func newInside(t *testing.T) *inside {
	t.Helper()
	needs.Userns(t)
	needs.Netns(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = []string{programEnv + "=1"}, os.Stderr
	same := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET, UidMappings: same(os.Geteuid()), GidMappings: same(os.Getegid()),
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &inside{t: t, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program: %v", err)
		}
	})
	p.ns = netns.NS{User: p.open(cmd.Process.Pid, "user"), Net: p.open(cmd.Process.Pid, "net")}
	return p
}

func (p *inside) open(pid int, kind string) int {
	p.t.Helper()
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// expect has the program do something.
func (p *inside) expect(command, want string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, command); err != nil {
		p.t.Fatal(err)
	}
	if !p.out.Scan() {
		p.t.Fatalf("%s: no answer, %v", command, p.out.Err())
	}
	if got := p.out.Text(); got != want {
		p.t.Errorf("%s: %s, want %s", command, got, want)
	}
}

// file makes a socket in the namespace, bound to an address.
func (p *inside) file(kind netns.Socket, at netip.AddrPort) (*os.File, error) {
	var sa unix.Sockaddr = &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
	if at.Addr().Is4() {
		sa = &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	fds, err := p.ns.Sockets(kind)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), at.String()), netns.Listen(fds[0], sa)
}

// Listen is what [Sockets] asks for.
func (p *inside) Listen(at netip.AddrPort) (net.Listener, error) {
	kind := netns.TCP6()
	if at.Addr().Is4() {
		kind = netns.TCP4()
	}
	f, err := p.file(kind, at)
	if f != nil {
		defer f.Close()
	}
	if err != nil {
		return nil, err
	}
	return net.FileListener(f)
}

// serve starts a server for the program; six says whether there is IPv6.
func (p *inside) serve() (w *world, six bool) {
	t := p.t
	t.Helper()
	fds, err := p.ns.Sockets(netns.Routing())
	if err != nil {
		t.Fatal(err)
	}
	six, err = netns.Up(fds[0])
	unix.Close(fds[0])
	if err != nil {
		t.Fatal(err)
	}
	rules := append([]allow.Rule{{Name: "127.0.0.1", Port: 5432}}, listed...)
	w = newWorld(t, func(c *Config) { c.Sockets = p }, rules...)
	tcp, err := p.Listen(at("127.0.0.1:53"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.file(netns.UDP4(), at("127.0.0.1:53"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	udp, err := net.FilePacketConn(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Literals(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, udp, tcp) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w, six
}

// esc/NW-07, esc/NW-15, esc/PX-03: a program with real sockets in a namespace of its own, that
// knows no proxy, reaches a listed name on its ports by whatever family and protocol it asks,
// and nothing else.
func TestAProgramInItsNamespace(t *testing.T) {
	p := newInside(t)
	w, six := p.serve()
	carried := func(host string, port uint16) {
		t.Helper()
		want := allow.Query{Host: host, Port: port, Path: allow.Direct}
		if got := w.nextQuery(); got != want {
			t.Errorf("carried %+v, want %+v", got, want)
		}
	}
	for _, network := range []string{"udp", "tcp"} {
		p.expect("lookup "+network+" ip4 denied.test.", "notfound")
		p.expect("lookup "+network+" ip6 c2VjcmV0.attacker.test.", "notfound") // esc/NW-07
	}
	if notes := w.take(); len(notes) != 4 {
		t.Errorf("recorded %v, want four lookups", notes)
	}
	for _, to := range []string{"198.18.0.1:443", "192.0.2.9:443", "192.0.2.1:23", "127.0.0.1:5432", "10.0.0.1:80", "169.254.169.254:80"} {
		p.expect("dial "+to, "ECONNREFUSED")
	}
	p.expect("dial 192.0.2.1:22", "ok")
	carried("192.0.2.1", 22)

	p.expect("lookup udp ip4 ok.test.", "198.18.0.1")
	p.expect("dial 198.18.0.1:443", "ok")
	carried("ok.test", 443)
	p.expect("dial 198.18.0.1:80", "ok")
	carried("ok.test", 80)
	p.expect("dial 198.18.0.1:22", "ECONNREFUSED")
	p.expect("dial 198.18.0.2:443", "ECONNREFUSED")
	if !six {
		t.Log("there is no IPv6 here")
	} else {
		p.expect("dial [fd62:7261:696e:626f::c612:1]:443", "ECONNREFUSED")
		p.expect("lookup tcp ip6 ok.test.", "fd62:7261:696e:626f::c612:1")
		p.expect("dial [fd62:7261:696e:626f::c612:1]:443", "ok")
		carried("ok.test", 443)
	}
	if notes := w.take(); len(notes) != 0 || len(w.carried) != 0 {
		t.Errorf("recorded %v, and %d more connections were carried", notes, len(w.carried))
	}
}

// A program still binds a port that is listed with a name, on its loopback before and after,
// and at every address before; then the name has that port no more, and it is told.
func TestAProgramThatBindsAListedPort(t *testing.T) {
	p := newInside(t)
	w, _ := p.serve()
	p.expect("bind 127.0.0.1:8080", "ok")
	p.expect("lookup udp ip4 two.test.", "198.18.0.1")
	p.expect("dial 198.18.0.1:8080", "ok")
	w.nextQuery()
	p.expect("bind 127.0.0.2:8080", "ok")
	p.expect("bind 0.0.0.0:8080", "EADDRINUSE") // the limit that doc.go tells of

	p.expect("bind 0.0.0.0:5432", "ok")
	p.expect("lookup udp ip4 db.test.", "temporary")
	notes := w.take()
	for _, n := range notes { // Go's client asks a server that failed again
		if want := (allow.Query{Host: "db.test", Port: 5432, Path: allow.Lookup}); n.q != want || n.v.Reason != allow.PortTaken {
			t.Errorf("recorded %+v, want %v of %+v", n, allow.PortTaken, want)
		}
	}
	if len(notes) == 0 {
		t.Error("a port that the program has taken is not told")
	}
	m := w.ask("db.test.", dnsmessage.TypeA)
	if m.RCode != dnsmessage.RCodeServerFailure {
		t.Errorf("a name without any port: %v", m.RCode)
	}
}
