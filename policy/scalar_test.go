package policy

import (
	"math"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "512": 512, "1B": 1, "1KiB": 1024, "512MiB": 512 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40,
		"10MB": 10e6, "3kB": 3000, "3KB": 3000, "1GB": 1e9, "1TB": 1e12, "9223372036854775807": math.MaxInt64,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "0", "-1", "+1", "1.5GiB", "1 GiB", "GiB", "2G", "2g", "2gib", "1KiBB", "1MiBKiB",
		"9223372036854775808", "8388608TiB", "1e9", "0x10", "1_000", "١",
	} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	if got, err := ParseDuration("1h30m"); err != nil || got != 90*time.Minute {
		t.Errorf("1h30m is %v, %v", got, err)
	}
	for _, text := range []string{"", "0", "0s", "-5s", "10", "10 m", "1d", "soon", "9999999h"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", text, got)
		}
	}
}

func TestParsePort(t *testing.T) {
	for text, want := range map[string]uint16{"1": 1, "443": 443, "65535": 65535} {
		if got, err := ParsePort(text); err != nil || got != want {
			t.Errorf("ParsePort(%q) = %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "+1", "0443", "65536", "http", "80 ", "1,2", "0x50"} {
		if got, err := ParsePort(text); err == nil {
			t.Errorf("ParsePort(%q) = %d, want an error", text, got)
		}
	}
}

func TestParseCountAndCPU(t *testing.T) {
	if n, err := ParseCount("12"); err != nil || n != 12 {
		t.Errorf("12 is %d, %v", n, err)
	}
	for _, text := range []string{"", "0", "-1", "+1", "1.5", "max"} {
		if n, err := ParseCount(text); err == nil {
			t.Errorf("ParseCount(%q) = %d, want an error", text, n)
		}
	}
	for text, want := range map[string]string{"2": "2", "1.50": "1.5", "0.01": "0.01", "02": "2", "4096": "4096"} {
		if got, err := ParseCPU(text); err != nil || got != want {
			t.Errorf("ParseCPU(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "0", "0.00", "-1", "+1", "1.", ".5", "1.555", "1e3", "inf", "nan", "4097",
		"99999999999",
	} {
		if got, err := ParseCPU(text); err == nil {
			t.Errorf("ParseCPU(%q) = %q, want an error", text, got)
		}
	}
}

func TestParseHost(t *testing.T) {
	for text, want := range map[string]Host{
		"example.org":             {Name: "example.org"},
		"API.Example.COM:443":     {Name: "api.example.com", Port: 443},
		"*.example.org":           {Name: "*.example.org"},
		"*.example.org:8443":      {Name: "*.example.org", Port: 8443},
		"localhost":               {Name: "localhost"},
		"my_bucket.s3.test":       {Name: "my_bucket.s3.test"},
		"xn--bcher-kva.example":   {Name: "xn--bcher-kva.example"},
		"192.0.2.1":               {Name: "192.0.2.1"},
		"192.0.2.1:80":            {Name: "192.0.2.1", Port: 80},
		"2001:db8::1":             {Name: "2001:db8::1"},
		"[2001:DB8::1]":           {Name: "2001:db8::1"},
		"[2001:db8::1]:443":       {Name: "2001:db8::1", Port: 443},
		"a.b.c.d.e.f.g.h.example": {Name: "a.b.c.d.e.f.g.h.example"},
	} {
		got, err := ParseHost(text)
		if err != nil || got != want {
			t.Errorf("ParseHost(%q) = %+v, %v", text, got, err)
			continue
		}
		if again, err := ParseHost(got.String()); err != nil || again != got {
			t.Errorf("ParseHost(%q), written again as %q: %+v, %v", text, got.String(), again, err)
		}
	}
	for _, text := range []string{
		"", "*", "*.", "*.*.org", "a*.org", "*:443", ".", "a..b", ".a", "a.", "-a.org", "a-.org",
		"example.org:", "example.org:0", "example.org:x", ":443", "http://example.org", "example.org/x",
		"[2001:db8::1", "[example.org]:443", "[]:1", "[::1]443", "[::1]:", "::zz", "fe80::1%eth0", "127.1", "0x7f", "77.0xE:80", "2.0x",
		"1.2.3.4.5", "0x7f.1",
		"bücher.example", "exa mple.org", "a@b.org", "a,b.org", "\x00", "192.0.2.256",
	} {
		if got, err := ParseHost(text); err == nil {
			t.Errorf("ParseHost(%q) = %+v, want an error", text, got)
		}
	}
}

func TestParseUpstream(t *testing.T) {
	for text, want := range map[string]string{
		"http://proxy.corp:3128":     "http://proxy.corp:3128",
		"http://Proxy.Corp:3128/":    "http://proxy.corp:3128",
		"http://192.0.2.1:80":        "http://192.0.2.1:80",
		"http://[2001:db8::1]:3128/": "http://[2001:db8::1]:3128",
	} {
		if got, err := ParseUpstream(text); err != nil || got != want {
			t.Errorf("ParseUpstream(%q) = %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "proxy.corp:3128", "https://proxy.corp:3128", "http://proxy.corp", "http://*.corp:1",
		"http://u:p@proxy.corp:1", "http://proxy.corp:1/x", "socks5://proxy.corp:1", "http://",
	} {
		if got, err := ParseUpstream(text); err == nil {
			t.Errorf("ParseUpstream(%q) = %q, want an error", text, got)
		}
	}
}

func TestParseResolver(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.53":          "192.0.2.53:53",
		"192.0.2.53:5353":     "192.0.2.53:5353",
		"127.0.0.53":          "127.0.0.53:53",
		"2001:DB8::53":        "[2001:db8::53]:53",
		"[2001:db8::53]":      "[2001:db8::53]:53",
		"[2001:db8::53]:5353": "[2001:db8::53]:5353",
	} {
		if got, err := ParseResolver(text); err != nil || got != want {
			t.Errorf("ParseResolver(%q) = %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "dns.example", "localhost", "*.example.org", "192.0.2.53:", "192.0.2.53:0", "192.0.2.53:65536", ":53",
		"192.0.2.053", "0x7f.1", "127.1", "2001:db8::53:70000", "fe80::1%eth0", "[192.0.2.53]:53", "[::1", "::1]:53",
		"192.0.2.53,192.0.2.54", "192.0.2.53 ", "tls://192.0.2.53", "192.0.2.53#53", "u@192.0.2.53",
	} {
		if got, err := ParseResolver(text); err == nil {
			t.Errorf("ParseResolver(%q) = %q, want an error", text, got)
		}
	}
}

func TestParseEnv(t *testing.T) {
	if v, err := ParseEnvVar("A=b=c"); err != nil || v != (Var{"A", "b=c"}) {
		t.Errorf("A=b=c is %+v, %v", v, err)
	}
	if v, err := ParseEnvVar("A="); err != nil || v != (Var{"A", ""}) {
		t.Errorf("A= is %+v, %v", v, err)
	}
	for _, text := range []string{"", "A", "=b", "1A=b", "A B=c", "A=b\x00c", "A*=b"} {
		if v, err := ParseEnvVar(text); err == nil {
			t.Errorf("ParseEnvVar(%q) = %+v, want an error", text, v)
		}
	}
	for _, text := range []string{"A", "LC_*", "_x1"} {
		if _, err := ParseEnvPattern(text); err != nil {
			t.Errorf("ParseEnvPattern(%q): %v", text, err)
		}
	}
	for _, text := range []string{"", "*", "*A", "A*B", "A**", "A?", "1A"} {
		if _, err := ParseEnvPattern(text); err == nil {
			t.Errorf("ParseEnvPattern(%q) is accepted", text)
		}
	}
}

func TestParseWords(t *testing.T) {
	for _, c := range Clauses() {
		if got, err := ParseClause(c); err != nil || got != c {
			t.Errorf("clause %q: %q, %v", c, got, err)
		}
	}
	if len(Clauses()) != 22 {
		t.Errorf("%d clauses", len(Clauses()))
	}
	for r := RightRead; r <= RightDeny; r++ {
		if got, err := ParseRight(r.String()); err != nil || got != r {
			t.Errorf("right %v: %v, %v", r, got, err)
		}
	}
	for m := NetNone; m <= NetHost; m++ {
		if got, err := ParseNetworkMode(m.String()); err != nil || got != m {
			t.Errorf("mode %v: %v, %v", m, got, err)
		}
	}
	for _, text := range []string{"", "none", "Read", "READ", "filez"} {
		if _, err := ParseRight(text); err == nil {
			t.Errorf("ParseRight(%q) is accepted", text)
		}
		if _, err := ParseClause(text); err == nil {
			t.Errorf("ParseClause(%q) is accepted", text)
		}
	}
	for _, text := range []string{"bash", "read_file", "srv:tool", "a/b.c-d", "1"} {
		if _, err := ParseTool(text); err != nil {
			t.Errorf("ParseTool(%q): %v", text, err)
		}
	}
	for _, text := range []string{"", "-a", ".a", "a b", "tаsk", "a\x00"} { // the third has a Cyrillic letter
		if _, err := ParseTool(text); err == nil {
			t.Errorf("ParseTool(%q) is accepted", text)
		}
	}
}
