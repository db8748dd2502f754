package allow

import (
	"net/netip"
	"strings"
	"testing"
)

// TestNormaliseRefuses: esc/PX-05 (zones), PX-06 (empty labels), PX-07 (other characters),
// PX-08 (NUL, control bytes, bad UTF-8, lengths), PX-09 (no names of IDNA).
func TestNormaliseRefuses(t *testing.T) {
	long := strings.Repeat("a", 64)
	for what, host := range map[string]string{
		"PX-08 nothing":                    "",
		"PX-08 255 bytes":                  strings.Repeat("a.", 127) + "b",
		"PX-08 254 bytes":                  strings.Repeat("a.", 126) + "bb",
		"PX-08 a label of 64":              long + ".ok.test",
		"PX-08 a label of 64 by A-label":   strings.Repeat("ü", 61) + ".test",
		"PX-08 a megabyte":                 strings.Repeat("a.", 1<<19),
		"PX-08 NUL inside":                 "evil\x00.ok.test",
		"PX-08 NUL behind":                 "ok.test\x00",
		"PX-08 NUL and a name":             "ok.test\x00.evil.test",
		"PX-08 a line end":                 "ok.test\r\nHost: evil",
		"PX-08 a tab":                      "ok\t.test",
		"PX-08 DEL":                        "ok\x7f.test",
		"PX-08 C1 control":                 "ok\u0085.test",
		"PX-08 bad UTF-8":                  "\xff.ok.test",
		"PX-08 half a rune":                "ok.test\xe3\x80",
		"PX-08 overlong dot":               "ok\xc0\xaetest",
		"PX-08 surrogate":                  "\xed\xa0\x80.ok.test",
		"PX-06 only a dot":                 ".",
		"PX-06 two dots behind":            "ok.test..",
		"PX-06 a dot in front":             ".ok.test",
		"PX-06 an empty label":             "ok..test",
		"PX-06 an empty label of IDNA":     "ok。．test",
		"PX-06 two dots, one full-width":   "ok.test.。",
		"PX-07 userinfo":                   "ok.test@evil",
		"PX-07 fragment":                   "evil#.ok.test",
		"PX-07 path":                       "evil/ok.test",
		"PX-07 backslash":                  `evil\.ok.test`,
		"PX-07 percent":                    "evil%2eok.test",
		"PX-07 space":                      "ok.test evil",
		"PX-07 query":                      "evil?.ok.test",
		"PX-07 a port":                     "ok.test:443",
		"PX-07 wildcard":                   "*.ok.test",
		"PX-07 full-width userinfo":        "ok.test＠evil",
		"PX-07 full-width slash":           "evil／.ok.test",
		"PX-07 a sign with a slash":        "evil℀.ok.test",
		"PX-07 full-width percent":         "evil％.ok.test",
		"PX-07 a hyphen in front":          "-ok.test",
		"PX-07 a hyphen behind":            "ok-.test",
		"PX-09 an A-label of nothing":      "xn--.test",
		"PX-09 an A-label of ASCII":        "xn--ok-.test",
		"PX-09 an A-label of capitals":     "xn--OK-.test",
		"PX-09 no Punycode":                "xn--999999999.test",
		"PX-09 not as it is encoded":       "xn--Bcher-KvA\u200d.test",
		"PX-09 a lone joiner":              "a\u200db.test",
		"PX-09 directions mixed":           "aא1b.test",
		"PX-09 no directions, once mapped": "ℵb.test",
		"PX-09 an A-label of a control":    "www.xn--a.test",
		"PX-09 unassigned":                 "\U000e0fff.test",
		"PX-09 private use":                "\ue000.test",
		"PX-09 a replacement":              "\ufffd.test",
		"PX-05 zone":                       "fe80::1%lo",
		"PX-05 zone in brackets":           "[fe80::1%lo]",
		"PX-05 zone, escaped":              "[fe80::1%25lo]",
		"PX-05 zone of a public address":   "[2606:4700::1%1]",
		"PX-05 one bracket":                "[::1",
		"PX-05 the other":                  "::1]",
		"PX-05 IPv4 in brackets":           "[127.0.0.1]",
		"PX-05 two pairs":                  "[[::1]]",
		"PX-05 a dot behind":               "[::1].",
		"PX-05 a port":                     "[::1]:443",
		"PX-05 nine groups":                "1:2:3:4:5:6:7:8:9",
		"PX-05 mapped octal":               "::ffff:0177.0.0.1",
		"PX-04 five numbers":               "1.2.3.4.5",
		"PX-04 too large":                  "4294967296",
		"PX-04 far too large":              "18446744073709551617",
		"PX-04 too large in front":         "256.0.0.1",
		"PX-04 too large behind":           "127.16777216",
		"PX-04 no octal digit":             "127.0.0.08",
		"PX-04 a name with a number":       "ok.test.1",
		"PX-04 a name with hexadecimal":    "ok.test.0x7f",
		"PX-04 a name and an empty one":    "ok.test.0x",
		"PX-04 underscores":                "1_000.1",
		"PX-04 two dots":                   "127.0.0.1..",
		"PX-04 an empty number":            "127..1",
		"PX-04 a sign":                     "+127.0.0.1",
	} {
		t.Run(what, func(t *testing.T) {
			if name, addr, err := Normalise(host); err == nil || name != "" || addr.IsValid() {
				t.Errorf("Normalise(%.80q) = %q, %v, %v, want an error alone", host, name, addr, err)
			}
		})
	}
}

