package proxy

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

var socksRequests = []struct {
	name, raw string
	err       error
	host      string
	port      uint16
}{
	{name: "esc/PX-24 BIND", raw: "\x05\x02\x00\x03\x07ok.test\x00\x50", err: socksError(7)},
	{name: "esc/PX-24 UDP ASSOCIATE", raw: "\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", err: socksError(7)},
	{name: "a command of no version", raw: "\x05\x00\x00\x03\x07ok.test\x00\x50", err: socksError(7)},
	{name: "an unknown type of address", raw: "\x05\x01\x00\x02\x07ok.test\x00\x50", err: socksError(8)},
	{name: "another version", raw: "\x04\x01\x00\x03\x07ok.test\x00\x50", err: socksError(1)},
	{name: "a reserved byte", raw: "\x05\x01\x01\x03\x07ok.test\x00\x50", err: socksError(1)},
	{name: "esc/PX-08 a name of length 0", raw: "\x05\x01\x00\x03\x00\x00\x50", err: socksError(1)},
	{name: "port 0", raw: "\x05\x01\x00\x03\x07ok.test\x00\x00", err: socksError(1)},
	{name: "a name that does not end", raw: "\x05\x01\x00\x03\xffok.test\x00\x50", err: io.ErrUnexpectedEOF},
	{name: "nothing", raw: "", err: io.EOF},
	{name: "a name", raw: "\x05\x01\x00\x03\x07ok.test\x01\xbb", host: "ok.test", port: 443},
	{name: "esc/PX-08 a name with NUL is judged whole", raw: "\x05\x01\x00\x03\x06e\x00.abc\x00\x50", host: "e\x00.abc", port: 80},
	{name: "an IPv4 address", raw: "\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", host: "127.0.0.1", port: 80},
	{
		name: "a mapped IPv6 address", raw: "\x05\x01\x00\x04" + strings.Repeat("\x00", 10) + "\xff\xff\x7f\x00\x00\x01\x00\x50",
		host: "::ffff:127.0.0.1", port: 80,
	},
}

// esc/PX-08, esc/PX-24.
func TestSocksRequest(t *testing.T) {
	for _, c := range socksRequests {
		r := strings.NewReader(c.raw + "rest"[:4*min(1, len(c.host))])
		host, port, err := readSocks(r)
		if !errors.Is(err, c.err) || host != c.host || port != c.port {
			t.Errorf("%s: %q, %d, %v; want %q, %d, %v", c.name, host, port, err, c.host, c.port, c.err)
		}
		if rest, _ := io.ReadAll(r); c.err == nil && string(rest) != "rest" {
			t.Errorf("%s: %q is left for the tunnel", c.name, rest)
		}
	}
}

func TestSocksGreeting(t *testing.T) {
	for _, c := range []struct {
		raw string
		err error
	}{
		{"\x00", errSocksMethod},
		{"\x02\x01\x02", errSocksMethod},
		{"\x02\x01", io.ErrUnexpectedEOF},
		{"\x01\x00", nil},
		{"\x03\x02\x01\x00", nil},
	} {
		if err := readGreeting(strings.NewReader(c.raw)); !errors.Is(err, c.err) {
			t.Errorf("%q: %v, want %v", c.raw, err, c.err)
		}
	}
}

// FuzzSocks: a request is read to its end and no further, and has a host and a port.
func FuzzSocks(f *testing.F) {
	for _, c := range socksRequests {
		f.Add([]byte(c.raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := bytes.NewReader(raw)
		host, port, err := readSocks(r)
		if err != nil {
			if host != "" || port != 0 {
				t.Fatalf("%q and %d with %v", host, port, err)
			}
			return
		}
		used := raw[:len(raw)-r.Len()]
		n := map[byte]int{socksIPv4: 4, socksIPv6: 16}[used[3]]
		if used[3] == socksName {
			n = 1 + int(used[4])
		}
		if len(used) != 4+n+2 || host == "" || port == 0 || used[1] != socksConnect {
			t.Fatalf("%q: host %q, port %d", used, host, port)
		}
	})
}
