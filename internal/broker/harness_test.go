package broker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/spawn"
	"brainbox/seccomp"
)

const victimEnv = "BROKER_TEST_VICTIM"

func TestMain(m *testing.M) {
	if what := os.Getenv(victimEnv); what != "" {
		victim(what, os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// server is a socket file that answers every connection with its name and the
// credentials of who connected, and counts them.
type server struct {
	t    testing.TB
	path string
	l    *net.UnixListener

	mu   sync.Mutex
	seen int
}

// serve makes a server; kind is "unix" or "unixpacket".
func serve(t testing.TB, kind, path string) *server {
	t.Helper()
	s := &server{t: t, path: path}
	s.listen(kind)
	t.Cleanup(func() { _ = s.l.Close() })
	return s
}

func (s *server) listen(kind string) {
	s.t.Helper()
	var err error
	if s.l, err = net.ListenUnix(kind, &net.UnixAddr{Name: s.path, Net: kind}); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chmod(s.path, 0o777); err != nil {
		s.t.Fatal(err)
	}
	go s.run(s.l)
}

func (s *server) run(l *net.UnixListener) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.seen++
		s.mu.Unlock()
		_, _ = fmt.Fprintf(c, "%s %s\n", filepath.Base(s.path), peer(c))
		_ = c.Close()
	}
}

func peer(c *net.UnixConn) string {
	raw, err := c.SyscallConn()
	if err != nil {
		return err.Error()
	}
	text := ""
	if err := raw.Control(func(fd uintptr) {
		u, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			text = err.Error()
			return
		}
		text = fmt.Sprintf("%d:%d:%v", u.Uid, u.Gid, peerGroups(int(fd)))
	}); err != nil {
		return err.Error()
	}
	return text
}

func peerGroups(fd int) []uint32 {
	groups := make([]uint32, 64)
	size := uint32(4 * len(groups))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
		uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
	if e != 0 {
		return nil
	}
	return groups[:size/4]
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// listed lists a socket as the launcher does.
func listed(t testing.TB, path string) Socket {
	t.Helper()
	fd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return Socket{Folder: fd, Name: filepath.Base(path), UID: st.Uid}
}

// pin adds what keeps the socket the very one.
func (s Socket) pin(t testing.TB) Socket {
	t.Helper()
	fd, err := unix.Openat(s.Folder, s.Name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	s.Pinned = fd
	return s
}

// program is a running victim.
type program struct {
	t     testing.TB
	child *spawn.Child
	b     *Broker
	in    io.Writer
	out   *bufio.Reader
}

// start runs a victim under cfg; network is for the filter. The victim runs as cfg.Identity.
func start(t testing.TB, cfg Config, network seccomp.Network, what string, args ...string) *program {
	t.Helper()
	needs.Notify(t)
	if err := Offered(cfg.Identity != nil).Err(); err != nil {
		t.Skipf("needs: %v", err) // gating: a place that blocks the calls
	}
	arch, err := seccomp.AuditArch(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Arch = arch
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	filter, err := seccomp.Default(seccomp.Options{UnixBroker: true, Network: network})
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, filter, cfg.Identity, what, args)
	p.b = b
	b.Serve(p.child.Listener)
	return p
}

// launch starts the victim; without a filter nothing stands between it and the kernel.
func launch(t testing.TB, filter seccomp.Program, id *Identity, what string, args []string) *program {
	t.Helper()
	exe := executable(t)
	out, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = outW.Close(), in.Close() }()
	t.Cleanup(func() { _, _ = out.Close(), inW.Close() })
	r := &spawn.Request{
		Path: exe, Argv: append([]string{"victim"}, args...), Env: []string{victimEnv + "=" + what, "GODEBUG=asyncpreemptoff=1"},
		Unconfined: true, Stdio: [3]int{int(in.Fd()), int(outW.Fd()), 2}, DieWithParent: true, Umask: 0o022,
	}
	if filter != nil {
		r.Filter, r.Listener = unsafe.Slice((*unix.SockFilter)(unsafe.Pointer(&filter[0])), len(filter)), true
	}
	if id != nil {
		r.Identity = &spawn.Identity{UID: id.UID, GID: id.GID, Groups: id.Groups}
	}
	runtime.LockOSThread() // the death signal follows the thread
	t.Cleanup(runtime.UnlockOSThread)
	c, err := spawn.Start(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.PidfdSendSignal(c.PidFD, unix.SIGKILL, nil, 0)
		_, _ = unix.Wait4(c.PID, nil, 0, nil)
		unix.Close(c.PidFD)
	})
	return &program{t: t, child: c, in: inW, out: bufio.NewReader(out)}
}

// executable is the test binary, where every user can execute it.
func executable(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return exe
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "broker-test-") //nolint:usetesting // not below the private folders of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	to := filepath.Join(dir, "victim")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(to, text, 0o755)); err != nil {
		t.Fatal(err)
	}
	return to
}

// folder is one that every user can search and write to.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "broker-test-") //nolint:usetesting // TempDir is below private folders, and long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (p *program) line() string {
	p.t.Helper()
	text, err := p.out.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(text)
}

// rest is everything that it still prints, one answer a line.
func (p *program) rest() []string {
	p.t.Helper()
	text, err := io.ReadAll(p.out)
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func (p *program) say(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, text+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func listenUnix(name string) (*net.UnixListener, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
}
