package proxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"brainbox/proxy/allow"
)

// dns is a server that knows ok.test, and a log of what it was asked for.
type dns struct {
	net.PacketConn
	mu    sync.Mutex
	asked []string
}

func newDNS(t *testing.T) *dns {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &dns{PacketConn: conn}
	var work sync.WaitGroup
	work.Go(func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer, err := d.answer(buf[:n]); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	})
	t.Cleanup(func() {
		_ = conn.Close()
		work.Wait()
	})
	return d
}

func (d *dns) answer(question []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil || len(m.Questions) != 1 {
		return nil, errors.Join(err, errors.New("want one question"))
	}
	q := m.Questions[0]
	d.mu.Lock()
	d.asked = append(d.asked, q.Name.String()+" "+q.Type.String())
	d.mu.Unlock()
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
	switch {
	case q.Name.String() != "ok.test.":
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: publicA.As4()}}}
	case q.Type == dnsmessage.TypeAAAA:
		m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: publicB.As16()}}}
	}
	return m.Pack()
}

func (d *dns) log() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(d.asked)))
}

// A name is asked for as it is, with both types; no search list makes another one of it.
func TestHostResolver(t *testing.T) {
	d := newDNS(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	resolve := HostResolver(d.LocalAddr().String())
	for _, name := range []string{"denied.test", "ok"} {
		got, err := resolve(ctx, name)
		var asked *net.DNSError
		if !errors.As(err, &asked) || asked.Name != name+"." { // as it was given to the resolver
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	got, err := resolve(ctx, "ok.test")
	for i := range got {
		got[i] = got[i].Unmap()
	}
	slices.SortFunc(got, netip.Addr.Compare)
	if err != nil || !slices.Equal(got, []netip.Addr{publicA, publicB}) {
		t.Errorf("ok.test: %v, %v", got, err)
	}
	want := []string{
		"denied.test. TypeA", "denied.test. TypeAAAA", "ok. TypeA", "ok. TypeAAAA",
		"ok.test. TypeA", "ok.test. TypeAAAA",
	}
	if got := d.log(); !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
	if got, err := HostResolver("dns.corp")(ctx, "ok.test"); err == nil {
		t.Errorf("a server without an address answers %v", got)
	}
}

// What the operator named is asked for as every program of the host would: behind the search
// list, of whatever this host has, the name by itself.
func TestHostSearch(t *testing.T) {
	d := newDNS(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	search := HostSearch(d.LocalAddr().String())
	if got, err := search(ctx, "denied"); err == nil {
		t.Errorf("denied: %v", got)
	}
	if got, err := search(ctx, "ok.test"); err != nil || len(got) != 2 {
		t.Errorf("ok.test: %v, %v", got, err)
	}
	if asked := d.log(); !slices.Contains(asked, "denied. TypeA") {
		t.Errorf("asked for %q", asked)
	}
	var named *net.DNSError
	if _, err := search(ctx, "denied"); !errors.As(err, &named) || named.Name != "denied" { // without a dot it may be searched for
		t.Errorf("%v", err)
	}
}

// esc/PX-16: the server of the operator is asked for allowed names alone.
func TestTheOperatorsResolverIsAskedForAllowedNames(t *testing.T) {
	d := newDNS(t)
	w := newWorld()
	o := newOrigin(t, nil)
	w.at(publicA, 7000, o)
	w.at(publicB, 7000, o)
	s := w.server(t, Config{Resolve: HostResolver(d.LocalAddr().String())}, allow.Rule{Name: "ok.test", Port: 7000})
	for _, host := range []string{"denied.test", "secret.denied.test", "evil\x00.ok.test", "ok.test.evil"} {
		program, _ := carried(t, s, query(host, 7000))
		refused(t, program)
	}
	program, _ := carried(t, s, query("ok.test", 7000))
	reached(t, program)
	if got := d.log(); !slices.Equal(got, []string{"ok.test. TypeA", "ok.test. TypeAAAA"}) {
		t.Errorf("asked for %q", got)
	}
}
