package proxy

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestNameServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	for text, want := range map[string][]string{
		"": nil,
		"# nameserver 192.0.2.1\n;nameserver 192.0.2.2\nsearch a.example\n":                                        nil,
		"nameserver 192.0.2.1\n\tnameserver  fe80::1%eth0 # it\n":                                                  {"192.0.2.1:53", "[fe80::1%eth0]:53"},
		"nameserver\nnameserver dns.example\nnameserver 192.0.2.1":                                                 {"192.0.2.1:53"},
		"nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 192.0.2.4\noptions rotate\n": {"192.0.2.1:53", "192.0.2.2:53", "192.0.2.3:53"},
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := nameServers(path); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := nameServers(path + "-absent"); got != nil {
		t.Errorf("absent: %q", got)
	}
}

// What package net asks when it can't read resolv.conf is not asked, where that is for want of
// a right; a server that resolv.conf names itself always is.
func TestRememberedNameServers(t *testing.T) {
	type to = map[string]string
	for name, c := range map[string]struct {
		servers   []string
		forbidden bool
		want      to
	}{
		"readable":       {[]string{"192.0.2.1:53"}, false, to{"127.0.0.1:53": "127.0.0.1:53", "[::1]:53": "[::1]:53", "192.0.2.9:53": "192.0.2.9:53"}},
		"none":           {nil, true, to{"127.0.0.1:53": "127.0.0.1:53", "[::1]:53": "[::1]:53"}},
		"one":            {[]string{"192.0.2.1:53"}, true, to{"127.0.0.1:53": "192.0.2.1:53", "[::1]:53": "192.0.2.1:53", "192.0.2.9:53": "192.0.2.9:53"}},
		"two":            {[]string{"192.0.2.1:53", "192.0.2.2:53"}, true, to{"127.0.0.1:53": "192.0.2.1:53", "[::1]:53": "192.0.2.2:53"}},
		"it is this one": {[]string{"127.0.0.1:53"}, true, to{"127.0.0.1:53": "127.0.0.1:53", "[::1]:53": "127.0.0.1:53"}},
	} {
		dialled := ""
		dial := remembering(c.servers, func() bool { return c.forbidden }, func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = address
			return nil, net.ErrClosed
		})
		for address, want := range c.want {
			if _, _ = dial(t.Context(), "udp", address); dialled != want {
				t.Errorf("%s: %s leads to %s, want %s", name, address, dialled, want)
			}
		}
	}
}
