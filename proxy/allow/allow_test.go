package allow

import (
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func compile(t testing.TB, rules ...Rule) *Rules {
	t.Helper()
	r, err := New(rules)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// list is the policy of most tests, and the vectors' ok.test.
func list(t testing.TB) *Rules {
	return compile(
		t, Rule{Name: "ok.test"}, Rule{Name: "*.wild.test"}, Rule{Name: "ssh.test", Port: 22},
		Rule{Name: "a.wild.test", Port: 22}, Rule{Name: "8.8.4.4"}, Rule{Name: "2606:4700::1111", Port: 853},
		Rule{Name: "xn--bcher-kva.test"}, Rule{Name: "10.1.2.3", Port: 5432},
		Rule{Name: "both.later.test"}, Rule{Name: "*.later.test"}, Rule{Name: "*.both.later.test", Port: 22},
	)
}

// TestDecide: esc/PX-03 to esc/PX-09, esc/PX-15, esc/NW-16.
func TestDecide(t *testing.T) {
	rules := list(t)
	for _, c := range []struct {
		name, host string
		port       uint16
		reason     Reason
		rule       int
	}{
		{"PX-03 the address of a listed name", "192.0.2.1", 443, Literal, -1},
		{"PX-03 a neighbour of a listed address", "8.8.4.5", 443, Literal, -1},
		{"PX-04 decimal", "2130706433", 443, Literal, -1},
		{"PX-04 octal", "0177.0.0.1", 443, Literal, -1},
		{"PX-04 hexadecimal", "0x7f.1", 80, Literal, -1},
		{"PX-04 short", "127.1", 80, Literal, -1},
		{"PX-04 no number", "127.0.0.09", 80, Malformed, -1},
		{"PX-05 mapped", "[::ffff:127.0.0.1]", 443, Literal, -1},
		{"PX-05 unspecified", "[::]", 443, Literal, -1},
		{"PX-05 link-local with a zone", "[fe80::1%25lo]", 443, Malformed, -1},
		{"PX-05 NAT64", "64:ff9b::7f00:1", 443, Literal, -1},
		{"PX-05 NAT64 of a listed address", "64:ff9b::808:404", 443, Literal, -1},
		{"PX-05 compatible with a listed address", "::8.8.4.4", 443, Literal, -1},
		{"PX-05 6to4 of a listed address", "2002:808:404::", 443, Literal, -1},
		{"PX-05 zero", "0.0.0.0", 80, Literal, -1},
		{"NW-16 metadata", "169.254.169.254", 80, Literal, -1},
		{"NW-16 metadata by IPv6", "[fd00:ec2::254]", 80, Literal, -1},
		{"NW-16 metadata by name", "metadata.google.internal", 80, NotListed, -1},
		{"PX-06 empty label", "ok..test", 443, Malformed, -1},
		{"PX-07 no label boundary", "evilok.test", 443, NotListed, -1},
		{"PX-07 no boundary of a wildcard", "evilwild.test", 443, NotListed, -1},
		{"PX-07 a name behind", "ok.test.evil", 443, NotListed, -1},
		{"PX-07 a name behind, full-width dot", "ok.test．evil", 443, NotListed, -1},
		{"PX-07 a name in front", "evil.ok.test", 443, NotListed, -1},
		{"PX-07 userinfo", "ok.test@evil", 443, Malformed, -1},
		{"PX-07 a wildcard itself", "wild.test", 443, NotListed, -1},
		{"PX-07 the star asked for", "*.wild.test", 443, Malformed, -1},
		{"PX-07 above", "test", 443, NotListed, -1},
		{"PX-08 NUL", "evil\x00.wild.test", 443, Malformed, -1},
		{"PX-09 homograph", "оk.test", 443, NotListed, -1},
		{"PX-09 homograph as A-label", "xn--k-0tb.test", 443, NotListed, -1},
		{"PX-09 without the mark", "bucher.test", 443, NotListed, -1},
		{"PX-15 ssh", "ok.test", 22, PortClosed, 0},
		{"PX-15 mail", "ok.test", 25, PortClosed, 0},
		{"PX-15 tor", "x.wild.test", 9050, PortClosed, 1},
		{"PX-15 another than the one", "ssh.test", 443, PortClosed, 2},
		{"PX-15 of an address", "8.8.4.4", 53, PortClosed, 4},
		{"PX-15 of a mapped address", "::ffff:8.8.4.4", 53, PortClosed, 4},
		{"PX-15 of two that name it, the first", "both.later.test", 22, PortClosed, 8},
		{"PX-15 of two wildcards, the first", "x.both.later.test", 25, PortClosed, 9},
		{"PX-15 none", "ok.test", 0, PortClosed, 0},

		{"positive: https", "ok.test", 443, "", 0},
		{"positive: http", "ok.test", 80, "", 0},
		{"positive: PX-06 a dot behind", "ok.test.", 443, "", 0},
		{"positive: PX-06 upper case", "OK.TEST", 443, "", 0},
		{"positive: PX-09 full-width dot", "ok．test", 443, "", 0},
		{"positive: PX-09 U-label of an A-label", "bücher.test", 443, "", 6},
		{"positive: below a wildcard", "x.wild.test", 443, "", 1},
		{"positive: far below a wildcard", "z.y.x.wild.test", 80, "", 1},
		{"positive: the first rule that allows", "a.wild.test", 443, "", 1},
		{"positive: the first rule that allows, a name", "both.later.test", 443, "", 8},
		{"positive: the first rule that allows, the wider wildcard", "x.both.later.test", 443, "", 9},
		{"positive: a later rule that allows", "a.wild.test", 22, "", 3},
		{"positive: PX-15 the port", "ssh.test", 22, "", 2},
		{"positive: PX-03 a listed address", "8.8.4.4", 443, "", 4},
		{"positive: PX-05 a listed address, mapped", "[::ffff:8.8.4.4]", 443, "", 4},
		{"positive: PX-04 a listed address, decimal", "134743044", 443, "", 4},
		{"positive: a listed IPv6 address", "[2606:4700:0::1111]", 853, "", 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range []Path{0, Connect, Request, Socks, Direct} {
				v := rules.Decide(Query{c.host, c.port, path})
				if v.Reason != c.reason || v.Rule != c.rule || v.Allowed() != (c.reason == "") {
					t.Errorf("Decide(%q, %d, %d) = %+v, want reason %q, rule %d", c.host, c.port, path, v, c.reason, c.rule)
				}
			}
		})
	}
}

// TestDecideLookup: a question to the resolver has no port.
func TestDecideLookup(t *testing.T) {
	rules := list(t)
	for host, want := range map[string]Verdict{
		"evil.test":        {NotListed, "evil.test", netip.Addr{}, -1},
		"wild.test":        {NotListed, "wild.test", netip.Addr{}, -1},
		"127.1":            {Literal, "127.0.0.1", netip.MustParseAddr("127.0.0.1"), -1},
		"ok..test.":        {Malformed, "", netip.Addr{}, -1},
		"SSH.test.":        {"", "ssh.test", netip.Addr{}, 2},
		"a.wild.te\u017ft": {"", "a.wild.test", netip.Addr{}, 1},
	} {
		got := rules.Decide(Query{Host: host, Path: Lookup})
		if got != want {
			t.Errorf("Decide(lookup %q) = %+v, want %+v", host, got, want)
		}
	}
}

// TestNothingIsAllowedByNothing: esc/PX-20, whatever kind of nothing a list is.
func TestNothingIsAllowedByNothing(t *testing.T) {
	for name, rules := range map[string]*Rules{
		"PX-20 nil": nil, "PX-20 zero": {}, "PX-20 empty list": compile(t, []Rule{}...), "PX-20 no list": compile(t),
	} {
		t.Run(name, func(t *testing.T) {
			for host, want := range map[string]Reason{"ok.test": NotListed, "8.8.8.8": Literal, "127.1": Literal, "": Malformed, "::": Literal} {
				for path := range Lookup + 1 {
					for _, port := range []uint16{0, 80, 443} {
						if v := rules.Decide(Query{host, port, path}); v.Allowed() || v.Reason != want || v.Rule != -1 {
							t.Errorf("Decide(%q, %d) = %+v, want %q", host, port, v, want)
						}
					}
				}
			}
			if p := rules.Ports("ok.test"); len(p) != 0 {
				t.Errorf("Ports = %v, want none", p)
			}
			if l := rules.Literals(); len(l) != 0 {
				t.Errorf("Literals = %v, want none", l)
			}
			if got := rules.Address(netip.MustParseAddr("10.0.0.1"), 443); got != Private {
				t.Errorf("Address = %q, want %q", got, Private)
			}
		})
	}
	if (Verdict{}).Allowed() {
		t.Error("the zero verdict allows")
	}
}

func TestNewRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"": "empty", "*": "character", "*.": "empty", "*.*.test": "character", "a.*.test": "character", "*a.test": "character",
		"OK.test": `write "ok.test"`, "ok.test.": `write "ok.test"`, "bücher.test": `write "xn--bcher-kva.test"`,
		"xn--ok-.test": "IDNA", "a b": "character", "https://ok.test": "IPv6", "ok.test:443": "IPv6", "ok.test/": "character",
		"127.1": `write "127.0.0.1"`, "0x7f000001": `write "127.0.0.1"`, "010.0.0.1": `write "8.0.0.1"`, "[::1]": `write "::1"`,
		"*.10.0.0.1": "nothing below", "*.1": `write "0.0.0.1"`, "1.2.3.4.5": "more than four", "*.::1": "nothing below", "fe80::1%lo": "zone", "ok.0x7f": "no number",
		"0.0.0.0": "no single host", "::": "no single host", "::ffff:0.0.0.0": "no single host", "224.0.0.1": "no single host",
		"ff02::1": "no single host", "255.255.255.255": "no single host", "ok\x00.test": "character",
	} {
		r, err := New([]Rule{{Name: "ok.test"}, {Name: name}})
		if r != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "allow: entry 2, ") {
			t.Errorf("New(%q) = %v, %v, want an error with %q", name, r, err, want)
		}
	}
	compile(t, Rule{Name: "ok.test"}, Rule{Name: "*.test"}, Rule{Name: "::1"}, Rule{Name: "::FFFF:1.2.3.4"}, Rule{Name: "127.0.0.1"})
}

