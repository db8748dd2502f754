package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"brainbox/proxy/allow"
)

// long are the fields of a head that is nearly as long as a head may be.
var long = strings.Repeat("X: "+strings.Repeat("a", 300)+"\r\n", 190)

// places waits until n places of a limit are taken.
func places(t *testing.T, limit chan struct{}, n int) {
	t.Helper()
	for late := time.Now().Add(deadline); len(limit) != n; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d places are taken, want %d", len(limit), n)
		}
	}
}

// esc/PX-25: of heads over 4 KiB there are few at once, begun or whole; what is small is
// served meanwhile, and a place is free again when its request is over.
func TestLargeHeadsAreLimited(t *testing.T) {
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	f := newFront(t, Config{Limits: Limits{Large: 1, Head: time.Hour}}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			begun <- struct{}{}
			<-goOn
		}
		_, _ = io.WriteString(w, "hello")
	}, allow.Rule{Name: "ok.test", Port: 80})
	tooMany := func() {
		t.Helper()
		got, _ := f.try(t, strings.Replace(plain("ok.test"), "\r\n\r\n", "\r\n"+long+"\r\n", 1)) // a reset may follow
		if statusOf(got) != 503 || !strings.Contains(got, "brainbox: too many large heads at once\n") {
			t.Errorf("one too many: %.300q", got)
		}
		f.works(t)
	}
	c := f.connect(t)
	r := bufio.NewReader(c)
	_, _ = io.WriteString(c, "GET http://ok.test/wait HTTP/1.1\r\nHost: ok.test\r\n"+long)
	places(t, f.large, 1)
	tooMany()
	_, _ = io.WriteString(c, "\r\n")
	finished(t, begun)
	tooMany()
	close(goOn)
	if resp, body := readAnswer(t, r, "GET"); resp.StatusCode != 200 || body != "hello" {
		t.Fatalf("the first one: %v", resp)
	}
	places(t, f.large, 0) // while that connection waits for another request
	if got := f.talk(t, tunnelTo("ok.test:80")[:len(tunnelTo("ok.test:80"))-2]+long+"\r\n"+get+"Connection: close\r\n\r\n"); !strings.HasSuffix(got, "hello") {
		t.Errorf("a tunnel behind a large head: %.300q", got)
	}
	places(t, f.large, 0)
	c = f.connect(t)
	_, _ = io.WriteString(c, get+long)
	places(t, f.large, 1)
	_ = c.Close()
	places(t, f.large, 0)
}

// esc/PX-25: nor are there many long ClientHellos at once.
func TestLargeHellosAreLimited(t *testing.T) {
	small := clientHello(t, "ok.test")
	large := clientHello(t, "ok.test", slices.Repeat([]string{strings.Repeat("p", 200)}, 30)...)
	o := newOrigin(t, nil)
	w, s := secure(t, o, Config{Limits: Limits{Large: 1}})
	s.large <- struct{}{}
	try := func(hello []byte) string {
		program, done := carried(t, s, query("ok.test", httpsPort))
		back, _ := ask(program, string(hello))
		finished(t, done)
		return back
	}
	if back := try(large); back != "" {
		t.Errorf("%d bytes came back", len(back))
	}
	if e := w.wait(t, 1)[0]; e.Reason != allow.Busy {
		t.Error(describe(e))
	}
	if back := try(small); back != string(small) {
		t.Errorf("a small one: %d bytes came back, want %d", len(back), len(small))
	}
	<-s.large
	if back := try(large); back != string(large) {
		t.Errorf("a large one: %d bytes came back, want %d", len(back), len(large))
	}
	if len(s.large) != 0 {
		t.Error("the place is not given back")
	}
	one(t, w.wait(t, 5))
}

// esc/PX-25: of requests that are passed on in HTTP there are few at once, of tunnels many.
func TestRequestsAreLimited(t *testing.T) {
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	f := newFront(t, Config{Limits: Limits{Requests: 1}}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			begun <- struct{}{}
			<-goOn
		}
		_, _ = io.WriteString(w, "hello")
	})
	c := f.connect(t)
	_, _ = io.WriteString(c, "GET http://ok.test/wait HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n")
	finished(t, begun)
	if got := f.talk(t, plain("ok.test")); statusOf(got) != 503 || !strings.Contains(got, "brainbox: ok.test:80: too many") {
		t.Errorf("one too many: %q", got)
	}
	if got := f.talk(t, tunnelTo("ok.test:80")+get+"Connection: close\r\n\r\n"); !strings.HasSuffix(got, "hello") {
		t.Errorf("a tunnel: %q", got)
	}
	close(goOn)
	if got, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(got), "hello") {
		t.Errorf("the first one: %q, %v", got, err)
	}
	f.waitServed(t)
	_, _, events := f.settled(t)
	one(t, events)
}

// esc/PX-25: of a head nothing is kept while its tunnel lasts, or while its connection waits
// for another request.
func TestNothingKeepsAHead(t *testing.T) {
	const n, each = 100, 24 << 10 // the origin is in this process too
	for name, text := range map[string]string{
		"a tunnel":  "CONNECT ok.test:80 HTTP/1.1\r\nHost: ok.test\r\n" + long + "\r\n",
		"a request": get + long + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t, Config{}, nil)
			runtime.GC()
			before := heapNow()
			conns := make([]net.Conn, n)
			for i := range conns {
				conns[i] = f.connect(t)
				_, _ = io.WriteString(conns[i], text)
				got := make([]byte, len("HTTP/1.1 200"))
				if _, err := io.ReadFull(conns[i], got); string(got) != "HTTP/1.1 200" {
					t.Fatalf("%q, %v", got, err)
				}
			}
			kept := uint64(0)
			for late := time.Now().Add(deadline); ; time.Sleep(10 * time.Millisecond) { // the last one may be on its way
				runtime.GC()
				if kept = max(heapNow(), before) - before; kept < n*each || time.Now().After(late) {
					break
				}
			}
			t.Logf("%d bytes each", kept/n)
			if kept >= n*each {
				t.Errorf("%d bytes are kept of each head of %d", kept/n, len(text))
			}
			for _, c := range conns {
				_ = c.Close()
			}
		})
	}
}
