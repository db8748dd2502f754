package names

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"brainbox/proxy/allow"
)

// esc/NW-07: data in a name goes nowhere; esc/PX-06 and esc/PX-07 through the resolver. Each
// refused name has one record, no listener and no address.
func TestNamesThatAreNotListed(t *testing.T) {
	long := strings.Repeat("d.", 120) + "attacker.test."
	for _, c := range []struct {
		name   string
		code   dnsmessage.RCode
		reason allow.Reason
	}{
		{"denied.test.", dnsmessage.RCodeNameError, allow.NotListed},
		{"c2VjcmV0.exfil.attacker.test.", dnsmessage.RCodeNameError, allow.NotListed}, // esc/NW-07
		{long, dnsmessage.RCodeNameError, allow.NotListed},                            // esc/NW-07
		{"c2VjcmV0.ok.test.", dnsmessage.RCodeNameError, allow.NotListed},             // esc/NW-07: below a listed name
		{"ok.test.corp.local.", dnsmessage.RCodeNameError, allow.NotListed},           // a search list
		{"evilok.test.", dnsmessage.RCodeNameError, allow.NotListed},                  // esc/PX-07
		{"ok.test.evil.", dnsmessage.RCodeNameError, allow.NotListed},                 // esc/PX-07
		{"wild.test.", dnsmessage.RCodeNameError, allow.NotListed},                    // not below itself
		{"evilwild.test.", dnsmessage.RCodeNameError, allow.NotListed},
		{"ok.test@evil.", dnsmessage.RCodeRefused, allow.Malformed},     // esc/PX-07
		{"evil#.ok.test.", dnsmessage.RCodeRefused, allow.Malformed},    // esc/PX-07
		{"evil/ok.test.", dnsmessage.RCodeRefused, allow.Malformed},     // esc/PX-07
		{"evil\x00.ok.test.", dnsmessage.RCodeRefused, allow.Malformed}, // esc/PX-08
		{"ok.test\xff.", dnsmessage.RCodeRefused, allow.Malformed},      // esc/PX-08
		{"a b.wild.test.", dnsmessage.RCodeRefused, allow.Malformed},    // a space
		{"*.wild.test.", dnsmessage.RCodeRefused, allow.Malformed},      // the pattern is no name
		{"127.0.0.1.", dnsmessage.RCodeNameError, allow.Literal},        // esc/PX-04
		{"2130706433.", dnsmessage.RCodeNameError, allow.Literal},       // esc/PX-04
		{"0x7f.1.", dnsmessage.RCodeNameError, allow.Literal},           // esc/PX-04
		{"8.8.8.8.in-addr.arpa.", dnsmessage.RCodeNameError, allow.NotListed},
		{"localhost.evil.", dnsmessage.RCodeNameError, allow.NotListed},
		{"notlocalhost.", dnsmessage.RCodeNameError, allow.NotListed},
		{".", dnsmessage.RCodeRefused, allow.Malformed},
	} {
		for _, kind := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA, dnsmessage.TypeTXT, dnsmessage.TypePTR} {
			t.Run(fmt.Sprintf("%.40q %v", c.name, kind), func(t *testing.T) {
				w := newWorld(t, nil)
				m := w.ask(c.name, kind)
				if m.RCode != c.code || len(m.Answers) != 0 || !m.RecursionAvailable {
					t.Errorf("answered %v with %v (RA %v), want %v", m.RCode, m.Answers, m.RecursionAvailable, c.code)
				}
				if soa := len(m.Authorities) == 1; soa != (c.code == dnsmessage.RCodeNameError) || soa != m.Authoritative {
					t.Errorf("%d SOA, AA %v, in a %v", len(m.Authorities), m.Authoritative, m.RCode)
				}
				want := allow.Query{Host: strings.TrimSuffix(c.name, "."), Path: allow.Lookup}
				notes := w.take()
				if len(notes) != 1 || notes[0].q != want || notes[0].v.Reason != c.reason {
					t.Errorf("recorded %v, want one %s of %q", notes, c.reason, want.Host)
				}
				if got := w.sockets.asked; len(got) != 0 {
					t.Errorf("listeners were asked for: %v", got)
				}
				w.addr("ok.test.", dnsmessage.TypeA) // the same server answers what is listed
			})
		}
	}
}

// esc/PX-06: every spelling of a listed name is that name, and leaves no record.
func TestSpellingsOfOneName(t *testing.T) {
	w := newWorld(t, nil)
	want4, want6 := w.addr("ok.test.", dnsmessage.TypeA), w.addr("ok.test.", dnsmessage.TypeAAAA)
	if want4 != netip.MustParseAddr("198.18.0.1") || want6 != netip.MustParseAddr("fd62:7261:696e:626f::c612:1") {
		t.Errorf("the first addresses are %v and %v", want4, want6)
	}
	for _, name := range []string{"OK.TEST.", "oK.tEsT.", "ok.test."} {
		if got := w.addr(name, dnsmessage.TypeA); got != want4 {
			t.Errorf("%s is %v, want %v", name, got, want4)
		}
		if got := w.addr(name, dnsmessage.TypeAAAA); got != want6 {
			t.Errorf("%s is %v, want %v", name, got, want6)
		}
		m := w.ask(name, dnsmessage.TypeA)
		if got := m.Answers[0].Header; got.Name.String() != name || got.TTL != 60 {
			t.Errorf("%s is answered as %v for %d s", name, got.Name, got.TTL)
		}
	}
	other := w.addr("two.test.", dnsmessage.TypeA)
	below := w.addr("a.b.wild.test.", dnsmessage.TypeA)
	if other == want4 || below == want4 || other == below {
		t.Errorf("two names share an address: %v %v %v", want4, other, below)
	}
	if notes := w.take(); len(notes) != 0 {
		t.Errorf("recorded %v, want nothing of what is allowed", notes)
	}
}

