package proxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"brainbox/proxy/allow"
)

// socksFor is a request with the type for names.
func socksFor(name string, port uint16) string {
	b := append([]byte{socksVersion, socksConnect, 0, socksName, byte(len(name))}, name...)
	return string(binary.BigEndian.AppendUint16(b, port))
}

// socksAnswer is what a whole talk gives: the method, and the reply's code and its rest.
func (f *front) socksAnswer(t *testing.T, request string) (code int, rest string) {
	t.Helper()
	got := f.talk(t, "\x05\x01\x00"+request)
	if len(got) < 12 || got[:3] != "\x05\x00\x05" || got[4:12] != "\x00\x01\x00\x00\x00\x00\x00\x00" {
		t.Errorf("%q is answered with %q", request, got)
		return -1, ""
	}
	return int(got[3]), got[12:]
}

// socksWorks is the positive control, with the request of the tunnel in the same packet.
func (f *front) socksWorks(t *testing.T) {
	t.Helper()
	code, rest := f.socksAnswer(t, socksFor("ok.test", 80)+"GET /socks HTTP/1.0\r\n\r\n")
	if code != 0 || !strings.HasSuffix(rest, "hello") {
		t.Errorf("what is listed: %d %q", code, rest)
	}
}

// esc/PX-03, esc/PX-06, esc/PX-07, esc/PX-08, esc/PX-22, esc/PX-24.
func TestSocksRefused(t *testing.T) {
	f := newFront(t, Config{}, nil, allow.Rule{Name: "nowhere.test"}, allow.Rule{Name: "closed.test"}, allow.Rule{Name: "inside.test"})
	f.lead("inside.test", netip.MustParseAddr("10.0.0.1"), 0, "")
	self := netip.MustParseAddrPort(f.addr)
	for _, c := range []struct {
		name, request string
		code          int
	}{
		{"a name that is not listed", socksFor("denied.test", 80), 2},
		{"a port that is not listed", socksFor("ok.test", 22), 2},
		{"esc/PX-03 an address", "\x05\x01\x00\x01\x5d\xb8\xd7\x0e\x00\x50", 2},
		{"esc/PX-03 an address as a name", socksFor(publicA.String(), 80), 2},
		{"esc/PX-05 a mapped address", "\x05\x01\x00\x04" + strings.Repeat("\x00", 10) + "\xff\xff\x7f\x00\x00\x01\x00\x50", 2},
		{"esc/PX-06 an empty label", socksFor("ok..test", 80), 1},
		{"esc/PX-07 a suffix", socksFor("ok.test.evil", 80), 2},
		{"esc/PX-07 a user", socksFor("ok.test@evil", 80), 1},
		{"esc/PX-08 NUL", socksFor("evil\x00.ok.test", 80), 1},
		{"esc/PX-08 NUL behind a listed name", socksFor("ok.test\x00.evil", 80), 1},
		{"esc/PX-08 bad UTF-8", socksFor("ok\xff.test", 80), 1},
		{"esc/PX-08 length 0", socksFor("", 80), 1},
		{"esc/PX-08 length 255", socksFor(strings.Repeat("a.", 124)+"ok.test", 80), 1},
		{"esc/PX-08 a line break", socksFor("ok.test\r\n", 80), 1},
		{"esc/PX-16 a name that leads inside", socksFor("inside.test", 80), 2},
		{"esc/PX-22 the proxy itself", socksFor("127.0.0.1", self.Port()), 2},
		{"esc/PX-24 BIND", "\x05\x02" + socksFor("ok.test", 80)[2:], 7},
		{"esc/PX-24 UDP ASSOCIATE", "\x05\x03" + socksFor("ok.test", 80)[2:], 7},
		{"an unknown type of address", "\x05\x01\x00\x09\x00\x50", 8},
		{"port 0", socksFor("ok.test", 0), 1},
		{"a name that does not resolve", socksFor("nowhere.test", 80), 4},
	} {
		if code, rest := f.socksAnswer(t, c.request); code != c.code || rest != "" {
			t.Errorf("%s: reply %d %q, want %d", c.name, code, rest, c.code)
		}
	}
	asked, dialled, events := f.settled(t)
	if !slices.Equal(asked, []string{"inside.test", "nowhere.test"}) || len(dialled) > 0 {
		t.Errorf("%q was asked for, %v dialled", asked, dialled)
	}
	one(t, events)
	f.web.saw(t)
	f.socksWorks(t)
	f.web.saw(t, "GET  /socks")
}

func TestSocksOriginIsClosed(t *testing.T) {
	f := newFront(t, Config{}, nil, allow.Rule{Name: "closed.test"})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	f.lead("closed.test", publicB, 80, l.Addr().String())
	if code, _ := f.socksAnswer(t, socksFor("closed.test", 80)); code != 5 {
		t.Errorf("reply %d, want 5", code)
	}
	f.socksWorks(t)
}

// esc/PX-24: SOCKS4 and a client that wants a password get no further.
func TestSocksGreetings(t *testing.T) {
	f := newFront(t, Config{Limits: Limits{Head: time.Hour}}, nil)
	for text, want := range map[string]string{
		"\x04\x01\x00\x50\x5d\xb8\xd7\x0euser\x00":        "",
		"\x04\x01\x00\x50\x00\x00\x00\x01\x00ok.test\x00": "",
		"\x05\x01\x02": "\x05\xff",
		"\x05\x00":     "\x05\xff",
		"\x05\x01\x00": "\x05\x00",
	} {
		c := f.connect(t)
		_, _ = io.WriteString(c, text)
		if text[0] == socksVersion { // the end of SOCKS4 comes without
			_ = c.CloseWrite()
		}
		got, err := io.ReadAll(c)
		if string(got) != want || errors.Is(err, os.ErrDeadlineExceeded) { // SOCKS4 may see a reset
			t.Errorf("%q is answered with %q, %v; want %q", text, got, err, want)
		}
	}
	_, dialled, events := f.settled(t)
	one(t, events)
	if len(dialled) > 0 || len(events) != 4 || slices.ContainsFunc(events, func(e Event) bool {
		return e.Reason != allow.Malformed || e.Path != allow.Socks
	}) {
		t.Errorf("dialled %v, events %+v, want four that are malformed", dialled, events)
	}
	f.socksWorks(t)
}
