package names

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// family is one of the two kinds of addresses.
type family uint8

const (
	v4 family = iota
	v6
)

var (
	// pool4 is what names get their addresses from.
	pool4 = netip.MustParsePrefix("198.18.0.0/15")
	// pool6 holds the same numbers in its last 32 bits. The prefix is fixed: it is seen in one
	// namespace alone, where it can meet no other (RFC 4193, section 3.2, asks for a random one
	// because networks are joined).
	pool6 = netip.MustParsePrefix("fd62:7261:696e:626f::/64")
)

const (
	// perBlock leaves out .0 and .255, which some programs take for a network and a broadcast.
	perBlock = 254
	// poolSize is the number of addresses of each family.
	poolSize = 512 * perBlock
)

// address is the one with a number below poolSize.
func address(f family, number int) netip.Addr {
	base := pool4.Addr().As4()
	at := binary.BigEndian.Uint32(base[:]) + uint32(number/perBlock)<<8 + uint32(number%perBlock) + 1
	if f == v4 {
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, at)))
	}
	long := pool6.Addr().As16()
	binary.BigEndian.PutUint32(long[12:], at)
	return netip.AddrFrom16(long)
}

// number is the inverse of address; false for what address never returns.
func number(addr netip.Addr) (int, bool) {
	var low [4]byte
	switch {
	case pool4.Contains(addr):
		low = addr.As4()
	case pool6.Contains(addr):
		long := addr.As16()
		low = [4]byte(long[12:])
	default:
		return 0, false
	}
	base := pool4.Addr().As4()
	offset := binary.BigEndian.Uint32(low[:]) - binary.BigEndian.Uint32(base[:])
	n := int(offset>>8)*perBlock + int(offset&0xff) - 1
	if n < 0 || n >= poolSize {
		return 0, false
	}
	f := v4
	if addr.Is6() {
		f = v6
	}
	return n, address(f, n) == addr
}

// pointed is the address that the name of a PTR record stands for: 4.3.2.1.in-addr.arpa
// (RFC 1035, section 3.5), or 32 digits under ip6.arpa (RFC 3596, section 2.5). The name is in
// lower case and has no dot at its end.
func pointed(name string) (netip.Addr, bool) {
	if rest, ok := strings.CutSuffix(name, ".in-addr.arpa"); ok {
		return pointed4(strings.Split(rest, "."))
	}
	if rest, ok := strings.CutSuffix(name, ".ip6.arpa"); ok {
		return pointed6(strings.Split(rest, "."))
	}
	return netip.Addr{}, false
}

func pointed4(labels []string) (netip.Addr, bool) {
	var bytes [4]byte
	if len(labels) != len(bytes) {
		return netip.Addr{}, false
	}
	for i, label := range labels {
		n, err := strconv.ParseUint(label, 10, 8)
		if err != nil || strconv.FormatUint(n, 10) != label {
			return netip.Addr{}, false
		}
		bytes[len(bytes)-1-i] = byte(n)
	}
	return netip.AddrFrom4(bytes), true
}

func pointed6(labels []string) (netip.Addr, bool) {
	var bytes [16]byte
	if len(labels) != 2*len(bytes) {
		return netip.Addr{}, false
	}
	for i, label := range labels {
		n, err := strconv.ParseUint(label, 16, 4)
		if err != nil || len(label) != 1 {
			return netip.Addr{}, false
		}
		at := len(bytes) - 1 - i/2
		bytes[at] |= byte(n) << (4 * (i % 2))
	}
	return netip.AddrFrom16(bytes), true
}
