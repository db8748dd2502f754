package allow

import (
	"net/netip"
	"strings"
	"testing"
)

// TestSpecial: esc/PX-16 and esc/NW-16, the first and the last address of every range, and
// their neighbours where those are public.
func TestSpecial(t *testing.T) {
	for _, c := range []struct{ name, first, last, before, after string }{
		{"this network", "0.0.0.0", "0.255.255.255", "", "1.0.0.0"},
		{"RFC 1918", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
		{"RFC 6598", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"},
		{"RFC 6598", "100.100.100.200", "100.100.100.200", "", ""}, // NW-16: Alibaba's metadata
		{"loopback", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"},
		{"link-local", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"},
		{"cloud metadata", "169.254.169.254", "169.254.169.254", "", ""}, // NW-16
		{"Azure", "168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"},
		{"RFC 1918", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"},
		{"RFC 6890", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"},
		{"TEST-NET-1", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"},
		{"RFC 7535", "192.31.196.0", "192.31.196.255", "192.31.195.255", "192.31.197.0"},
		{"RFC 7450", "192.52.193.0", "192.52.193.255", "192.52.192.255", "192.52.194.0"},
		{"RFC 7526", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"},
		{"RFC 1918", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"},
		{"RFC 7534", "192.175.48.0", "192.175.48.255", "192.175.47.255", "192.175.49.0"},
		{"RFC 2544", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"},
		{"TEST-NET-2", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"},
		{"TEST-NET-3", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"},
		{"multicast", "224.0.0.0", "239.255.255.255", "223.255.255.255", ""},
		{"reserved", "240.0.0.0", "255.255.255.254", "", ""},
		{"broadcast", "255.255.255.255", "255.255.255.255", "", ""},
		{"loopback", "::ffff:127.0.0.1", "::ffff:127.255.255.255", "::ffff:126.255.255.255", "::ffff:128.0.0.0"},

		{"unspecified", "::", "::", "", ""},
		{"loopback", "::1", "::1", "", ""},
		{"IPv4-compatible", "::2", "::ffff:ffff", "", ""},
		{"IPv4-compatible", "::8.8.8.8", "::127.0.0.1", "", ""},
		{"IPv4-translated", "::ffff:0:8.8.8.8", "::ffff:0:127.0.0.1", "", ""},
		{"NAT64 (RFC 6052) of loopback", "64:ff9b::7f00:1", "64:ff9b::127.255.255.255", "64:ff9b::126.255.255.255", "64:ff9b::128.0.0.0"},
		{"NAT64 (RFC 6052) of cloud metadata", "64:ff9b::a9fe:a9fe", "64:ff9b::169.254.169.254", "64:ff9b::8.8.8.8", ""},
		{"RFC 8215", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"RFC 3587", "64:ff9b:2::", "64:ff9b::1:0:0", "", ""},
		{"discard", "100::", "100::ffff:ffff:ffff:ffff", "", ""},
		{"RFC 9780", "100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", "", ""},
		{"Teredo", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"RFC 2928", "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"},
		{"RFC 5180", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"RFC 3849", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"},
		{"6to4", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"},
		{"6to4", "2002:7f00:1::", "2002:808:808::", "", ""},
		{"RFC 7534", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::"},
		{"6bone", "3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffd:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""},
		{"RFC 9637", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "", "3fff:1000::"},
		{"RFC 3587", "4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""},
		{"RFC 9602", "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"RFC 4193", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"metadata (AWS)", "fd00:ec2::254", "fd00:ec2::254", "", ""}, // NW-16
		{"metadata (Google)", "fd20:ce::254", "fd20:ce::254", "", ""},
		{"link-local", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"site-local", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"multicast", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"link-local", "fe80::1%lo", "fe80::1%25", "", ""},
	} {
		t.Run("PX-16 "+c.name+" "+c.first, func(t *testing.T) {
			for _, s := range []string{c.first, c.last} {
				if got := Special(netip.MustParseAddr(s)); !strings.Contains(got, c.name) {
					t.Errorf("Special(%s) = %q, want %q", s, got, c.name)
				}
			}
			for _, s := range []string{c.before, c.after} {
				if s == "" {
					continue
				}
				if got := Special(netip.MustParseAddr(s)); got != "" {
					t.Errorf("Special(%s) = %q, want it public", s, got)
				}
			}
		})
	}
	if Special(netip.Addr{}) == "" {
		t.Error("no address at all is public")
	}
}

// TestAddress: esc/PX-16, what a name led to.
func TestAddress(t *testing.T) {
	rules := list(t)
	for _, c := range []struct {
		name, addr string
		port       uint16
		want       Reason
	}{
		{"PX-16 loopback", "127.0.0.1", 443, Private},
		{"PX-16 private", "192.168.1.1", 443, Private},
		{"PX-16 a zone of a public address", "2606:4700::1%eth0", 443, Private},
		{"PX-16 a zone of a listed address", "2606:4700::1111%eth0", 853, Private},
		{"PX-16 listed with another port", "10.1.2.3", 443, Private},
		{"PX-16 listed, no port", "10.1.2.3", 0, Private},
		{"PX-16 NAT64 of a listed address", "64:ff9b::10.1.2.3", 5432, Private},
		{"PX-16 neighbour of a listed one", "10.1.2.4", 5432, Private},
		{"positive: listed", "10.1.2.3", 5432, ""},
		{"positive: listed, mapped", "::ffff:10.1.2.3", 5432, ""},
		{"positive: public", "1.1.1.1", 25, ""},
		{"positive: public IPv6", "2606:4700::1", 443, ""},
		{"positive: NAT64 of a public one", "64:ff9b::1.1.1.1", 443, ""},
	} {
		if got := rules.Address(netip.MustParseAddr(c.addr), c.port); got != c.want {
			t.Errorf("%s: Address(%s, %d) = %q, want %q", c.name, c.addr, c.port, got, c.want)
		}
	}
	if got := rules.Address(netip.Addr{}, 443); got != Private {
		t.Errorf("Address(none) = %q, want %q", got, Private)
	}
}
