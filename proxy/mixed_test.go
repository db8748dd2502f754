package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"brainbox/proxy/allow"
)

// growing tries with a limit that a fast machine keeps to, and then with longer ones: what is
// right for a slow machine at one of them is right.
func growing(t *testing.T, try func(limit time.Duration) error) {
	t.Helper()
	var err error
	for limit := 50 * time.Millisecond; limit < deadline; limit *= 5 {
		if err = try(limit); err == nil {
			return
		}
	}
	t.Error(err)
}

// esc/PX-25: a head that does not end is answered in time; one that does not even begin, and
// a second one that does not come, end the connection.
func TestSlowHeads(t *testing.T) {
	growing(t, func(limit time.Duration) error {
		f := newFront(t, Config{Limits: Limits{Head: limit, Idle: limit}}, nil)
		for _, c := range []struct {
			text   string
			status int
		}{
			{"", 0},
			{"G", 408},
			{"GET http://ok.test/ HT", 408},
			{get, 408},
			{get + "X: a", 408},
			{"\x05", 0},
			{"\x05\x01\x00\x05\x01", 0},
			{get + "\r\n", 200},
		} {
			if got := f.talk(t, c.text); statusOf(got) != c.status {
				return fmt.Errorf("%q: %q, want %d", c.text, got, c.status)
			}
		}
		f.web.saw(t, okSaw)
		return nil
	})
}

// esc/PX-25: one byte after the other does not put the end off.
func TestDrippingHead(t *testing.T) {
	growing(t, func(limit time.Duration) error {
		f := newFront(t, Config{Limits: Limits{Head: limit}}, nil)
		c := f.connect(t)
		_, _ = io.WriteString(c, get)
		ended := make(chan struct{})
		var dripping sync.WaitGroup
		dripping.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(limit / 10):
					_, _ = io.WriteString(c, "X: a\r\n")
				}
			}
		})
		back, _ := io.ReadAll(c)
		close(ended)
		dripping.Wait()
		if statusOf(string(back)) != 408 {
			return fmt.Errorf("%q, want 408", back)
		}
		f.web.saw(t)
		if got := f.talk(t, plain("ok.test")); statusOf(got) != 200 {
			return fmt.Errorf("what is listed: %q", got)
		}
		return nil
	})
}

// esc/PX-25: a slow body is nobody's limit.
func TestSlowBody(t *testing.T) {
	growing(t, func(limit time.Duration) error {
		begun := make(chan struct{})
		f := newFront(t, Config{Limits: Limits{Head: limit, Idle: limit}}, func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			_, _ = io.Copy(w, r.Body)
		})
		c := f.connect(t)
		_, _ = io.WriteString(c, "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 5\r\n\r\nhe")
		select {
		case <-begun:
		case <-time.After(2 * limit):
			return errors.New("the head was too slow")
		}
		time.Sleep(2 * limit) // both limits have passed when it goes on
		_, _ = io.WriteString(c, "llo")
		back := bufio.NewReader(c)
		first, err := back.Peek(len("HTTP/1.1 200"))
		if err != nil {
			return err
		}
		if statusOf(string(first)+" ") != 200 {
			return fmt.Errorf("%q", first)
		}
		if _, body := readAnswer(t, back, "POST"); body != "hello" {
			return fmt.Errorf("%q", body)
		}
		return nil
	})
}

// TestBusy: more tunnels than the limit on passages.
func TestBusy(t *testing.T) {
	f := newFront(t, Config{Limits: Limits{Connections: 1}}, nil)
	c := f.connect(t)
	_, _ = io.WriteString(c, tunnelTo("ok.test:80"))
	const yes = "HTTP/1.1 200 Connection established\r\n\r\n"
	got := make([]byte, len(yes))
	if _, err := io.ReadFull(c, got); string(got) != yes {
		t.Fatalf("%q, %v", got, err)
	}
	// Through other listeners, so that it is the passage and not the client that is too many.
	direct := f.addr
	f.addr = serve(t, f.Server)
	if got := f.talk(t, plain("ok.test")); statusOf(got) != 503 || !strings.Contains(got, "brainbox: ok.test:80: too many") {
		t.Errorf("%q", got)
	}
	f.addr = serve(t, f.Server)
	if code, _ := f.socksAnswer(t, socksFor("ok.test", 80)); code != socksFailed {
		t.Errorf("reply %d, want 1", code)
	}
	f.addr = direct
	_ = c.Close()
	f.settled(t)
	f.waitServed(t)
}

// TestCloseOfFront: whatever a client is in the middle of, Close ends it, and leaves nothing.
func TestCloseOfFront(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("open", func(t *testing.T) {
		begun := make(chan struct{}, 2)
		f := newFront(t, Config{}, func(_ http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			if _, err := io.Copy(io.Discard, r.Body); err == nil { // a server sees the end in the body, or behind it
				<-r.Context().Done()
			}
		}, allow.Rule{Name: "slow.test"})
		resolving := make(chan struct{})
		f.config.Resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			if name == "slow.test" {
				close(resolving)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return []netip.Addr{publicA}, nil
		}
		texts := []string{
			"", "G", get, "\x05", "\x05\x01\x00", get + "\r\n", plain("slow.test"), tunnelTo("ok.test:80"), tunnelTo("ok.test:443"),
			"POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 5\r\n\r\nhe",
		}
		conns := make([]net.Conn, 0, len(texts))
		for _, text := range texts {
			c := f.connect(t)
			_, _ = io.WriteString(c, text)
			conns = append(conns, c)
		}
		finished(t, resolving)
		for range 2 {
			select {
			case <-begun:
			case <-time.After(deadline):
				t.Fatal("the origin was not asked")
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		_, _, events := f.snapshot()
		one(t, events)
		for i, c := range conns {
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%q is still open", texts[i])
			}
		}
		if c, err := net.Dial("tcp", f.addr); err == nil {
			_ = c.Close()
			t.Error("a closed server accepts")
		}
	})
	late := time.After(deadline)
	for runtime.NumGoroutine() > before {
		select {
		case <-late:
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
		case <-time.After(time.Millisecond):
		}
	}
}

// TestListenerEnds: the end of the listener ends ServeProxy, and a closed server serves none.
func TestListenerEnds(t *testing.T) {
	f := newFront(t, Config{}, nil)
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := listen()
	done := make(chan struct{})
	go func() { defer close(done); f.ServeProxy(l) }()
	_ = l.Close()
	finished(t, done)
	f.works(t)
	_ = f.Close()
	l = listen()
	f.ServeProxy(l)
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v: the listener was left open", err)
	}
}
