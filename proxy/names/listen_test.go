package names

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"brainbox/proxy/allow"
)

func at(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

func equal[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// Listeners are there before the answer, for the family that was asked for and no other, and
// are made once.
func TestListenersOfOneFamily(t *testing.T) {
	w := newWorld(t, nil)
	w.addr("two.test.", dnsmessage.TypeA)
	equal(t, "after A", w.sockets.open(), at("198.18.0.1:443"), at("198.18.0.1:8080"))
	w.addr("two.test.", dnsmessage.TypeA)
	w.addr("two.test.", dnsmessage.TypeAAAA)
	w.addr("two.test.", dnsmessage.TypeAAAA)
	equal(t, "after AAAA", w.sockets.open(), at("198.18.0.1:443"), at("198.18.0.1:8080"),
		at("[fd62:7261:696e:626f::c612:1]:443"), at("[fd62:7261:696e:626f::c612:1]:8080"))
	if len(w.sockets.asked) != 4 {
		t.Errorf("asked for %v, want each once", w.sockets.asked)
	}
}

func TestManyAtOnceMakeListenersOnce(t *testing.T) {
	release := make(chan struct{})
	w := newWorld(t, func(c *Config) {
		c.Sockets = &slowSockets{Sockets: c.Sockets, port: 80, reached: make(chan struct{}), release: release}
	})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { w.answer(w.ctx, query(t, "ok.test.", dnsmessage.TypeA)) })
	}
	uses := func() int {
		w.table.mu.Lock()
		defer w.table.mu.Unlock()
		if e := w.table.names["ok.test"]; e != nil {
			return e.uses
		}
		return 0
	}
	for deadline := time.Now().Add(generous); uses() < 50; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of 50 questions are under way", uses())
		}
	}
	close(release)
	all.Wait()
	equal(t, "open", w.sockets.open(), at("198.18.0.1:80"), at("198.18.0.1:443"))
	if len(w.sockets.asked) != 2 {
		t.Errorf("asked for %v, want each once", w.sockets.asked)
	}
}

func TestWithoutIPv6ThereIsNoAAAA(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Sockets = only4{c.Sockets} }, allow.Rule{Name: "ok.test"}, allow.Rule{Name: "2001:db8::1", Port: 22})
	if err := w.Literals(w.ctx); err != nil {
		t.Fatal(err)
	}
	m := w.ask("ok.test.", dnsmessage.TypeAAAA)
	if m.RCode != dnsmessage.RCodeSuccess || len(m.Answers) != 0 || len(m.Authorities) != 1 || len(w.take()) != 0 {
		t.Errorf("AAAA: %v %v", m.RCode, m.Answers)
	}
	w.addr("ok.test.", dnsmessage.TypeA)
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	if w.table.sockets != 2 {
		t.Errorf("%d sockets are counted, want 2", w.table.sockets)
	}
}

// only4 is a kernel without IPv6.
type only4 struct{ Sockets }

func (o only4) Listen(at netip.AddrPort) (net.Listener, error) {
	if at.Addr().Is6() {
		return nil, os.NewSyscallError("socket", syscall.EAFNOSUPPORT)
	}
	return o.Sockets.Listen(at)
}

