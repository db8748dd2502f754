package allow

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	longest = 1024 // bytes as written: 253 characters of four bytes, and then no more work
	maxName = 253  // bytes without the root's dot: 255 on the wire (RFC 1035, 2.3.4)
	maxPart = 63
)

// flaw says what no host name can have.
type flaw string

func (f flaw) Error() string { return string(f) }

// Normalise reads a host as a program wrote it, without a port. It returns the one spelling
// that is compared, looked up and recorded, and the address if the host is one. Every
// spelling of an address that some resolver or library reads is one here: 127.1, 0x7f.0.0.1,
// 2130706433, [::ffff:127.0.0.1]. The error says what is wrong; the text of the host is not
// in it.
func Normalise(host string) (name string, addr netip.Addr, err error) {
	name, addr, err = normalise(host)
	if err != nil {
		return "", netip.Addr{}, fmt.Errorf("not a host: %w", err)
	}
	return name, addr, nil
}

func normalise(host string) (string, netip.Addr, error) {
	if len(host) > longest {
		return "", netip.Addr{}, flaw("too long")
	}
	if strings.ContainsAny(host, ":[]") {
		return ipv6(host)
	}
	name, err := ascii(host)
	if err != nil {
		return "", netip.Addr{}, err
	}
	name = strings.TrimSuffix(name, ".") // one: the root's
	if err := checkName(name); err != nil {
		return "", netip.Addr{}, err
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; !isNumber(last) {
		return name, netip.Addr{}, nil
	}
	addr, err := ipv4(name)
	if err != nil {
		return "", netip.Addr{}, err
	}
	return addr.String(), addr, nil
}

// ascii gives a name its A-labels. A name of plain letters needs no tables.
func ascii(host string) (string, error) {
	if !utf8.ValidString(host) {
		return "", flaw("not UTF-8")
	}
	name := lower(host)
	beyond := strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
	if !beyond && !strings.HasPrefix(name, "xn--") && !strings.Contains(name, ".xn--") {
		return name, nil
	}
	// Not strict about ASCII: checkName looks at what comes out, where "℀" is "a/c" and the
	// underscores of service names are left. Hyphens: r3---sn-x.example is in use.
	profile := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.CheckHyphens(false))
	name, err := profile.ToASCII(name)
	if err != nil {
		return "", flaw("not a name of IDNA")
	}
	// A second time, so that what is compared stands for itself: an A-label that the tables
	// decode to something else, or to nothing they know, would be two names.
	if again, err := profile.ToASCII(name); err != nil || again != name {
		return "", flaw("not a name of IDNA")
	}
	return name, nil
}

// lower is for ASCII alone; IDNA folds the rest.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func checkName(name string) error {
	switch {
	case name == "":
		return flaw("empty")
	case len(name) > maxName:
		return flaw("longer than 253 bytes")
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return flaw("an empty label")
		case len(label) > maxPart:
			return flaw("a label longer than 63 bytes")
		case label[0] == '-' || label[len(label)-1] == '-':
			return flaw("a hyphen at the end of a label")
		}
		for i := range len(label) {
			if c := label[i]; c != '-' && c != '_' && (c < 'a' || c > 'z') && !isDigit(c) {
				return flaw("a character that is in no host name")
			}
		}
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isNumber reports whether a last label makes the whole an IPv4 address, or an attempt at
// one: digits, or 0x and any number of hexadecimal ones (WHATWG URL, 3.5).
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