func TestOtherTypesOfAListedNameHaveNoData(t *testing.T) {
	w := newWorld(t, nil)
	const https, svcb = 65, 64
	for _, kind := range []dnsmessage.Type{
		https, svcb, dnsmessage.TypeMX, dnsmessage.TypeTXT, dnsmessage.TypeNS, dnsmessage.TypeSOA,
		dnsmessage.TypeCNAME, dnsmessage.TypeSRV, dnsmessage.TypePTR, 0xffff,
	} {
		m := w.ask("ok.test.", kind)
		if m.RCode != dnsmessage.RCodeSuccess || len(m.Answers) != 0 || len(m.Authorities) != 1 || !m.Authoritative {
			t.Errorf("%v: %v, answers %v, authorities %v", kind, m.RCode, m.Answers, m.Authorities)
		}
	}
	if asked := w.sockets.asked; len(asked) != 0 || len(w.take()) != 0 {
		t.Errorf("listeners for %v, want none and no record", asked)
	}
}

// A listed address is no name, and needs no record when somebody asks for it as one.
func TestAListedAddressHasNoName(t *testing.T) {
	w := newWorld(t, nil)
	m := w.ask("192.0.2.1.", dnsmessage.TypeA)
	if m.RCode != dnsmessage.RCodeNameError || len(w.take()) != 0 {
		t.Errorf("answered %v", m.RCode)
	}
}

func TestLocalhostIsTheProgramsOwn(t *testing.T) {
	w := newWorld(t, nil, allow.Rule{Name: "localhost", Port: 8080}, allow.Rule{Name: "ok.test"})
	for _, name := range []string{"localhost.", "LOCALHOST.", "app.localhost."} {
		if got := w.addr(name, dnsmessage.TypeA); got != netip.MustParseAddr("127.0.0.1") {
			t.Errorf("%s is %v", name, got)
		}
		if got := w.addr(name, dnsmessage.TypeAAAA); got != netip.IPv6Loopback() {
			t.Errorf("%s is %v", name, got)
		}
		if m := w.ask(name, dnsmessage.TypeMX); m.RCode != dnsmessage.RCodeSuccess || len(m.Answers) != 0 {
			t.Errorf("MX of %s: %v %v", name, m.RCode, m.Answers)
		}
	}
	if len(w.sockets.asked) != 0 || len(w.take()) != 0 {
		t.Error("localhost has listeners or a record")
	}
}

// ptr is the question for the name of an address.
func ptr(addr netip.Addr) string {
	b := addr.AsSlice()
	var s strings.Builder
	for i := len(b) - 1; i >= 0; i-- {
		if addr.Is4() {
			fmt.Fprintf(&s, "%d.", b[i])
		} else {
			fmt.Fprintf(&s, "%x.%x.", b[i]&0xf, b[i]>>4)
		}
	}
	if addr.Is4() {
		return s.String() + "in-addr.arpa."
	}
	return s.String() + "ip6.arpa."
}

func TestNamesOfAddresses(t *testing.T) {
	w := newWorld(t, nil)
	for _, addr := range []string{"198.18.0.1", "198.18.0.0", "198.19.255.255", "127.0.0.2", "fd62:7261:696e:626f::c612:1", "fd62:7261:696e:626f::1"} {
		if m := w.ask(ptr(netip.MustParseAddr(addr)), dnsmessage.TypePTR); m.RCode != dnsmessage.RCodeNameError {
			t.Errorf("%s before anything was asked for: %v", addr, m.RCode)
		}
	}
	four, six := w.addr("ok.test.", dnsmessage.TypeA), w.addr("ok.test.", dnsmessage.TypeAAAA)
	for addr, want := range map[netip.Addr]string{
		four: "ok.test.", six: "ok.test.",
		netip.MustParseAddr("127.0.0.1"): "localhost.", netip.IPv6Loopback(): "localhost.",
	} {
		m := w.ask(ptr(addr), dnsmessage.TypePTR)
		if m.RCode != dnsmessage.RCodeSuccess || len(m.Answers) != 1 {
			t.Errorf("%v: %v %v", addr, m.RCode, m.Answers)
			continue
		}
		if got := m.Answers[0].Body.(*dnsmessage.PTRResource).PTR.String(); got != want {
			t.Errorf("%v is %s, want %s", addr, got, want)
		}
		if m := w.ask(ptr(addr), dnsmessage.TypeA); m.RCode != dnsmessage.RCodeSuccess || len(m.Answers) != 0 {
			t.Errorf("A of the pointer of %v: %v %v", addr, m.RCode, m.Answers)
		}
	}
	if notes := w.take(); len(notes) != 0 {
		t.Errorf("recorded %v", notes)
	}
}
