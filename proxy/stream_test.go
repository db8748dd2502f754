package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"brainbox/internal/needs"
	"brainbox/proxy/allow"
)

// zeros is a body, and looks at the heap at every MiB that is read of it.
type zeros struct {
	left int64
	peak uint64
}

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	if z.left>>20 != (z.left-n)>>20 {
		z.peak = max(z.peak, heapNow())
	}
	z.left -= n
	return int(n), nil
}

func heapNow() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestBodiesStream: what a body is long, memory is not, in either direction and framing.
func TestBodiesStream(t *testing.T) {
	const size, bound = 64 << 20, 16 << 20
	f := newFront(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/length" {
			w.Header().Set("Content-Length", fmt.Sprint(size))
		}
		if r.Method == http.MethodGet {
			_, _ = io.Copy(w, &zeros{left: size})
			return
		}
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	})
	for _, c := range []struct {
		method, path string
		length       int64
	}{
		{"GET", "/", 0}, {"GET", "/length", 0}, {"POST", "/", size}, {"POST", "/", -1},
	} {
		t.Run(fmt.Sprint(c.method, c.path, c.length), func(t *testing.T) {
			conn := f.connect(t)
			runtime.GC()
			before := heapNow()
			body := &zeros{left: size}
			req, _ := http.NewRequest(c.method, "http://ok.test"+c.path, nil)
			if c.length != 0 {
				req.Body, req.ContentLength = io.NopCloser(body), c.length
			}
			sent := make(chan error, 1)
			go func() { sent <- req.WriteProxy(conn) }()
			resp, err := http.ReadResponse(bufio.NewReader(conn), req)
			if err != nil {
				t.Fatal(err)
			}
			// The bytes that arrive are counted through the same measure.
			seen := &zeros{left: 1 << 40}
			n, err := io.Copy(seenWriter{seen}, resp.Body)
			if err != nil || c.length == 0 && n != size {
				t.Errorf("%d bytes and %v", n, err)
			}
			if err := <-sent; err != nil || c.length != 0 && body.left > 0 {
				t.Errorf("%d bytes not sent, %v", body.left, err)
			}
			peak := max(seen.peak, body.peak)
			t.Logf("heap %+d KiB", (int64(peak)-int64(before))>>10)
			if peak > before+bound {
				t.Errorf("the heap grew from %d to %d bytes", before, peak)
			}
		})
	}
}

type seenWriter struct{ z *zeros }

func (w seenWriter) Write(p []byte) (int, error) { return w.z.Read(p) }

// TestAnswerIsNotHeldBack: a client sees what an origin has said before it says more.
func TestAnswerIsNotHeldBack(t *testing.T) {
	more := make(chan struct{})
	f := newFront(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-more
		_, _ = io.WriteString(w, "data: 2\n\n")
	})
	conn := f.connect(t)
	_, _ = io.WriteString(conn, get+"\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 9)
	_, err = io.ReadFull(resp.Body, first)
	close(more)
	if err != nil || string(first) != "data: 1\n\n" {
		t.Fatalf("%q, %v", first, err)
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "data: 2\n\n" {
		t.Errorf("%q, %v", rest, err)
	}
}

// TestRequestIsNotHeldBack: nor does the body of a request wait for its end.
func TestRequestIsNotHeldBack(t *testing.T) {
	got := make(chan string, 1)
	f := newFront(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 5)
		_, _ = io.ReadFull(r.Body, b)
		got <- string(b)
		_, _ = io.Copy(w, r.Body)
	})
	conn := f.connect(t)
	_, _ = io.WriteString(conn, "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
	select {
	case b := <-got:
		if b != "hello" {
			t.Errorf("%q", b)
		}
	case <-time.After(deadline):
		t.Fatal("the body waits for its end")
	}
	_, _ = io.WriteString(conn, "5\r\nworld\r\n0\r\n\r\n")
	if resp, body := readAnswer(t, bufio.NewReader(conn), "POST"); resp.StatusCode != 200 || body != "world" || resp.Close {
		t.Errorf("%v %q", resp, body)
	}
}

