package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// get is a request that is in order; the cases below spoil it.
const get = "GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n"

var heads = []struct {
	name, raw string
	status    int // 0: accepted
}{
	{"esc/PX-07 a user before the host", "GET http://ok.test@evil/ HTTP/1.1\r\nHost: evil\r\n\r\n", 400},
	{"esc/PX-07 a fragment", "GET http://evil#.ok.test/ HTTP/1.1\r\nHost: evil\r\n\r\n", 400},
	{"esc/PX-07 a path in CONNECT", "CONNECT evil/ok.test:443 HTTP/1.1\r\nHost: evil\r\n\r\n", 400},
	{"esc/PX-07 a user in CONNECT", "CONNECT ok.test@evil:443 HTTP/1.1\r\nHost: evil\r\n\r\n", 400},
	{"esc/PX-07 a backslash", "GET http://evil\\.ok.test/ HTTP/1.1\r\nHost: evil\\.ok.test\r\n\r\n", 400},
	{"a query in CONNECT", "CONNECT ok.test:443?x HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"CONNECT without a port", "CONNECT ok.test HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"CONNECT with port 0", "CONNECT ok.test:0 HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"CONNECT with a port too large", "CONNECT ok.test:65536 HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"CONNECT with a signed port", "CONNECT ok.test:+443 HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"CONNECT with two ports", "CONNECT ok.test:443:80 HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"CONNECT with a URL", "CONNECT http://ok.test:443 HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"CONNECT with a length", "CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 1\r\n\r\n", 400},
	{"CONNECT with a coding", "CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
	{"no host at all", "GET http:/// HTTP/1.1\r\nHost: \r\n\r\n", 400},
	{"an escape in the host", "GET http://o%6b.test/ HTTP/1.1\r\nHost: o%6b.test\r\n\r\n", 400},
	{"an empty port", "GET http://ok.test:/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},

	{"esc/PX-10 another Host", "GET http://ok.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", 400},
	{"esc/PX-10 another port in Host", "GET http://ok.test/ HTTP/1.1\r\nHost: ok.test:8080\r\n\r\n", 400},
	{"esc/PX-10 Host without the port of the target", "GET http://ok.test:8080/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"esc/PX-10 two Host fields", get + "Host: evil.test\r\n\r\n", 400},
	{"esc/PX-10 two equal Host fields", get + "host: ok.test\r\n\r\n", 400},
	{"esc/PX-10 no Host", "GET http://ok.test/ HTTP/1.1\r\n\r\n", 400},
	{"esc/PX-10 an empty Host", "GET http://ok.test/ HTTP/1.1\r\nHost:\r\n\r\n", 400},
	{"esc/PX-10 another Host with CONNECT", "CONNECT ok.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", 400},
	{"esc/PX-10 another port with CONNECT", "CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test:80\r\n\r\n", 400},

	{"esc/PX-12 length and coding", get + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
	{"esc/PX-12 two lengths", get + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400},
	{"esc/PX-12 two equal lengths", get + "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", 400},
	{"esc/PX-12 a list of lengths", get + "Content-Length: 3, 3\r\n\r\n", 400},
	{"esc/PX-12 a signed length", get + "Content-Length: +3\r\n\r\n", 400},
	{"esc/PX-12 a length in hex", get + "Content-Length: 0x3\r\n\r\n", 400},
	{"esc/PX-12 an endless length", get + "Content-Length: 99999999999999999999\r\n\r\n", 400},
	{"esc/PX-12 an empty length", get + "Content-Length:\r\n\r\n", 400},
	{"esc/PX-12 an unknown coding", get + "Transfer-Encoding: xchunked\r\n\r\n", 400},
	{"esc/PX-12 chunked is not last", get + "Transfer-Encoding: chunked, gzip\r\n\r\n", 400},
	{"esc/PX-12 two codings", get + "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
	{"esc/PX-12 two coding fields", get + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
	{"esc/PX-12 an empty coding", get + "Transfer-Encoding:\r\n\r\n", 400},
	{"esc/PX-12 a coding behind a vertical tab", get + "Transfer-Encoding: \vchunked\r\n\r\n", 400},
	{"esc/PX-12 a coding in HTTP/1.0", "POST http://ok.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
	{"esc/PX-12 a folded field", get + "X: a\r\n b\r\n\r\n", 400},
	{"esc/PX-12 a blank before the first field", "GET http://ok.test/ HTTP/1.1\r\n Host: ok.test\r\n\r\n", 400},
	{"esc/PX-12 a bare LF after the request line", "GET http://ok.test/ HTTP/1.1\nHost: ok.test\r\n\r\n", 400},
	{"esc/PX-12 a bare LF after a field", get + "X: a\nY: b\r\n\r\n", 400},
	{"esc/PX-12 a bare LF as the empty line", get + "\n", 400},
	{"esc/PX-12 a bare CR in a field", get + "X: a\rY: b\r\n\r\n", 400},
	{"esc/PX-12 two CR", get + "X: a\r\r\n\r\n", 400},
	{"esc/PX-12 NUL in a field", get + "X: a\x00b\r\n\r\n", 400},
	{"esc/PX-12 NUL in the target", "GET http://ok.test/\x00 HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"esc/PX-12 NUL in a name", get + "X\x00: a\r\n\r\n", 400},
	{"esc/PX-12 a blank before the colon", get + "Content-Length : 3\r\n\r\n", 400},
	{"esc/PX-12 a field without a colon", get + "Content-Length\r\n\r\n", 400},
	{"esc/PX-12 a field without a name", get + ": 3\r\n\r\n", 400},
	{"esc/PX-12 HTTP/0.9", "GET http://ok.test/\r\n", 400},
	{"esc/PX-12 an empty line in front", "\r\n" + get + "\r\n", 400},
	{"esc/PX-12 two blanks in the request line", "GET  http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"esc/PX-12 a blank behind the version", "GET http://ok.test/ HTTP/1.1 \r\nHost: ok.test\r\n\r\n", 400},
	{"esc/PX-12 a tab in the request line", "GET\thttp://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"esc/PX-12 another spelling of the version", "GET http://ok.test/ http/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"esc/PX-12 HTTP/1.2", "GET http://ok.test/ HTTP/1.2\r\nHost: ok.test\r\n\r\n", 505},
	{"esc/PX-12 the length as a trailer", get + "Transfer-Encoding: chunked\r\nTrailer: X, Content-Length\r\n\r\n", 400},

	{"esc/PX-24 the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
	{"esc/PX-24 Upgrade", get + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 501},
	{"esc/PX-24 Upgrade to one of two", get + "Connection: Upgrade\r\nUpgrade: h2c, websocket\r\n\r\n", 501},
	{"esc/PX-24 Upgrade to one of two, in two fields", get + "Connection: Upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket\r\n\r\n", 501},
	{"esc/PX-24 Upgrade to another version", get + "Connection: Upgrade\r\nUpgrade: h2c/2\r\n\r\n", 501},
	{"esc/PX-24 Upgrade to nothing", get + "Connection: Upgrade\r\nUpgrade:\r\n\r\n", 501},
	{"esc/PX-24 an ftp URL", "GET ftp://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 501},
	{"esc/PX-24 an https URL", "GET https://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 501},
	{"esc/PX-24 a path", "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"esc/PX-24 a path to a name", "POST //ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"esc/PX-24 an asterisk", "OPTIONS * HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"esc/PX-24 an authority without CONNECT", "GET ok.test:80 HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400},
	{"esc/PX-24 connect in lower case", "connect ok.test:443 HTTP/1.1\r\nHost: ok.test:443\r\n\r\n", 400},
	{"another expectation", get + "Expect: miracles\r\n\r\n", 417},

	{"esc/PX-25 a long head", get + "X: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", 431},
	{"esc/PX-25 a long target", "GET http://ok.test/" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: ok.test\r\n\r\n", 431},
	{"esc/PX-25 many fields", get + strings.Repeat("X: a\r\n", maxFields) + "\r\n", 431},

	{"GET", get + "\r\n", 0},
	{"a scheme in upper case", "GET HTTP://OK.test/ HTTP/1.1\r\nHost: ok.TEST\r\n\r\n", 0},
	{"Host with the port that is meant anyway", "GET http://ok.test/?q=http://evil/ HTTP/1.1\r\nHost: ok.test:80\r\n\r\n", 0},
	{"another port", "GET http://ok.test:8080/ HTTP/1.1\r\nHost: ok.test:8080\r\n\r\n", 0},
	{"no path", "GET http://ok.test?x HTTP/1.1\r\nHost: ok.test\r\n\r\n", 0},
	{"HTTP/1.0 without Host", "GET http://ok.test/ HTTP/1.0\r\n\r\n", 0},
	{"a length", get + "Content-Length: 3\r\n\r\n", 0},
	{"chunked", get + "Transfer-Encoding: Chunked\r\nTrailer: X-Sum\r\n\r\n", 0},
	{"an expectation", get + "Expect: 100-Continue\r\nContent-Length: 3\r\n\r\n", 0},
	{"a field in Latin 1 and an empty one", get + "X: \xe4\r\nY:\r\nZ: \ta b\t\r\n\r\n", 0},
	{"CONNECT", "CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test:443\r\n\r\n", 0},
	{"CONNECT with Host without a port", "CONNECT ok.test:8443 HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 0\r\n\r\n", 0},
	{"CONNECT in HTTP/1.0", "CONNECT ok.test:443 HTTP/1.0\r\n\r\n", 0},
	{"CONNECT to an IPv6 address", "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n", 0},
	{"CONNECT to an address with a zone", "CONNECT [fe80::1%25lo]:443 HTTP/1.1\r\nHost: [fe80::1%25lo]:443\r\n\r\n", 0},
	{"a name that is not ASCII", "CONNECT ok\uff0etest:443 HTTP/1.1\r\nHost: ok\uff0etest:443\r\n\r\n", 0},
}

// readAll is what a connection does with the bytes of one head.
func readAll(raw string) (*head, error) {
	got, err := readHeadLines(bufio.NewReaderSize(strings.NewReader(raw), 64), 64<<10, func() error { return nil })
	if err != nil {
		return nil, err
	}
	return parseHead(got)
}

// esc/PX-07, esc/PX-10, esc/PX-12, esc/PX-24, esc/PX-25.
func TestHead(t *testing.T) {
	for _, c := range heads {
		t.Run(c.name, func(t *testing.T) {
			h, err := readAll(c.raw)
			var status int
			if b := (*badHead)(nil); errors.As(err, &b) {
				status = b.status
			} else if err != nil {
				t.Fatalf("error %v, want a badHead", err)
			}
			if status != c.status {
				t.Errorf("status %d (%v), want %d", status, err, c.status)
			}
			if err == nil {
				compare(t, []byte(c.raw), h)
			}
		})
	}
}

func TestHeadOfTarget(t *testing.T) {
	for _, c := range []struct {
		raw, host string
		port      uint16
	}{
		{"GET http://OK.test./ HTTP/1.0\r\n\r\n", "OK.test.", 80},
		{"GET http://ok.test:8080?x HTTP/1.0\r\n\r\n", "ok.test", 8080},
		{"CONNECT ok..test:443 HTTP/1.0\r\n\r\n", "ok..test", 443},
		{"CONNECT [::ffff:127.0.0.1]:443 HTTP/1.0\r\n\r\n", "[::ffff:127.0.0.1]", 443},
	} {
		h, err := readAll(c.raw)
		if err != nil {
			t.Errorf("%q: %v", c.raw, err)
		} else if h.host != c.host || h.port != c.port {
			t.Errorf("%q: %q and %d, want %q and %d", c.raw, h.host, h.port, c.host, c.port)
		}
	}
}

// compare holds a head against the reader that the request goes through afterwards.
func compare(t *testing.T, raw []byte, h *head) {
	t.Helper()
	req, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(raw), strings.NewReader("0\r\n\r\n"))))
	if err != nil {
		t.Fatalf("accepted, and net/http: %v: %q", err, raw)
	}
	length := h.length
	if h.length < 0 && !h.chunked {
		length = 0
	}
	if req.Method != h.method || req.RequestURI != h.target || req.ContentLength != length ||
		len(req.TransferEncoding) > 0 != h.chunked || !req.ProtoAtLeast(1, h.minor) || req.ProtoAtLeast(1, h.minor+1) {
		t.Errorf("%+v, and net/http reads %+v: %q", h, req, raw)
	}
	host, port, ok := splitAuthority(req.Host)
	if port == 0 {
		port = 80
	}
	if !ok || host != unzoned(h.host) || port != h.port {
		t.Errorf("host %q and port %d, and net/http reads %q: %q", h.host, h.port, req.Host, raw)
	}
}

// FuzzHead: what is accepted is read the same by net/http.
func FuzzHead(f *testing.F) {
	for _, c := range heads {
		if len(c.raw) < 4<<10 {
			f.Add([]byte(c.raw))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := readHeadLines(bufio.NewReaderSize(bytes.NewReader(raw), 64), 64<<10, func() error { return nil })
		if err != nil {
			return
		}
		h, err := parseHead(got)
		if b := (*badHead)(nil); err != nil && !errors.As(err, &b) {
			t.Fatalf("error %v is no badHead", err)
		}
		if err == nil {
			compare(t, got, h)
		}
	})
}
