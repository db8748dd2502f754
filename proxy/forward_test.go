package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"brainbox/proxy/allow"
)

// rawFront has an origin that answers every connection with the same bytes, once it has the
// head of a request, and ends it.
func rawFront(t testing.TB, answer string) *front {
	t.Helper()
	f := newFront(t, Config{}, nil, allow.Rule{Name: "raw.test"})
	raw := newOrigin(t, func(c *net.TCPConn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		_, _ = io.WriteString(c, answer)
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	})
	f.lead("raw.test", publicB, 80, raw.Addr().String())
	return f
}

// TestFields: what is between two ends of one connection is not passed on, in either
// direction, and nothing tells of the way.
func TestFields(t *testing.T) {
	var got http.Header
	f := newFront(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.Header()["Proxy-Authenticate"] = []string{"Basic"}
		w.Header()["Keep-Alive"] = []string{"timeout=5"}
		w.Header()["X-Kept"] = []string{"a", "b"}
		_, _ = io.WriteString(w, "hello")
	})
	answer := f.talk(t, get+"X-Kept: a\r\nX-Kept: b\r\nX-Hop: 1\r\nConnection: close, x-hop\r\nKeep-Alive: 5\r\nTE: trailers\r\n"+
		"Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nCookie: c\r\nAuthorization: Bearer t\r\n\r\n")
	want := "Authorization: Bearer t\r\nConnection: close\r\nCookie: c\r\nTe: trailers\r\nX-Kept: a\r\nX-Kept: b\r\n"
	var b strings.Builder
	_ = got.Write(&b)
	if b.String() != want {
		t.Errorf("the origin got %q, want %q", b.String(), want)
	}
	for _, name := range []string{"Proxy-", "Keep-Alive", "Via", "X-Forwarded"} {
		if strings.Contains(answer, "\r\n"+name) {
			t.Errorf("%s came back: %q", name, answer)
		}
	}
	if !strings.Contains(answer, "\r\nX-Kept: a\r\nX-Kept: b\r\n") || !strings.HasSuffix(answer, "hello") {
		t.Errorf("%q", answer)
	}
}

