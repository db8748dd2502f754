package bridge

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"

	"brainbox/bridge/wire"
)

// connectAs connects from a thread that has another uid, which is what the peer's
// credentials are: the connecting thread's. The thread ends with its goroutine.
func connectAs(t *testing.T, path string, uid int) *net.UnixConn {
	t.Helper()
	type result struct {
		fd  int
		err error
	}
	got := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
			got <- result{-1, e}
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		}
		got <- result{fd, err}
	}()
	r := <-got
	if r.err != nil {
		t.Fatal(r.err)
	}
	f := os.NewFile(uintptr(r.fd), "peer")
	c, err := net.FileConn(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return c.(*net.UnixConn) //nolint:forcetypeassert // a Unix socket
}

// esc/BR-01: another user is refused by both sockets, whatever their modes; the uid that
// the sandbox is mapped to by that of operators only, and the overflow uid always.
func TestPeersOfOtherUsers(t *testing.T) {
	needs.Root(t) // other uids connect
	const mapped, other, overflow = 61001, 61002, 65534
	s := newStand(t, func(c *Config) { c.AgentUIDs = []uint32{mapped, overflow} })
	for _, path := range []string{s.dir, filepath.Join(s.dir, "agent"), filepath.Join(s.dir, "ui")} {
		if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // so that only the peer's uid refuses
			t.Fatal(err)
		}
	}
	for _, name := range []string{"agent", "ui"} {
		path := filepath.Join(s.dir, name, name+".sock")
		if err := os.Chmod(path, 0o777); err != nil { //nolint:gosec // so that only the peer's uid refuses
			t.Fatal(err)
		}
		for _, tt := range []struct {
			uid  int
			want bool
		}{{other, false}, {overflow, false}, {mapped, name == "agent"}, {0, true}} {
			c := connectAs(t, path, tt.uid)
			p := &peer{t: t, conn: c, r: bufioReader(c)}
			params := helloParams
			if name == "ui" {
				text := p.line()
				if text == "" { // refused: not even greeted
					if tt.want {
						t.Errorf("%s, uid %d: refused", name, tt.uid)
					}
					continue
				}
				m, err := wire.DecodeReply([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				nonce, err := wire.ReadNonce(&m)
				if err != nil {
					t.Fatal(err)
				}
				params = `{"protocol":"brainbox/1","client":"x","proof":"` + s.s.c.Key.Proof(nonce) + `"}`
			}
			_, _ = c.Write([]byte(`{"jsonrpc":"2.0","id":"1","method":"hello","params":` + params + "}\n"))
			if got := p.read(); (got["result"] != nil) != tt.want {
				t.Errorf("%s, uid %d: %v", name, tt.uid, got)
			}
			_ = c.Close()
		}
	}
}

// A peer that lives in the sandbox is no operator; see RefuseUI.
func TestUserInterfacesFromTheSandbox(t *testing.T) {
	var mu sync.Mutex
	var seen Peer
	alive := errors.New("not asked")
	refuse := true
	s := newStand(t, func(c *Config) {
		c.RefuseUI = func(p Peer) error {
			mu.Lock()
			defer mu.Unlock()
			seen = p
			if p.PIDFD >= 0 {
				alive = unix.PidfdSendSignal(p.PIDFD, 0, nil, 0)
			}
			if refuse {
				return errors.New("the sandbox's pid namespace")
			}
			return nil
		}
	})
	if got := s.dial("ui").read(); got["closed"] != true {
		t.Errorf("%v", got)
	}
	mu.Lock()
	if seen.PID != os.Getpid() || int(seen.UID) != os.Geteuid() || seen.PIDFD >= 0 && alive != nil {
		t.Errorf("%+v, pidfd: %v", seen, alive)
	}
	refuse = false
	mu.Unlock()
	ui := s.ui()
	if got := ui.call("grants.list", `{}`); got["result"] == nil {
		t.Errorf("the control: %v", got)
	}
	pidfds := func() (n int) {
		all, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range all {
			if to, _ := os.Readlink(path); strings.Contains(to, "pidfd") {
				n++
			}
		}
		return n
	}
	eventually(t, "no pidfd is left open", func() bool { return pidfds() == 0 })
}

// esc/BR-14: what is another session's is refused, also with the right credentials.
func TestOtherSessions(t *testing.T) {
	s := newStand(t, func(c *Config) { c.Session = "s2" })
	if got := s.agent().call("tool.call", base); word(got) != "denied/session_mismatch" {
		t.Errorf("%v", got)
	}
	if got := s.agent().call("tool.call", request(t, append(id("ptr_2"), `"s1"`, `"s2"`)...)); word(got) != "succeeded" {
		t.Errorf("the control: %v", got)
	}
}

// The end of the context that a listener is served with is that of its connections.
func TestServeEndsWithItsContext(t *testing.T) {
	s := newStand(t)
	l, err := Listen(filepath.Join(s.dir, "x"), "x.sock")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.s.ServeAgent(ctx, l) }()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(s.dir, "x", "x.sock"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, conn: c, r: bufioReader(c)}
	if got := p.call("hello", helloParams); got["result"] == nil {
		t.Fatalf("%v", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	if got := p.read(); got["closed"] != true {
		t.Errorf("%v", got)
	}
	if got := s.agent().call("ping", `{}`); got["result"] == nil {
		t.Errorf("another listener: %v", got)
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	good := newStand(t).s.c
	for _, tt := range []struct {
		name string
		f    func(c *Config)
	}{
		{"no session", func(c *Config) { c.Session = "" }},
		{"no gate", func(c *Config) { c.Gate = nil }},
		{"no hub", func(c *Config) { c.Hub = nil }},
		{"no redactor", func(c *Config) { c.Redact = nil }},
		{"bg/A80 a tool in both lists", func(c *Config) { c.Tools = append(c.Tools, &note{name: "jobs"}) }},
		{"a tool twice", func(c *Config) { c.Tools = append(c.Tools, &note{name: "x"}, &note{name: "x"}) }},
		{"a malformed name", func(c *Config) { c.Tools = append(c.Tools, &note{name: "../x"}) }},
		{"a malformed name of the parent's", func(c *Config) { c.Parent = &Parent{Tools: map[string]ParentTool{"a b": {}}} }},
		{"a surface as a tool of the parent's", func(c *Config) { c.Parent = &Parent{Tools: map[string]ParentTool{"bash": {}}} }},
	} {
		c := good
		tt.f(&c)
		if s, err := New(c); err == nil || s != nil {
			t.Errorf("%s: a server", tt.name)
		}
	}
	if _, err := New(good); err != nil {
		t.Errorf("the control: %v", err)
	}
}
