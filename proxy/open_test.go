package proxy

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/proxy/allow"
)

// esc/PX-01, PX-02, PX-15, PX-20: what is refused is neither asked for nor dialled; one
// allowed name is, with a word that comes back.
func TestOnlyAllowedNamesAreAskedFor(t *testing.T) {
	w := newWorld()
	o := newOrigin(t, nil)
	w.at(publicA, 7000, o)
	for _, name := range []string{"ok.test", "denied.test", "evilok.test"} {
		w.answers[name] = [][]netip.Addr{{publicA}}
	}
	s := w.server(t, Config{}, allow.Rule{Name: "ok.test", Port: 7000})
	for _, tc := range []struct {
		host string
		port uint16
		want allow.Reason
	}{
		{"denied.test", 7000, allow.NotListed},
		{"evilok.test", 7000, allow.NotListed},
		{"ok.test", 22, allow.PortClosed},
		{"93.184.215.14", 7000, allow.Literal},
	} {
		p, no := s.open(t.Context(), query(tc.host, tc.port))
		if p != nil || no == nil || no.reason != tc.want {
			t.Errorf("open(%s:%d) = %v, %+v; want %q", tc.host, tc.port, p, no, tc.want)
		}
	}
	asked, dialled, events := w.snapshot()
	if len(asked)+len(dialled) != 0 || len(events) != 4 {
		t.Errorf("asked %q, dialled %v, %d events", asked, dialled, len(events))
	}
	program, _ := carried(t, s, query("OK.test.", 7000))
	reached(t, program)
	one(t, w.wait(t, 6))
	if asked, _, _ = w.snapshot(); !slices.Equal(asked, []string{"ok.test"}) {
		t.Errorf("asked for %q", asked)
	}
}

// esc/PX-20: without rules nothing is let through.
func TestNoRulesNothing(t *testing.T) {
	for name, c := range map[string]Config{"no rules": {}, "empty rules": {Rules: new(allow.Rules)}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c.Resolve, c.Dial, c.Record = w.resolve, w.dial, w.record
			s, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, no := s.open(t.Context(), query("ok.test", 443)); no == nil || no.reason != allow.NotListed {
				t.Errorf("open = %+v", no)
			}
			if asked, dialled, events := w.snapshot(); len(asked)+len(dialled) != 0 || len(events) != 1 {
				t.Errorf("asked %q, dialled %v, events %v", asked, dialled, events)
			}
		})
	}
}

// esc/PX-16: a name that leads to a private address, alone or among public ones, in
// whatever spelling. A listener on loopback sees nobody; the same name with a public answer
// is reached.
func TestPrivateAnswersAreRefused(t *testing.T) {
	private := newOrigin(t, nil)
	port := private.addrPort().Port()
	for _, answer := range [][]string{
		{"127.0.0.1"},
		{"::1"},
		{"::ffff:127.0.0.1"},
		{"0.0.0.0"},
		{"10.0.0.1"},
		{"192.168.1.1"},
		{"169.254.169.254"},
		{"100.64.0.1"},
		{"fd00::1"},
		{"fe80::1"},
		{"fe80::1%lo"},
		{"64:ff9b::7f00:1"},
		{"2002:7f00:1::"},
		{"224.0.0.1"},
		{"93.184.215.14", "127.0.0.1"},
		{"127.0.0.1", "93.184.215.14"},
		{"93.184.215.14", "::ffff:10.0.0.1"},
	} {
		t.Run(answer[0]+" of some", func(t *testing.T) {
			w := newWorld()
			w.at(publicA, port, newOrigin(t, nil))
			var addrs []netip.Addr
			for _, a := range answer {
				addrs = append(addrs, netip.MustParseAddr(a))
			}
			w.answers["ok.test"] = [][]netip.Addr{addrs, {publicA}}
			s := w.server(t, Config{}, allow.Rule{Name: "ok.test", Port: port})
			program, _ := carried(t, s, query("ok.test", port))
			refused(t, program)
			events := w.wait(t, 1)
			if _, dialled, _ := w.snapshot(); events[0].Reason != allow.Private || len(dialled) != 0 {
				t.Errorf("%s; dialled %v", describe(events[0]), dialled)
			}
			program, _ = carried(t, s, query("ok.test", port))
			reached(t, program)
			one(t, w.wait(t, 3))
		})
	}
	if conns, got := private.log(); conns != 0 || got != "" {
		t.Errorf("the private listener saw %d connections, %q", conns, got)
	}
}

// esc/PX-17: a resolver that rebinds. Each connection asks once and goes to the address that
// was checked; the private listener sees nobody.
func TestRebinding(t *testing.T) {
	w := newWorld()
	private, public := newOrigin(t, nil), newOrigin(t, nil)
	port := private.addrPort().Port()
	w.at(publicA, port, public)
	w.answers["ok.test"] = [][]netip.Addr{{publicA}, {netip.MustParseAddr("127.0.0.1")}}
	s := w.server(t, Config{}, allow.Rule{Name: "ok.test", Port: port})

	program, _ := carried(t, s, query("ok.test", port))
	reached(t, program)
	asked, dialled, _ := w.snapshot()
	if len(asked) != 1 || !slices.Equal(dialled, []netip.AddrPort{netip.AddrPortFrom(publicA, port)}) {
		t.Errorf("asked %q, dialled %v", asked, dialled)
	}
	w.wait(t, 2) // its end as well, so that what comes next is the other's
	program, _ = carried(t, s, query("ok.test", port))
	refused(t, program)
	events := w.wait(t, 3)
	one(t, events)
	if last := events[2]; last.Reason != allow.Private {
		t.Error(describe(last))
	}
	if conns, _ := private.log(); conns != 0 {
		t.Errorf("the private listener saw %d connections", conns)
	}
	if conns, got := public.log(); conns != 1 || got != "hello" {
		t.Errorf("the public one saw %d connections, %q", conns, got)
	}
}

