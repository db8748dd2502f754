package allow

import "net/netip"

// block4 is a range of addresses that leads elsewhere than to a host of the public internet.
// Where ranges lie inside each other the first in its table gives the name.
type block4 struct {
	addr [4]byte
	bits int
	name string
}

// block6 is the same for IPv6.
type block6 struct {
	addr [16]byte
	bits int
	name string
}

// special4 is IANA's registry of special-purpose IPv4 addresses (RFC 6890, as of 2026) and
// its multicast and reserved space. The anycast ranges that the registry calls globally
// reachable are in it too: the nearest node may be one's own network's. It is data, not
// netip.Prefix, so that a program which links this package does nothing for it at its start.
var special4 = [...]block4{
	{[4]byte{0}, 8, "this network (RFC 791)"},
	{[4]byte{10}, 8, "private use (RFC 1918)"},
	{[4]byte{100, 64}, 10, "shared address space (RFC 6598)"},
	{[4]byte{127}, 8, "loopback (RFC 1122)"},
	{[4]byte{169, 254, 169, 254}, 32, "cloud metadata (link-local, RFC 3927)"},
	{[4]byte{169, 254}, 16, "link-local (RFC 3927)"},
	{[4]byte{168, 63, 129, 16}, 32, "cloud metadata (Azure's platform address)"},
	{[4]byte{172, 16}, 12, "private use (RFC 1918)"},
	{[4]byte{192, 0, 0}, 24, "protocol assignments (RFC 6890)"},
	{[4]byte{192, 0, 2}, 24, "documentation, TEST-NET-1 (RFC 5737)"},
	{[4]byte{192, 31, 196}, 24, "AS112 (RFC 7535)"},
	{[4]byte{192, 52, 193}, 24, "multicast tunnels (RFC 7450)"},
	{[4]byte{192, 88, 99}, 24, "6to4 relays (RFC 7526)"},
	{[4]byte{192, 168}, 16, "private use (RFC 1918)"},
	{[4]byte{192, 175, 48}, 24, "AS112 (RFC 7534)"},
	{[4]byte{198, 18}, 15, "benchmarking (RFC 2544)"},
	{[4]byte{198, 51, 100}, 24, "documentation, TEST-NET-2 (RFC 5737)"},
	{[4]byte{203, 0, 113}, 24, "documentation, TEST-NET-3 (RFC 5737)"},
	{[4]byte{224}, 4, "multicast (RFC 5771)"},
	{[4]byte{255, 255, 255, 255}, 32, "broadcast (RFC 919)"},
	{[4]byte{240}, 4, "reserved (RFC 1112)"},
}

// special6 is IANA's registry of special-purpose IPv6 addresses, what is deprecated, and
// what clouds answer their metadata on. Whatever lies outside 2000::/3 is refused as well
// (see [Special]); the ranges from there are here for their names.
var special6 = [...]block6{
	{[16]byte{15: 0}, 128, "unspecified (RFC 4291)"},
	{[16]byte{15: 1}, 128, "loopback (RFC 4291)"},
	{[16]byte{}, 96, "IPv4-compatible (RFC 4291)"},
	{[16]byte{8: 0xff, 9: 0xff}, 96, "IPv4-translated (RFC 2765)"},
	{[16]byte{0, 0x64, 0xff, 0x9b, 0, 1}, 48, "local NAT64 (RFC 8215)"},
	{[16]byte{0x01, 0x00}, 64, "discard (RFC 6666)"},
	{[16]byte{0x01, 0x00, 7: 1}, 64, "dummy prefix (RFC 9780)"},
	{[16]byte{0x20, 0x01}, 32, "Teredo (RFC 4380)"},
	{[16]byte{0x20, 0x01, 0, 2}, 48, "benchmarking (RFC 5180)"},
	{[16]byte{0x20, 0x01}, 23, "protocol assignments (RFC 2928)"},
	{[16]byte{0x20, 0x01, 0x0d, 0xb8}, 32, "documentation (RFC 3849)"},
	{[16]byte{0x20, 0x02}, 16, "6to4 (RFC 3056)"},
	{[16]byte{0x26, 0x20, 0, 0x4f, 0x80}, 48, "AS112 (RFC 7534)"},
	{[16]byte{0x3f, 0xfe}, 16, "6bone (RFC 3701)"},
	{[16]byte{0x3f, 0xff}, 20, "documentation (RFC 9637)"},
	{[16]byte{0x5f, 0x00}, 16, "segment routing (RFC 9602)"},
	{[16]byte{0xfd, 0x00, 0x0e, 0xc2, 14: 0x02, 15: 0x54}, 128, "cloud metadata (AWS)"},
	{[16]byte{0xfd, 0x20, 0x00, 0xce, 14: 0x02, 15: 0x54}, 128, "cloud metadata (Google)"},
	{[16]byte{0xfc}, 7, "unique local (RFC 4193)"},
	{[16]byte{0xfe, 0x80}, 10, "link-local (RFC 4291)"},
	{[16]byte{0xfe, 0xc0}, 10, "site-local (RFC 3879)"},
	{[16]byte{0xff}, 8, "multicast (RFC 4291)"},
}

// Special says what an address is that is not a public one, with where that is written, and
// "" for a public one. An address that carries an IPv4 one is judged by it where something
// between here and there takes it out again: v4-mapped, and NAT64 in its well-known prefix
// (RFC 6052). 6to4 and Teredo, which are deprecated, are never public.
func Special(a netip.Addr) string {
	a = a.WithZone("").Unmap()
	if a.Is4() {
		return specialIPv4(a)
	}
	if !a.IsValid() {
		return "no address"
	}
	wellKnown := netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b})
	if netip.PrefixFrom(wellKnown, 96).Contains(a) {
		b := a.As16()
		if name := specialIPv4(netip.AddrFrom4([4]byte(b[12:]))); name != "" {
			return "NAT64 (RFC 6052) of " + name
		}
		return ""
	}
	for _, b := range special6 {
		if netip.PrefixFrom(netip.AddrFrom16(b.addr), b.bits).Contains(a) {
			return b.name
		}
	}
	if !netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20}), 3).Contains(a) {
		return "not global unicast (RFC 3587)"
	}
	return ""
}

func specialIPv4(a netip.Addr) string {
	for _, b := range special4 {
		if netip.PrefixFrom(netip.AddrFrom4(b.addr), b.bits).Contains(a) {
			return b.name
		}
	}
	return ""
}
