package allow

import (
	"net/netip"
	"strings"
	"testing"
)

// aton is inet_aton(3) as a C library has it: character by character, one number after the
// other, without a list of parts. It shares nothing with the package.
func aton(s string) (addr [4]byte, ok bool) {
	var parts []uint64
	for i := 0; ; i++ {
		base := uint64(10)
		if i < len(s) && s[i] == '0' {
			base = 8
			if i+2 < len(s) && (s[i+1] == 'x' || s[i+1] == 'X') && digit(s[i+2]) < 16 {
				base, i = 16, i+2
			}
		}
		if i >= len(s) || digit(s[i]) >= base {
			return addr, false
		}
		var n uint64
		for ; i < len(s) && digit(s[i]) < base; i++ {
			if n = n*base + digit(s[i]); n > 0xffffffff {
				return addr, false
			}
		}
		parts = append(parts, n)
		if i == len(s) {
			break
		}
		if s[i] != '.' || n > 255 || len(parts) == 4 {
			return addr, false
		}
	}
	last := parts[len(parts)-1]
	if last>>(8*(5-len(parts))) != 0 {
		return addr, false
	}
	for i := 3; i >= 0; i-- {
		if i < len(parts)-1 {
			addr[i] = byte(parts[i])
		} else {
			addr[i], last = byte(last), last>>8
		}
	}
	return addr, true
}

func digit(c byte) uint64 {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0')
	case 'a' <= c && c <= 'f':
		return uint64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return uint64(c-'A') + 10
	}
	return 255
}

func TestAton(t *testing.T) {
	for s, want := range map[string]string{
		"": "", ".": "", "1.": "", "0x": "", "08": "", "256.1": "", "1.2.3.4.5": "", "1.2.3.256": "", "1.16777216": "", "4294967296": "",
		"127.1": "127.0.0.1", "0x7f.1": "127.0.0.1", "017700000001": "127.0.0.1", "1.2.3": "1.2.0.3", "0": "0.0.0.0", "4294967295": "255.255.255.255",
	} {
		got, ok := aton(s)
		if ok != (want != "") || ok && netip.AddrFrom4(got).String() != want {
			t.Errorf("aton(%q) = %v, %v, want %s", s, got, ok, want)
		}
	}
}

// FuzzDecide: nothing panics; a name that is allowed is its own normal form and gets the
// same verdict; a dot behind it and capitals change nothing; what inet_aton reads as an
// address is never matched as a name.
func FuzzDecide(f *testing.F) {
	for _, s := range []string{
		"ok.test", "OK.test.", "x.wild.test", "bücher.test", "xn--bcher-kva.test", "ok。test", "127.1", "0x7f.0.0.01", "[::ffff:8.8.4.4]",
		"2606:4700::1111", "134743044", "fe80::1%lo", "ok.test@evil", "a\x00.wild.test", "ⅻ.wild.test", "0x.wild.test", "1.2.3.4.wild.test", "א.wild.test",
	} {
		f.Add(s, uint16(443), uint8(Connect))
	}
	f.Add(strings.Repeat("0", 64), uint16(80), uint8(Socks)) // too long for a label
	f.Add("ssh.test", uint16(22), uint8(Lookup))
	rules := list(f)
	f.Fuzz(func(t *testing.T, host string, port uint16, path uint8) {
		v := rules.Decide(Query{host, port, Path(path)})
		if (v.Name == "") != (v.Reason == Malformed) || v.Allowed() != (v.Reason == "") || v.Allowed() && v.Rule < 0 {
			t.Fatalf("Decide(%q) = %+v", host, v)
		}
		if a, ok := aton(strings.TrimSuffix(host, ".")); ok && v.Addr != netip.AddrFrom4(a) && (len(host) <= maxPart || v.Reason != Malformed) {
			t.Errorf("%q is an address to inet_aton, and here %+v", host, v)
		}
		if v.Reason == Malformed {
			return
		}
		if _, ok := aton(v.Name); ok != v.Addr.Is4() {
			t.Errorf("%q: %+v, an address or not", host, v)
		}
		if again := rules.Decide(Query{v.Name, port, Path(path)}); again != v {
			t.Errorf("Decide(%q) = %+v, Decide(%q) = %+v", host, v, v.Name, again)
		}
		if got := rules.Decide(Query{upper(host), port, Path(path)}); got != v {
			t.Errorf("%q: upper case changes %+v to %+v", host, v, got)
		}
		// The name without a dot, as far as that can be told of what is written.
		if last := host[len(host)-1]; digit(last) < 16 || 'g' <= last && last <= 'z' {
			if got := rules.Decide(Query{host + ".", port, Path(path)}); len(host) < longest && !v.Addr.Is6() && !strings.Contains(host, ":") && got != v {
				t.Errorf("%q: a dot changes %+v to %+v", host, v, got)
			}
		}
	})
}

func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}