// TestEarlyAnswer: an origin need not read all of a body before it answers; the connection
// ends then.
func TestEarlyAnswer(t *testing.T) {
	f := newFront(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	got := f.talk(t, "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 1000000\r\n\r\nabc")
	if statusOf(got) != 413 || !strings.Contains(got, "\r\nConnection: close\r\n") {
		t.Errorf("%q", got)
	}
	one(t, func() []Event { _, _, e := f.settled(t); return e }())
}

// hasty is an origin that answers a head and takes no body: the first write of one fails, and
// only then is the answer to be read.
type hasty struct {
	net.Conn // the end of a pipe that nobody holds the other of
	wrote    bool
	failed   chan struct{}
	answer   io.Reader
}

func (h *hasty) Write(p []byte) (int, error) {
	if !h.wrote {
		h.wrote = true
		return len(p), nil
	}
	close(h.failed)
	return 0, syscall.ECONNRESET
}

func (h *hasty) Read(p []byte) (int, error) {
	<-h.failed
	return h.answer.Read(p)
}

// TestAnswerBeforeReset: an answer is passed on although the origin ended the connection on
// a body that it did not want.
func TestAnswerBeforeReset(t *testing.T) {
	end, _ := net.Pipe()
	h := &hasty{end, false, make(chan struct{}), strings.NewReader("HTTP/1.1 413 Too Much\r\nContent-Length: 5\r\n\r\nhello")}
	f := newFront(t, Config{Dial: func(context.Context, netip.AddrPort) (net.Conn, error) { return h, nil }}, nil)
	// A body that was taken whole would leave the connection open for another request.
	got, _ := f.try(t, "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("a", 100000))
	if statusOf(got) != 413 || !strings.HasSuffix(got, "hello") {
		t.Errorf("%q", got)
	}
	f.settled(t)
}

// TestClientGoes: nobody waits for an origin, or keeps it, for a client that has gone: before
// the answer, in the middle of it, and in the middle of its own request.
func TestClientGoes(t *testing.T) {
	for name, text := range map[string]string{
		"before the answer":        "GET http://ok.test/wait HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"in the answer":            "GET http://ok.test/begin HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"after its body":           "POST http://ok.test/read HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 5\r\n\r\nhello",
		"in the middle of a body":  "POST http://ok.test/wait HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 9\r\n\r\nhello",
		"in the middle of a chunk": "POST http://ok.test/wait HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello",
	} {
		t.Run(name, func(t *testing.T) {
			begun, gone := make(chan struct{}), make(chan struct{})
			f := newFront(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/begin":
					_, _ = io.WriteString(w, "x")
					_ = http.NewResponseController(w).Flush()
				case "/read":
					_, _ = io.Copy(io.Discard, r.Body)
				}
				close(begun)
				if _, err := io.Copy(io.Discard, r.Body); err == nil {
					<-r.Context().Done()
				}
				close(gone)
			})
			c := f.connect(t)
			_, _ = io.WriteString(c, text)
			finished(t, begun)
			if name == "in the answer" {
				if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-gone:
				t.Fatal("the origin was given up while the client was there")
			default:
			}
			_ = c.Close()
			finished(t, gone)
			one(t, func() []Event { _, _, e := f.settled(t); return e }())
		})
	}
}

// TestCounts: the record has the bytes on the way to the origin and back.
func TestCounts(t *testing.T) {
	f := newFront(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.Copy(w, &zeros{left: 1 << 20})
	})
	f.talk(t, "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("a", 100000))
	_, _, events := f.settled(t)
	last := events[len(events)-1]
	if !last.Closed || last.Path != allow.Request || last.Sent < 100_000 || last.Sent > 101_000 || last.Received < 1<<20 || last.Received > 1<<20+64<<10 {
		t.Errorf("%+v", last)
	}
}

// TestCurl: curl(1) reaches what is listed in each of the three ways, and says why not
// otherwise. esc/PX-01, esc/PX-02.
func TestCurl(t *testing.T) {
	curl := needs.Program(t, "curl")
	f := newFront(t, Config{}, nil)
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), curl, append([]string{"-qsS", "--noproxy", "", "--max-time", "20"}, args...)...)
		cmd.Env = []string{}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, way := range [][]string{
		{"-x", "http://" + f.addr},
		{"-p", "-x", "http://" + f.addr},
		{"-x", "socks5h://" + f.addr},
	} {
		if out, err := run(append(way, "http://denied.test/")...); err == nil && !strings.Contains(out, "brainbox: denied.test:80 is not listed") {
			t.Errorf("%v: %q", way, out)
		}
		if out, err := run(append(way, "http://ok.test/")...); err != nil || out != "hello" {
			t.Errorf("%v: %q, %v", way, out, err)
		}
	}
	// A long body makes curl ask with Expect: 100-continue.
	post := []string{"-x", "http://" + f.addr, "--data-binary", "@/proc/self/exe", "http://ok.test/"}
	if out, err := run(post...); err != nil || out != "hello" {
		t.Errorf("POST: %q, %v", out, err)
	}
	if out, err := run("-x", "http://"+f.addr, "--http2", "http://ok.test/"); err != nil || out != "hello" {
		t.Errorf("--http2: %q, %v", out, err)
	}
	f.onlyOK(t)
}