// TestAnswers: what an origin says, and what the client gets. want is a status of the
// proxy's own, or the whole answer.
func TestAnswers(t *testing.T) {
	for _, c := range []struct{ name, method, answer, want string }{
		{"esc/PX-12 no HTTP", "GET", "SSH-2.0-OpenSSH\r\n\r\n", "502"},
		{"esc/PX-12 nothing", "GET", "", "502"},
		{"esc/PX-12 half a head", "GET", "HTTP/1.1 200 OK\r\nX: a\r\n", "502"},
		{"esc/PX-12 two lengths", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "502"},
		{"esc/PX-12 a length that is no number", "GET", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", "502"},
		{"esc/PX-12 an unknown coding", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\nhello", "502"},
		{"esc/PX-12 a blank before the colon", "GET", "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello", "502"},
		{"esc/PX-12 a control character", "GET", "HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 5\r\n\r\nhello", "502"},
		{"esc/PX-12 a bare CR", "GET", "HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 5\r\n\r\nhello", "502"},
		{"esc/PX-24 an upgrade nobody asked for", "GET", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "502"},
		{"a status that is none", "GET", "HTTP/1.1 099 Hm\r\nContent-Length: 0\r\n\r\n", "502"},
		{"an endless head", "GET", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", answerHeadLimit+1) + "\r\n\r\n", "502"},

		{
			"fields of one hop", "GET", "HTTP/1.1 200 OK\r\nConnection: x-hop, content-length\r\nX-Hop: 1\r\nProxy-Status: a\r\nUpgrade: h2c\r\n" +
				"Via: 1.1 b\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nVia: 1.1 b\r\n\r\n",
		},
		{"a length", "GET", "HTTP/1.1 200 Fine\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
		{"until the end", "GET", "HTTP/1.0 200 OK\r\n\r\nhello", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
		{"length and coding", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
		{
			"trailers", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
		},
		{"HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
		{"HEAD of a chunked one", "HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"},
		{"204", "GET", "HTTP/1.1 204 No\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"},
		{"304 with the length of what it is not", "GET", "HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"},
		{
			"early hints", "GET", "HTTP/1.1 103 E\r\nLink: a\r\nKeep-Alive: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
			"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		},
		{"a 100 that nobody asked for", "GET", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"an answer that is cut off", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", "cut"},
		{"chunks that are cut off", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "cut"},
		{"chunks that are none", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n", "cut"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := rawFront(t, c.answer)
			conn := f.connect(t)
			ask := c.method + " http://raw.test/ HTTP/1.1\r\nHost: raw.test\r\n\r\n"
			switch c.want {
			case "502", "cut":
				_, _ = io.WriteString(conn, ask)
				got, err := io.ReadAll(conn)
				if c.want == "502" && (statusOf(string(got)) != 502 || err != nil) {
					t.Errorf("%q, %v; want 502", got, err)
				}
				if c.want == "cut" && err == nil {
					t.Errorf("%q, and it ends as if it were whole", got)
				}
			default:
				want := c.want + "HTTP/1.1 200 OK\r\n" // of the next request: the connection goes on
				_, _ = io.WriteString(conn, ask+plain("ok.test"))
				got := make([]byte, len(want))
				if n, err := io.ReadFull(conn, got); string(got) != want {
					t.Errorf("%q, %v; want %q", got[:n], err, want)
				}
			}
			one(t, func() []Event { _, _, e := f.settled(t); return e }())
		})
	}
}

// TestOldClient: HTTP/1.0 gets no chunks, no interim answers and no second request.
func TestOldClient(t *testing.T) {
	f := rawFront(t, "HTTP/1.1 103 E\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
	got := f.talk(t, "GET http://raw.test/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"+plain("ok.test"))
	if got != "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello" {
		t.Errorf("%q", got)
	}
	f.web.saw(t)
	f = rawFront(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
	got = f.talk(t, "GET http://raw.test/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"+plain("ok.test"))
	if got != "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello" {
		t.Errorf("%q", got)
	}
	f.web.saw(t)
}

// TestBodies: bodies and trailers of requests arrive as they are, and what is no body is 400.
func TestBodies(t *testing.T) {
	f := newFront(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %v %d %v %v", body, err, r.ContentLength, r.TransferEncoding, r.Trailer)
	})
	const post = "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n"
	for text, want := range map[string]string{
		"Content-Length: 5\r\n\r\nhello": "hello <nil> 5 [] map[]",
		"Content-Length: 0\r\n\r\n":      " <nil> 0 [] map[]",
		"Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n": "hello <nil> -1 [chunked] map[X-Sum:[1]]",
	} {
		if got := f.talk(t, post+text); statusOf(got) != 200 || !strings.HasSuffix(got, "\r\n\r\n"+want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"5\r\nhelloX\r\n0\r\n\r\n", "x\r\n", "5\nhello\n0\n\n", "-1\r\n\r\n", "ffffffffffffffffff\r\n"} {
		if got := f.talk(t, post+"Transfer-Encoding: chunked\r\n\r\n"+text); statusOf(got) != 400 {
			t.Errorf("esc/PX-12 %q: %q, want 400", text, got)
		}
	}
}

// TestExpect: the client sends its body when the origin wants it, and does not when not.
func TestExpect(t *testing.T) {
	f := newFront(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	const post = "POST http://ok.test%s HTTP/1.1\r\nHost: ok.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
	c := f.connect(t)
	r := bufio.NewReader(c)
	fmt.Fprintf(c, post, "/yes")
	if resp, _ := readAnswer(t, r, "POST"); resp.StatusCode != 100 {
		t.Fatalf("%v, want 100", resp)
	}
	_, _ = io.WriteString(c, "hello")
	if resp, body := readAnswer(t, r, "POST"); resp.StatusCode != 200 || body != "hello" || resp.Close {
		t.Errorf("%v %q", resp, body)
	}
	fmt.Fprintf(c, post, "/no")
	if resp, _ := readAnswer(t, r, "POST"); resp.StatusCode != 403 || !resp.Close {
		t.Errorf("%v, want 403 and the end", resp)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("%v after an answer without the body", err)
	}
}

// TestH2C: HTTP/2 in the clear is an offer that the origin never sees (RFC 9110, section 7.8).
func TestH2C(t *testing.T) {
	got := make(chan http.Header, 1)
	f := newFront(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Clone()
		_, _ = io.WriteString(w, "hello")
	})
	for _, protocol := range []string{"h2c", "H2C , h2c"} {
		answer := f.talk(t, get+"Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: "+protocol+"\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")
		if statusOf(answer) != 200 || !strings.HasSuffix(answer, "hello") {
			t.Fatalf("%s: %q", protocol, answer)
		}
		if h := <-got; h.Get("Upgrade") != "" || h.Get("Http2-Settings") != "" || h.Get("Connection") != "close" {
			t.Errorf("%s: the origin got %v", protocol, h)
		}
	}
}
