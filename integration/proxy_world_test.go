package integration

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"brainbox/internal/needs"
)

// proxyAddress is where the proxy is inside.
const proxyAddress = "127.0.0.1:1023"

// proxyWorld is a world with servers that have names. It stands for the internet, so its
// address has to be listed too, each time with the port.
type proxyWorld struct {
	*world
	dns    *nameServer
	web    *webServer // HTTP
	secure *webServer // HTTPS
	lines  *lineServer
}

// proxied asks for what a network by name takes. Isolation landlock has none
// (TestProxyInLandlock): TestInside runs these tests in the other one.
func proxied(t testing.TB) {
	t.Helper()
	kernel(t)
	needs.Netns(t)
	if !inside() {
		t.Skip("isolation landlock has no network by name") // gating: TestInside runs it
	}
}

// newProxyWorld starts the servers.
func newProxyWorld(t *testing.T) *proxyWorld {
	t.Helper()
	p := &proxyWorld{world: newWorld(t), dns: newNameServer(t)}
	p.web, p.lines = newWebServer(t, "127.0.0.1:0", nil), newLineServer(t, "127.0.0.1:0", "hello")
	p.secure = newWebServer(t, "127.0.0.1:0", newAuthority(t, p.dir("R"), "ok.test", "denied.test"))
	for _, name := range []string{"ok.test", "denied.test"} {
		p.dns.set(name, "127.0.0.1")
	}
	return p
}

// resolver are the flags without any host.
func (p *proxyWorld) resolver() []string {
	return []string{"--net", "proxy", "--resolver", p.dns.address, "--ro", p.dir("R")}
}

// allow are flags that list hosts.
func (p *proxyWorld) allow(hosts ...string) []string {
	flags := p.resolver()
	for _, h := range hosts {
		flags = append(flags, "--allow-host", h)
	}
	return flags
}

// usual are flags that list ok.test at every server, and their address, which it leads to.
func (p *proxyWorld) usual(more ...string) []string {
	var hosts []string
	for _, port := range []string{p.web.port, p.secure.port, p.lines.port} {
		hosts = append(hosts, "ok.test:"+port, "127.0.0.1:"+port)
	}
	return p.allow(append(hosts, more...)...)
}

// visit starts the visitor inside.
func (p *proxyWorld) visit(t testing.TB, flags ...string) *side {
	t.Helper()
	cmd := boxed(flags, program("visitor"))
	cmd.Dir, cmd.Env = p.dir("W"), environ(t)
	return open(t, cmd)
}

// visitBare starts it outside.
func (p *proxyWorld) visitBare(t testing.TB) *side {
	t.Helper()
	cmd := exec.Command(program("visitor"))
	cmd.Dir, cmd.Env = p.dir("W"), environ(t)
	return open(t, cmd)
}

// request is the visitor's attempt to send a request to the proxy, and bytes after it.
func request(text string, payload ...string) string {
	words := "http " + proxyAddress + " " + hex.EncodeToString([]byte(text))
	for _, p := range payload {
		words += " " + hex.EncodeToString([]byte(p))
	}
	return words
}

// connectTo asks the proxy for a tunnel.
func connectTo(target string, payload ...string) string {
	return request("CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n", payload...)
}

// getFrom asks the proxy for a page, in absolute form.
func getFrom(host, path string) string {
	return request("GET http://" + host + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
}

// refusals are the lines in which brainbox tells what was refused.
func refusals(stderr string) []string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "brainbox: refused: ") || strings.HasPrefix(line, "brainbox: not reached: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// lineServer greets each connection with a line.
type lineServer struct {
	port string
	mu   sync.Mutex
	seen int
}

func newLineServer(t testing.TB, address, greeting string) *lineServer {
	t.Helper()
	l, err := net.Listen("tcp", address)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	s := &lineServer{port: portOf(t, l.Addr())}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.seen++
			s.mu.Unlock()
			go func() {
				_, _ = io.WriteString(c, greeting+"\n")
				_, _ = bufio.NewReader(c).ReadString('\n') // until it ends, or has said something
				_ = c.Close()
			}()
		}
	}()
	return s
}

func (s *lineServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func portOf(t testing.TB, a net.Addr) string {
	t.Helper()
	at, err := netip.ParseAddrPort(a.String())
	must(t, err)
	return fmt.Sprint(at.Port())
}

// journal keeps what a server has seen.
type journal struct {
	mu   sync.Mutex
	seen []string
}

func (l *journal) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, line)
}

// all is what was seen so far.
func (l *journal) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

// has reports whether a line with the text was seen.
func (l *journal) has(text string) bool {
	return slices.ContainsFunc(l.all(), func(line string) bool { return strings.Contains(line, text) })
}

// hostSockets are the sockets of this machine's network that a process has, but for connections
// of TCP. Others come and go there all the time, so it is the process that is looked at. Only
// root may look at a brainbox-host.
func hostSockets(t testing.TB, pid int) []string {
	t.Helper()
	held := map[string]bool{}
	dir := "/proc/" + itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if name, err := os.Readlink(dir + "/" + e.Name()); err == nil {
			held[name] = true
		}
	}
	var all []string
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := os.ReadFile("/proc/self/net/" + table)
		if err != nil {
			continue // no IPv6 here
		}
		for line := range strings.Lines(string(text)) {
			// proc_net_tcp.txt: sl, local, remote, state, …, inode; 0A is a listener, 07 an open UDP socket.
			f := strings.Fields(line)
			if len(f) > 9 && (f[3] == "0A" || f[3] == "07") && held["socket:["+f[9]+"]"] {
				all = append(all, table+" "+f[1])
			}
		}
	}
	slices.Sort(all)
	return all
}
