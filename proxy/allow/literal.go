package allow

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// ipv4 reads one to four numbers, each decimal, octal with a leading 0 or hexadecimal with
// 0x, of which the last fills the bytes that are left (inet_aton(3)).
func ipv4(name string) (netip.Addr, error) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, flaw("an address of more than four numbers")
	}
	var whole uint64
	for i, part := range parts {
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (4 - i)
		}
		n, err := number(part, bits)
		if err != nil {
			return netip.Addr{}, err
		}
		whole = whole<<bits | n
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(whole)))), nil
}

func number(s string, bits int) (uint64, error) {
	base := 10
	switch {
	case s == "0x": // a browser's zero; inet_aton refuses it
		return 0, nil
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, bits) // with a base given it takes no sign and no underscore
	if err != nil {
		return 0, flaw("an address with a part that is no number, or does not fit")
	}
	return n, nil
}

// ipv6 reads an address of groups, in brackets or bare. A zone names an interface of this
// host (RFC 4007), which a program has no business with.
func ipv6(host string) (string, netip.Addr, error) {
	text, open := strings.CutPrefix(host, "[")
	text, closed := strings.CutSuffix(text, "]")
	addr, err := netip.ParseAddr(text)
	switch {
	case open != closed || err != nil || !addr.Is6():
		return "", netip.Addr{}, flaw("not an IPv6 address")
	case addr.Zone() != "":
		return "", netip.Addr{}, flaw("an address with a zone")
	}
	addr = addr.Unmap() // the kernel connects to ::ffff:a.b.c.d by IPv4 (ipv6(7))
	return addr.String(), addr, nil
}
