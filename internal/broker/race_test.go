package broker

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/seccomp"
)

// esc/SC-11: whatever the program swaps while the broker looks, nothing is reached that is
// not listed, and the listed one is now and then.
func TestRacesReachNothing(t *testing.T) {
	needs.Notify(t)
	for _, what := range []string{"address", "descriptor", "directory", "link", "folder"} {
		t.Run(what, func(t *testing.T) {
			dir := folder(t)
			in := func(name string) string { return filepath.Join(dir, name) }
			yes, no := serve(t, "unix", in("yes")), serve(t, "unix", in("no!"))
			for _, d := range []string{"a", "b", "w", "w/a", "w/b"} {
				must(t, os.Mkdir(in(d), 0o777))
			}
			for link, to := range map[string]string{
				"a/s": "../yes", "b/s": "../no!", "w/a/s": in("yes"), "w/b/s": in("no!"), "w/x": in("yes"), "w/y": in("no!"),
			} {
				must(t, os.Symlink(to, in(link)))
			}
			cfg := Config{Sockets: []Socket{listed(t, in("yes"))}}
			network := seccomp.NetNone
			if what == "descriptor" {
				network, cfg.Rules = seccomp.NetPorts, Rules{Ports: []uint16{1}}
			}
			tries := 100_000
			if testing.Short() || what != "address" {
				tries = 5_000
			}
			p := start(t, cfg, network, "race", what, strconv.Itoa(tries), dir)
			text := p.line()
			var ok int
			if _, err := fmt.Sscan(text, &ok); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			t.Logf("%s: %s; the listed one saw %d", what, text, yes.count())
			if no.count() != 0 {
				t.Errorf("what is not listed was reached %d times", no.count())
			}
			if ok == 0 && what != "descriptor" || ok != 0 && what == "descriptor" {
				t.Errorf("%d connects", ok)
			}
		})
	}
}

// full is a listener that takes no connection and whose backlog is full.
func full(t *testing.T, path string) (accept func()) {
	t.Helper()
	l, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(l) })
	must(t, unix.Bind(l, &unix.SockaddrUnix{Name: path}))
	must(t, unix.Listen(l, 0))
	for {
		c, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		must(t, err)
		t.Cleanup(func() { unix.Close(c) })
		if unix.Connect(c, &unix.SockaddrUnix{Name: path}) != nil {
			return func() {
				fd, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
				must(t, err)
				t.Cleanup(func() { unix.Close(fd) })
			}
		}
	}
}

func TestConnectsThatHaveToWait(t *testing.T) {
	needs.Notify(t)
	for how, want := range map[string]string{
		"wait": "ok", "interrupt": "EINTR", "restart": "ok", "timeout": "EAGAIN",
	} {
		t.Run(how, func(t *testing.T) {
			at := filepath.Join(folder(t), "full")
			accept := full(t, at)
			p := start(t, Config{Sockets: []Socket{listed(t, at)}}, seccomp.NetNone, "blocking", how, at)
			var tid int
			if _, err := fmt.Sscan(p.line(), &tid); err != nil {
				t.Fatal(err)
			}
			for p.b.Stats().Connected == 0 { // it blocks then, or is about to
				runtime.Gosched()
			}
			if how == "interrupt" || how == "restart" {
				must(t, unix.Tgkill(p.child.PID, tid, unix.SIGUSR1))
			}
			if how == "restart" {
				for p.b.Stats().Connected < 2 { // the kernel has made the call again
					runtime.Gosched()
				}
			}
			if want == "ok" {
				accept()
			}
			if got := p.line(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// Others are served while as many connects block as may; what comes beyond waits, and none
// outlives its program.
func TestBlockedConnectsHoldUpNobody(t *testing.T) {
	needs.Notify(t)
	dir := folder(t)
	at, free := filepath.Join(dir, "full"), serve(t, "unix", filepath.Join(dir, "free"))
	full(t, at)
	cfg := Config{Sockets: []Socket{listed(t, at), listed(t, free.path)}, Threads: 8}
	p := start(t, cfg, seccomp.NetNone, "crowd", at, free.path, "7")
	if got := p.line(); got != "free "+me() {
		t.Errorf("with 7 of 8 blocked: %s", got)
	}
	must(t, unix.PidfdSendSignal(p.child.PidFD, unix.SIGKILL, nil, 0))
	p.b.Close()
	before := free.count()
	p = start(t, cfg, seccomp.NetNone, "crowd", at, free.path, "12") // more than there are threads
	for p.b.Stats().Connected < 8 {
		runtime.Gosched()
	}
	must(t, unix.PidfdSendSignal(p.child.PidFD, unix.SIGKILL, nil, 0))
	p.b.Close()
	if free.count() != before {
		t.Errorf("the program got past the bound")
	}
}

// TCP is connected by the plan's ports, and UDP if it says so: esc/NW-02.
func TestInternet(t *testing.T) {
	needs.Notify(t)
	listen := func() (int, *net.TCPListener) {
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		must(t, err)
		t.Cleanup(func() { _ = l.Close() })
		return l.Addr().(*net.TCPAddr).Port, l
	}
	yes, _ := listen()
	no, closed := listen()
	connect := func(r Rules, n seccomp.Network, port int) string {
		p := start(t, Config{Rules: r}, n, "blocking", "wait", strconv.Itoa(port))
		p.line()
		return p.line()
	}
	rules := Rules{Ports: []uint16{uint16(yes)}}
	if got := connect(rules, seccomp.NetPorts, no); got != "EACCES" {
		t.Errorf("a port that is not listed: %s, want EACCES", got)
	}
	if got := connect(rules, seccomp.NetPorts, yes); got != "ok" {
		t.Errorf("a listed port: %s, want ok", got)
	}
	if got := connect(Rules{All: true}, seccomp.NetHost, no); got != "ok" {
		t.Errorf("the host's network: %s, want ok", got)
	}
	_ = closed.Close()
	if got := connect(Rules{All: true}, seccomp.NetHost, no); got != "ECONNREFUSED" {
		t.Errorf("nobody listens: %s, want ECONNREFUSED", got)
	}
}
