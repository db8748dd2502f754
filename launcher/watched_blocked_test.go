package launcher

import (
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// Connects that wait are on the threads of the broker, which all other observed calls need,
// too: there are more threads than a broker alone has.
func TestObservedCallsBesideBlockedConnects(t *testing.T) {
	needs.Notify(t)
	needs.LandlockABI(t, 1)
	const connects = 12 // a broker alone has 8 threads
	dir := resolved(t.TempDir())
	compileWatched(t, dir)
	socks, err := os.MkdirTemp("", "blocked") //nolint:usetesting // TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(socks) })
	path := socks + "/s"
	listenFull(t, path)
	w := newWatcher()
	f, p := planIn(t, "landlock", dir, "exec ./watched blocked "+path+" "+strconv.Itoa(connects)+" >/dev/null", path)
	if p.Refusal != nil || p.Broker == nil {
		t.Skipf("needs: a broker: %+v", p.Refusal) // gating: Landlock may judge sockets itself
	}
	p.Timeout = 30 * time.Second
	go func() {
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			w.mu.Lock()
			n := w.seen["connect"]
			w.mu.Unlock()
			if n == connects {
				_ = os.WriteFile(dir+"/go", nil, 0o644)
				return
			}
		}
	}()
	res, err := p.Run(f, Options{Observe: w.observe})
	if err != nil {
		t.Fatal(err)
	}
	if res.Status != 9 || w.seen["connect"] != connects {
		t.Errorf("status %d, %d of %d connects were seen", res.Status, w.seen["connect"], connects)
	}
}

// listenFull makes a socket that listens and has no place for one more connection.
func listenFull(t *testing.T, path string) {
	t.Helper()
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(s) })
	if err := unix.Bind(s, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(s, 0); err != nil { // one is taken all the same
		t.Fatal(err)
	}
	c, err := net.Dial("unix", path) //nolint:noctx // a test's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
}