// A connection is known by where it arrived: the name and the port, never what else is said.
func TestAConnectionIsForItsNameAndPort(t *testing.T) {
	w := newWorld(t, nil)
	if err := w.Literals(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.addr("ok.test.", dnsmessage.TypeA)
	w.addr("a.b.wild.test.", dnsmessage.TypeAAAA)
	for to, want := range map[string]allow.Query{
		"198.18.0.1:443":                    {Host: "ok.test", Port: 443, Path: allow.Direct},
		"198.18.0.1:80":                     {Host: "ok.test", Port: 80, Path: allow.Direct},
		"[fd62:7261:696e:626f::c612:2]:443": {Host: "a.b.wild.test", Port: 443, Path: allow.Direct},
		"192.0.2.1:22":                      {Host: "192.0.2.1", Port: 22, Path: allow.Direct},
	} {
		conn := w.sockets.dial(t, at(to))
		if got := w.nextQuery(); got != want {
			t.Errorf("a connection to %s is %+v, want %+v", to, got, want)
		}
		conn.Close()
	}
}

// A port that the program has at every address: the other ports are answered, and it is told
// once what is missing.
func TestAPortThatTheProgramHas(t *testing.T) {
	w := newWorld(t, nil)
	w.sockets.fail(8080, syscall.EADDRINUSE)
	w.addr("two.test.", dnsmessage.TypeA)
	w.addr("two.test.", dnsmessage.TypeA)
	equal(t, "open", w.sockets.open(), at("198.18.0.1:443"))
	taken := note{allow.Query{Host: "two.test", Port: 8080, Path: allow.Lookup}, allow.Verdict{Reason: allow.PortTaken, Name: "two.test", Rule: -1}}
	equal(t, "records", w.take(), taken)

	w.sockets.fail(443, syscall.EMFILE) // what is bound stays
	w.addr("two.test.", dnsmessage.TypeA)
	if m := w.ask("two.test.", dnsmessage.TypeAAAA); m.RCode != dnsmessage.RCodeServerFailure || len(m.Answers) != 0 {
		t.Errorf("without any port: %v %v, want SERVFAIL", m.RCode, m.Answers)
	}
	busy := note{allow.Query{Host: "two.test", Port: 443, Path: allow.Lookup}, allow.Verdict{Reason: allow.Busy, Name: "two.test", Rule: -1}}
	equal(t, "records", w.take(), busy)

	w.sockets.fail(443, nil)
	w.sockets.fail(8080, nil)
	w.addr("two.test.", dnsmessage.TypeA)
	w.addr("two.test.", dnsmessage.TypeAAAA)
	if got := w.sockets.open(); len(got) != 4 || len(w.take()) != 0 {
		t.Errorf("when the ports are free again: %v", got)
	}
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	if w.table.sockets != 4 {
		t.Errorf("%d sockets are counted, want 4", w.table.sockets)
	}
}

func TestTheNameUsedLongestAgoIsForgotten(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.Names = 3 })
	wild := func(i int) netip.Addr { return w.addr(fmt.Sprintf("n%d.wild.test.", i), dnsmessage.TypeA) }
	first := wild(1)
	conn := w.sockets.dial(t, netip.AddrPortFrom(first, 443))
	w.nextQuery() // n1 is in use from here on
	second, third := wild(2), wild(3)
	wild(2)
	fourth := wild(4) // n3 goes: n1 is older, but in use
	equal(t, "open", w.sockets.open(), netip.AddrPortFrom(first, 443), netip.AddrPortFrom(second, 443), netip.AddrPortFrom(fourth, 443))
	if again := wild(3); again == third { // n2 goes
		t.Errorf("%v was given twice", again)
	}
	if m := w.ask(ptr(second), dnsmessage.TypePTR); m.RCode != dnsmessage.RCodeNameError {
		t.Errorf("the name that was forgotten still has %v: %v", second, m.RCode)
	}
	send(t, conn, []byte("x"))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Errorf("the connection of a name that others came after: %v", err)
	}
	if len(w.take()) != 0 {
		t.Error("forgetting is recorded")
	}
}

func TestWhenEveryNameIsInUse(t *testing.T) {
	for what, limits := range map[string]Limits{"names": {Names: 2}, "sockets": {Sockets: 2}} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, func(c *Config) { c.Limits = limits })
			for _, name := range []string{"n1.wild.test.", "n2.wild.test."} {
				w.sockets.dial(t, netip.AddrPortFrom(w.addr(name, dnsmessage.TypeA), 443))
				w.nextQuery()
			}
			m := w.ask("n3.wild.test.", dnsmessage.TypeA)
			notes := w.take()
			if m.RCode != dnsmessage.RCodeServerFailure || len(notes) != 1 || notes[0].v.Reason != allow.Busy {
				t.Errorf("one name too many: %v, recorded %v", m.RCode, notes)
			}
			w.addr("n1.wild.test.", dnsmessage.TypeA)
			if got := len(w.sockets.open()); got != 2 {
				t.Errorf("%d listeners", got)
			}
		})
	}
}

