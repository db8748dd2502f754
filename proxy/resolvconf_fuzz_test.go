package proxy

import (
	"net/netip"
	"os"
	"testing"
)

// FuzzNameServers: what is read from a resolv.conf can be dialled as it is, and is not too much.
func FuzzNameServers(f *testing.F) {
	for _, text := range []string{
		"nameserver 192.0.2.1\nnameserver 2001:db8::1 # x\n", "nameserver fe80::1%eth0\n", "options ndots:2\nnameserver\nnameserver x\n",
		"nameserver 1.1.1.1\nnameserver 1.1.1.2\nnameserver 1.1.1.3\nnameserver 1.1.1.4\nnameserver 1.1.1.5\n",
	} {
		f.Add(text)
	}
	path := f.TempDir() + "/resolv.conf"
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		servers := nameServers(path)
		if len(servers) > maxNameServers {
			t.Errorf("%d servers", len(servers))
		}
		for _, s := range servers {
			if a, err := netip.ParseAddrPort(s); err != nil || a.Port() != 53 {
				t.Errorf("%q: %v", s, err)
			}
		}
	})
}
