package proxy

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/proxy/allow"
)

// clients makes n connections that send text and stay. They are bare descriptors: what
// memory there is, is the proxy's.
func clients(t *testing.T, addr string, n int, text string) []int {
	t.Helper()
	at := netip.MustParseAddrPort(addr)
	to := &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	all := make([]int, 0, n)
	t.Cleanup(func() {
		for _, fd := range all {
			_ = unix.Close(fd)
		}
	})
	for range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fd)
		for {
			if err = unix.Connect(fd, to); !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Send(fd, []byte(text), unix.MSG_NOSIGNAL) // one of too many may be gone already
	}
	return all
}

// taken is the memory that this process holds, in bytes: heaps and stacks. What the race
// detector has beside them would be in the resident set.
func taken() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// esc/PX-25: ten thousand connections at once, each with half a head: as many are served as
// the limit says, the others are told, and the proxy lives on.
func TestManyClients(t *testing.T) {
	const n, bound = 10_000, 64 << 20
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur < n+5000 {
		t.Skipf("needs: %d descriptors, not %d (%v)", n+5000, files.Cur, err) // gating: a limit of whoever starts the tests
	}
	f := newFront(t, Config{Limits: Limits{Head: time.Hour}}, nil)
	debug.FreeOSMemory()
	before := taken()
	all := clients(t, f.addr, n, get)
	// All of them have been accepted when one more is.
	if got := f.talk(t, ""); statusOf(got) != 503 || !strings.Contains(got, "brainbox: too many connections at once\n") {
		t.Errorf("one too many: %q", got)
	}
	_, _, events := f.snapshot()
	one(t, events)
	if want := n + 1 - f.config.Limits.Connections; len(events) != want || events[0].Reason != allow.Busy {
		t.Errorf("%d events, want %d that say busy", len(events), want)
	}
	grown := taken() - before
	t.Logf("limit %d; memory %+d KiB", f.config.Limits.Connections, grown>>10)
	if grown > bound {
		t.Errorf("memory grew by %d bytes, at most %d", grown, bound)
	}
	if resp := half(t, all[0]); !strings.HasPrefix(resp, "HTTP/1.1 200 ") {
		t.Errorf("the first one goes on: %q", resp)
	}
	f.web.saw(t, okSaw)
	for _, fd := range all {
		_ = unix.Shutdown(fd, unix.SHUT_RDWR)
	}
	f.waitServed(t)
}

// half sends the rest of a head and reads the beginning of the answer.
func half(t *testing.T, fd int) string {
	t.Helper()
	if err := unix.Send(fd, []byte("\r\n"), unix.MSG_NOSIGNAL); err != nil {
		t.Fatal(err)
	}
	wait := unix.NsecToTimeval(int64(deadline))
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait)
	buf := make([]byte, 64)
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}

// esc/PX-25: ten thousand tunnels, a hundred at once, leave no memory behind.
func TestManyTunnels(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 500
	}
	const bound = 64 << 20
	f := newFront(t, Config{}, nil, allow.Rule{Name: "echo.test", Port: 7})
	echo := newOrigin(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	f.lead("echo.test", publicB, 7, echo.Addr().String())
	counts := map[bool]int{}
	var mu sync.Mutex
	f.config.Record = func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		counts[e.Closed]++
	}
	debug.FreeOSMemory()
	before := taken()
	jobs := make(chan struct{})
	var work sync.WaitGroup
	for range 100 {
		work.Go(func() {
			for range jobs {
				if got := echoThrough(f.addr); got != "HTTP/1.1 200 Connection established\r\n\r\nhello" {
					t.Errorf("%q", got)
				}
			}
		})
	}
	for range n {
		jobs <- struct{}{}
	}
	close(jobs)
	work.Wait()
	_ = f.Close()
	debug.FreeOSMemory()
	grown := taken() - before
	t.Logf("memory %+d KiB", grown>>10)
	if grown > bound {
		t.Errorf("memory grew by %d bytes, at most %d", grown, bound)
	}
	if counts[false] != n || counts[true] != n {
		t.Errorf("%d decisions and %d ends, want %d", counts[false], counts[true], n)
	}
}

func echoThrough(addr string) string {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(deadline))
	back, err := ask(c.(*net.TCPConn), tunnelTo("echo.test:7")+"hello")
	if err != nil {
		return back + err.Error()
	}
	return back
}
