package names

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver is Go's own, which asks one server by one protocol.
func resolver(network, address string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}}
}

// esc/NW-07, esc/NW-08: by UDP and by TCP, a name that is not listed does not exist, and the
// client believes that at once.
func TestARealClient(t *testing.T) {
	w, udp, tcp, _ := served(t, nil)
	for network, address := range map[string]string{"udp": udp, "tcp": tcp} {
		t.Run(network, func(t *testing.T) {
			r := resolver(network, address)
			for _, name := range []string{"denied.test.", "c2VjcmV0.attacker.test.", "ok.test.evil."} {
				got, err := r.LookupHost(t.Context(), name)
				var dns *net.DNSError
				if !errors.As(err, &dns) || !dns.IsNotFound || dns.IsTemporary {
					t.Errorf("%s: %v, %v; want not found", name, got, err)
				}
				if notes := w.take(); len(notes) == 0 || len(notes) > 2 { // A and AAAA, asked once each
					t.Errorf("%s: %d records", name, len(notes))
				}
			}
			if got, err := r.LookupTXT(t.Context(), "ok.test."); err == nil {
				t.Errorf("TXT of a listed name: %v", got)
			}
			for family, want := range map[string]string{"ip4": "198.18.0.1", "ip6": "fd62:7261:696e:626f::c612:1"} {
				got, err := r.LookupNetIP(t.Context(), family, "ok.test.")
				if err != nil || len(got) != 1 || got[0] != netip.MustParseAddr(want) {
					t.Errorf("%s of ok.test: %v, %v; want %s", family, got, err, want)
				}
			}
			if got, err := r.LookupAddr(t.Context(), "198.18.0.1"); err != nil || !slices.Equal(got, []string{"ok.test."}) {
				t.Errorf("the name of 198.18.0.1: %v, %v", got, err)
			}
			if notes := w.take(); len(notes) != 0 {
				t.Errorf("records of what is allowed: %v", notes)
			}
		})
	}
}

// A listener that takes its time for one name does not keep the others waiting.
func TestOneSlowNameDoesNotHoldUpOthers(t *testing.T) {
	release := make(chan struct{})
	var held *slowSockets
	_, udp, _, _ := served(t, func(c *Config) {
		held = &slowSockets{Sockets: c.Sockets, port: 5432, reached: make(chan struct{}), release: release}
		c.Sockets = held
	})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	asking.Go(func() { _, _ = resolver("udp", udp).LookupNetIP(ctx, "ip4", "db.test.") })
	select {
	case <-held.reached:
	case <-time.After(generous):
		t.Fatal("nobody asked for the slow one")
	}
	for range 100 {
		if _, err := resolver("udp", udp).LookupNetIP(t.Context(), "ip4", "ok.test."); err != nil {
			t.Fatal(err)
		}
	}
}

type slowSockets struct {
	Sockets
	port    uint16
	once    sync.Once
	reached chan struct{}
	release chan struct{}
}

func (s *slowSockets) Listen(at netip.AddrPort) (net.Listener, error) {
	if at.Port() == s.port {
		s.once.Do(func() { close(s.reached) })
		<-s.release
	}
	return s.Sockets.Listen(at)
}

// 20 000 datagrams of all kinds: no more goroutines than there were, names and sockets within
// their limits, and an answer afterwards.
func TestAFlood(t *testing.T) {
	w, udp, _, _ := served(t, func(c *Config) { c.Limits.Names, c.Limits.Sockets = 20, 30 })
	before := runtime.NumGoroutine()
	conn, err := net.Dial("udp", udp)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	kinds := [][]byte{
		query(t, "denied.test.", dnsmessage.TypeA), raw([4]byte{1}, "\xc0\x0c"+inA),
		{1, 2, 3},
		bytes.Repeat([]byte{0xff}, 4000), raw([4]byte{1, 0, 0, 2}, okA+opt+opt),
	}
	for i := range 20_000 {
		msg := kinds[i%len(kinds)]
		if i%7 == 0 {
			msg = query(t, fmt.Sprintf("n%d.wild.test.", i), dnsmessage.TypeA)
		}
		send(t, conn, msg) // what the kernel has no room for it drops
	}
	deadline := time.Now().Add(generous)
	for { // the questions before it may fill the buffer
		_, err := resolver("udp", udp).LookupNetIP(t.Context(), "ip4", "ok.test.")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no answer after the flood: %v", err)
		}
	}
	if got := len(w.sockets.open()); got > 30 {
		t.Errorf("%d listeners, want at most 30", got)
	}
	if after := runtime.NumGoroutine(); after > before+60 {
		t.Errorf("%d goroutines, before it %d", after, before)
	}
}

func TestTheEndClosesEverything(t *testing.T) {
	w, udp, tcp, end := served(t, nil)
	if err := w.Literals(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := resolver("udp", udp).LookupHost(t.Context(), "ok.test."); err != nil {
		t.Fatal(err)
	}
	idle := dialTCP(t, tcp)
	send(t, idle, framed(query(t, "ok.test.", dnsmessage.TypeA)))
	next(t, idle)
	carried := w.sockets.dial(t, at("198.18.0.1:443"))
	w.nextQuery()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	for name, conn := range map[string]net.Conn{"the resolver's client": idle, "a carried connection": carried} {
		if err := conn.SetDeadline(time.Now().Add(generous)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s still lives: %v", name, err)
		}
	}
	if got := w.sockets.open(); len(got) != 0 {
		t.Errorf("still open: %v", got)
	}
	if conn, err := net.DialTimeout("tcp", tcp, generous); err == nil { // somebody else's by now
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write(framed(query(t, "ok.test.", dnsmessage.TypeA)))
		if got, _ := io.ReadAll(conn); len(got) > 12 && got[2] == 0xbe && got[3] == 0xef {
			t.Error("the resolver is still there")
		}
	}
	if err := w.Literals(t.Context()); err == nil || len(w.sockets.open()) != 0 {
		t.Errorf("after the end Literals() = %v, open %v", err, w.sockets.open())
	}
	m := w.ask("n1.wild.test.", dnsmessage.TypeA)
	if m.RCode != dnsmessage.RCodeServerFailure || len(w.sockets.open()) != 0 {
		t.Errorf("after the end a name is answered: %v", m.RCode)
	}
}

func TestASocketThatFailsIsAnError(t *testing.T) {
	w := newWorld(t, nil)
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp.Close()
	if err := w.Serve(t.Context(), udp, tcp); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve() = %v, want %v", err, net.ErrClosed)
	}
	if err := udp.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the other socket was left open")
	}
}