func TestSocketsAreBounded(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.Sockets = 5 })
	if err := w.Literals(w.ctx); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		w.addr(fmt.Sprintf("n%d.wild.test.", i), dnsmessage.TypeA)
		w.addr(fmt.Sprintf("n%d.wild.test.", i), dnsmessage.TypeAAAA)
		if got := len(w.sockets.open()); got > 5 {
			t.Fatalf("%d listeners, want at most 5", got)
		}
	}
	if got := w.sockets.open(); got[0] != at("192.0.2.1:22") {
		t.Errorf("the listed address was forgotten: %v", got)
	}
}

// An address is not given again before all the others were, nor while an answer with the name
// that had it holds.
func TestAddressesGoRound(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.Names = 2 }, allow.Rule{Name: "*.wild.test"},
		allow.Rule{Name: "198.18.0.2", Port: 22}, allow.Rule{Name: "fd62:7261:696e:626f::c612:3", Port: 22})
	var now atomic.Int64 // seconds
	w.table.now = func() time.Time { return w.table.begun.Add(time.Duration(now.Load()) * time.Second) }
	names := map[int]bool{}
	for i := range poolSize - 2 {
		e := w.table.use(fmt.Sprintf("n%d.wild.test", i))
		if names[e.number] || e.number == 1 || e.number == 2 {
			t.Fatalf("name %d has number %d, which was given, or is listed", i, e.number)
		}
		names[e.number] = true
		w.table.release(e)
	}
	for _, at := range []int64{0, 1, ttl} {
		now.Store(at)
		m := w.ask("again.wild.test.", dnsmessage.TypeA)
		if refused := w.take(); m.RCode != dnsmessage.RCodeServerFailure || len(refused) != 1 || refused[0].v.Reason != allow.Busy || len(w.table.names) != 2 {
			t.Errorf("after %d seconds: %v %v, and %v", at, m.RCode, m.Answers, refused)
		}
	}
	now.Store(ttl + 1)
	if e := w.table.use("again.wild.test"); e == nil || e.number != 0 {
		t.Errorf("after all the others comes %+v, want number 0", e)
	}
}

func TestListedAddresses(t *testing.T) {
	var rules []allow.Rule
	for _, addr := range []string{"127.0.0.1", "::1", "127.8.8.8", "fe80::1", "169.254.1.1", "192.0.2.1", "2001:db8::1"} {
		rules = append(rules, allow.Rule{Name: addr, Port: 5432})
	}
	w := newWorld(t, nil, rules...)
	if err := w.Literals(w.ctx); err != nil {
		t.Fatal(err)
	}
	equal(t, "open", w.sockets.open(), at("169.254.1.1:5432"), at("192.0.2.1:5432"), at("[2001:db8::1]:5432"))
	for _, addr := range []string{"0.0.0.0", "::", "224.0.0.1", "ff02::1", "::1", "127.0.0.1", "fe80::1"} {
		if listenable(netip.MustParseAddr(addr)) {
			t.Errorf("%s would be listened at", addr)
		}
	}
}

func TestAListedAddressThatCannotBeListenedAt(t *testing.T) {
	w := newWorld(t, nil)
	w.sockets.fail(22, syscall.EADDRNOTAVAIL)
	err := w.Literals(w.ctx)
	if !errors.Is(err, syscall.EADDRNOTAVAIL) || !strings.Contains(err.Error(), "192.0.2.1:22") {
		t.Errorf("Literals() = %v", err)
	}
	w.sockets.fail(22, nil)
	if err := w.Literals(w.ctx); err != nil {
		t.Errorf("Literals() = %v", err)
	}
}

func TestAConfigWithoutItsPartsIsRefused(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("New() of nothing succeeds")
	}
}

func TestTheStandardLimits(t *testing.T) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	got := Limits{Clients: 5}.filled()
	want := Limits{Names: 1024, Sockets: min(int(files.Cur/4), 2048), Clients: 5}
	if got != want {
		t.Errorf("the limits are %+v, want %+v", got, want)
	}
}