func TestPorts(t *testing.T) {
	rules := list(t)
	for name, want := range map[string][]uint16{
		"evil.test": nil, "wild.test": nil, "127.0.0.1": nil, "ok..test": nil, "8.8.4.5": nil,
		"ok.test": {80, 443}, "ssh.test": {22}, "x.wild.test": {80, 443}, "a.wild.test": {22, 80, 443},
		"y.a.wild.test": {80, 443}, "both.later.test": {80, 443}, "x.both.later.test": {22, 80, 443}, "8.8.4.4": {80, 443}, "2606:4700::1111": {853},
	} {
		if got := rules.Ports(name); !slices.Equal(got, want) {
			t.Errorf("Ports(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestLiterals(t *testing.T) {
	rules := compile(t, Rule{Name: "ok.test"}, Rule{Name: "::ffff:8.8.4.4"}, Rule{Name: "8.8.4.4", Port: 443}, Rule{Name: "::1", Port: 53})
	var got []string
	for _, l := range rules.Literals() {
		got = append(got, l.String())
	}
	if d := cmp.Diff([]string{"8.8.4.4:80", "8.8.4.4:443", "[::1]:53"}, got); d != "" {
		t.Error(d)
	}
	rules.Literals()[0] = netip.AddrPort{} // the caller's own
	if rules.Literals()[0] != netip.MustParseAddrPort("8.8.4.4:80") {
		t.Error("the rules changed")
	}
}

// TestAccepts: the server name of a ClientHello has to be the name asked for.
func TestAccepts(t *testing.T) {
	rules := list(t)
	for _, c := range []struct {
		name, host, serverName string
		want                   bool
	}{
		{"none", "ok.test", "", false},
		{"another", "ok.test", "evil.test", false},
		{"another that is listed", "x.wild.test", "ok.test", false},
		{"a neighbour below the wildcard", "x.wild.test", "y.wild.test", false},
		{"an address", "ok.test", "8.8.4.4", false},
		{"no name at all", "ok.test", "ok.test\x00", false},
		{"its own, and not listed", "evil.test", "evil.test", false},
		{"no host", "ok..test", "", false},
		{"an address that is not listed", "127.0.0.1", "", false},
		{"positive: itself", "ok.test", "ok.test", true},
		{"positive: another spelling of both", "OK.test.", "Ok.Test", true},
		{"positive: A-label of a U-label", "bücher.test", "xn--bcher-kva.test", true},
		{"positive: a listed address, none", "8.8.4.4", "", true},
		{"positive: a listed address, any", "8.8.4.4", "dns.test", true},
	} {
		if got := rules.Decide(Query{c.host, 443, Connect}).Accepts(c.serverName); got != c.want {
			t.Errorf("%s: Decide(%q).Accepts(%q) = %v, want %v", c.name, c.host, c.serverName, got, c.want)
		}
	}
	if (Verdict{}).Accepts("") {
		t.Error("the zero verdict accepts")
	}
}

// TestPure: the package that decides can look nothing up, and may be linked into brainbox.
func TestPure(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "brainbox/proxy/allow").Output()
	if err != nil {
		t.Skipf("go list: %v", err) // gating: a copied test binary has no sources
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "golang.org/x/net/idna") {
		t.Errorf("go list names no idna: %q", deps)
	}
	for _, dep := range deps {
		if dep == "net" || dep == "net/http" || dep == "crypto/tls" || dep == "runtime/cgo" || dep == "os/exec" {
			t.Errorf("it links %s", dep)
		}
	}
}