// TestNormaliseSays: what is wrong, without a byte of the host.
func TestNormaliseSays(t *testing.T) {
	for host, want := range map[string]string{
		strings.Repeat("a", 1025): "not a host: too long", "\xff.ok.test": "not a host: not UTF-8", "ok..test": "not a host: an empty label",
		"xn--ok-.test": "not a host: not a name of IDNA", "[::1": "not a host: not an IPv6 address",
	} {
		if _, _, err := Normalise(host); err == nil || err.Error() != want {
			t.Errorf("Normalise(%.40q): %v, want %q", host, err, want)
		}
	}
}

// TestNormaliseAddresses: esc/PX-04 and esc/PX-05, every spelling that inet_aton(3),
// inet_pton(3), a browser or IDNA reads as an address.
func TestNormaliseAddresses(t *testing.T) {
	for host, want := range map[string]string{
		"127.0.0.1": "127.0.0.1", "127.0.0.1.": "127.0.0.1", "2130706433": "127.0.0.1", "2130706433.": "127.0.0.1",
		"0177.0.0.1": "127.0.0.1", "0x7f.1": "127.0.0.1", "0X7F.1": "127.0.0.1", "127.1": "127.0.0.1", "127.0.1": "127.0.0.1",
		"0x7f000001": "127.0.0.1", "017700000001": "127.0.0.1", "0x7F.0.0.01": "127.0.0.1", "0x7f.0x0.0x0.0x1": "127.0.0.1",
		"0000177.0.0.1": "127.0.0.1", "0x000000007f.1": "127.0.0.1", "127.0.0.0x1": "127.0.0.1",
		"169.254.43518": "169.254.169.254", "0xa9fea9fe": "169.254.169.254", "0251.0376.0251.0376": "169.254.169.254",
		"0": "0.0.0.0", "0.0.0.0": "0.0.0.0", "0x": "0.0.0.0", "00": "0.0.0.0", "4294967295": "255.255.255.255", "010.0.0.1": "8.0.0.1",
		"１２７.０.０.１": "127.0.0.1", "127。0。0。1": "127.0.0.1", "①②⑦.1": "127.0.0.1", "０x7f.1": "127.0.0.1", "127.0.0.1。": "127.0.0.1",
		"𝟏𝟐𝟕.1": "127.0.0.1", "127\u00ad.1": "127.0.0.1",
		"::1": "::1", "[::1]": "::1", "0:0:0:0:0:0:0:1": "::1", "[::]": "::", "::": "::",
		"[::ffff:127.0.0.1]": "127.0.0.1", "::ffff:7f00:1": "127.0.0.1", "[::FFFF:7F00:0001]": "127.0.0.1",
		"::127.0.0.1": "::7f00:1", "64:ff9b::7f00:1": "64:ff9b::7f00:1", "64:ff9b::127.0.0.1": "64:ff9b::7f00:1",
		"2002:7f00:1::": "2002:7f00:1::", "fec0::1": "fec0::1", "[2001:DB8::1]": "2001:db8::1",
	} {
		name, addr, err := Normalise(host)
		if err != nil || name != want || addr != netip.MustParseAddr(want) {
			t.Errorf("Normalise(%q) = %q, %v, %v, want the address %s", host, name, addr, err, want)
		}
	}
}

// TestNormaliseNames: esc/PX-06 and esc/PX-09, one name for all its spellings, and for no other.
func TestNormaliseNames(t *testing.T) {
	longest := strings.Repeat("a.", 125) + "bbb"
	for host, want := range map[string]string{
		"ok.test": "ok.test", "OK.Test": "ok.test", "ok.test.": "ok.test", "OK.TEST.": "ok.test",
		"ok。test": "ok.test", "ok．test｡": "ok.test", "ｏｋ.test": "ok.test", "o\u00adk.test": "ok.test", "\u212A.test": "k.test",
		"bücher.test": "xn--bcher-kva.test", "BÜCHER.test": "xn--bcher-kva.test", "bu\u0308cher.test": "xn--bcher-kva.test",
		"xn--bcher-kva.test": "xn--bcher-kva.test", "XN--BCHER-KVA.TEST.": "xn--bcher-kva.test",
		"faß.test": "xn--fa-hia.test", "оk.test": "xn--k-0tb.test", "例え.テスト": "xn--r8jz45g.xn--zckzah",
		"_dmarc.ok.test": "_dmarc.ok.test", "a_b.bücher.test": "a_b.xn--bcher-kva.test", "r3---sn-x.ok.test": "r3---sn-x.ok.test", "r3---sn-x.bücher.test": "r3---sn-x.xn--bcher-kva.test",
		"1.ok.test": "1.ok.test", "127.0.0.1.ok.test": "127.0.0.1.ok.test", "0x7f.ok": "0x7f.ok", "0xg": "0xg", "1a": "1a", "127.1x": "127.1x",
		"localhost": "localhost", longest: longest, longest + ".": longest, strings.Repeat("a", 63): strings.Repeat("a", 63),
	} {
		name, addr, err := Normalise(host)
		if err != nil || name != want || addr.IsValid() {
			t.Errorf("Normalise(%q) = %q, %v, %v, want %q", host, name, addr, err, want)
		}
	}
}