// esc/PX-03: an address is let through only where it is listed, with its port; then nothing
// is resolved. A name may lead to it as well.
func TestListedAddress(t *testing.T) {
	w := newWorld()
	o, other := newOrigin(t, nil), newOrigin(t, nil)
	loopback, port := o.addrPort().Addr(), o.addrPort().Port()
	w.answers["ok.test"] = [][]netip.Addr{{netip.MustParseAddr("::ffff:127.0.0.1")}}
	s := w.server(t, Config{},
		allow.Rule{Name: loopback.String(), Port: port}, allow.Rule{Name: "ok.test", Port: port},
		allow.Rule{Name: "ok.test", Port: other.addrPort().Port()})
	for _, to := range []netip.AddrPort{
		netip.AddrPortFrom(loopback, other.addrPort().Port()),
		netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), port),
	} {
		if p, no := s.open(t.Context(), query(to.Addr().String(), to.Port())); p != nil || no == nil {
			t.Errorf("open(%v) = %v, %v", to, p, no)
		}
	}
	if _, no := s.open(t.Context(), query("ok.test", other.addrPort().Port())); no == nil || no.reason != allow.Private {
		t.Errorf("a name that leads to a listed address with another port: %+v", no)
	}
	before, _, _ := w.snapshot()
	program, _ := carried(t, s, query(loopback.String(), port))
	reached(t, program)
	if asked, _, _ := w.snapshot(); len(asked) != len(before) {
		t.Errorf("asked for %q", asked)
	}
	program, _ = carried(t, s, query("ok.test", port))
	reached(t, program)
	one(t, w.wait(t, 7))
	if conns, _ := other.log(); conns != 0 {
		t.Errorf("the listener that is not listed saw %d connections", conns)
	}
}

// esc/PX-22: what the run itself listens on is refused, listed or not, by address or name.
func TestItself(t *testing.T) {
	w := newWorld()
	o, own := newOrigin(t, nil), newOrigin(t, nil)
	loopback := o.addrPort().Addr()
	w.answers["ok.test"] = [][]netip.Addr{{netip.MustParseAddr("::ffff:127.0.0.1")}}
	var rules []allow.Rule
	for _, l := range []*origin{o, own} {
		rules = append(rules, allow.Rule{Name: "127.0.0.1", Port: l.addrPort().Port()},
			allow.Rule{Name: "ok.test", Port: l.addrPort().Port()})
	}
	s := w.server(t, Config{Own: func(a netip.AddrPort) bool { return a == own.addrPort() }}, rules...)
	for _, host := range []string{loopback.String(), "ok.test"} {
		program, _ := carried(t, s, query(host, own.addrPort().Port()))
		refused(t, program)
		program, _ = carried(t, s, query(host, o.addrPort().Port()))
		reached(t, program)
	}
	events := w.wait(t, 6)
	one(t, events)
	var reasons []allow.Reason
	for _, e := range events {
		if !e.Closed {
			reasons = append(reasons, e.Reason)
		}
	}
	slices.Sort(reasons)
	if diff := cmp.Diff([]allow.Reason{"", "", allow.Itself, allow.Itself}, reasons); diff != "" {
		t.Error(diff)
	}
	if conns, _ := own.log(); conns != 0 {
		t.Errorf("the run's own listener saw %d connections", conns)
	}
}

// The next address is tried where one does not answer; where none does, that is the reason.
func TestTheNextAddressIsTried(t *testing.T) {
	w := newWorld()
	dead := newOrigin(t, nil)
	_ = dead.Close()
	w.at(publicB, 7000, dead)
	w.at(publicA, 7000, newOrigin(t, nil))
	w.answers["ok.test"] = [][]netip.Addr{{publicB}, {publicB, publicA}}
	s := w.server(t, Config{}, allow.Rule{Name: "ok.test", Port: 7000}, allow.Rule{Name: "nowhere.test", Port: 7000})
	for _, tc := range []struct {
		host string
		want allow.Reason
	}{{"nowhere.test", allow.Unresolved}, {"ok.test", allow.Unreachable}} {
		if _, no := s.open(t.Context(), query(tc.host, 7000)); no == nil || no.reason != tc.want {
			t.Errorf("open(%s) = %+v, want %q", tc.host, no, tc.want)
		}
	}
	program, _ := carried(t, s, query("ok.test", 7000))
	reached(t, program)
	events := w.wait(t, 4)
	one(t, events)
	if want := netip.AddrPortFrom(publicA, 7000); events[3].Address != want {
		t.Errorf("the event names %v, want %v", events[3].Address, want)
	}
}
