package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"brainbox/internal/hostask"
	"brainbox/internal/netask"
	"brainbox/internal/netns"
	"brainbox/proxy"
	"brainbox/proxy/allow"
	"brainbox/proxy/names"
	"brainbox/proxy/publish"
)

// socketsWait bounds the wait for the descriptors: the program's namespaces are made meanwhile.
const socketsWait = time.Minute

// networkEnd bounds the end, which takes less than a second: a machine that gives this process no
// processor for as long loses the last events.
const networkEnd = 5 * time.Second

// network is the outside end of one run's network.
type network struct {
	c         *netask.Config
	server    *proxy.Server
	rules     *allow.Rules
	published []published
	events    *netask.Sender // nil until it serves
	inside    *inside
	unpublish context.CancelFunc // ends what is published
	cancel    context.CancelFunc // ends the rest
	running   sync.WaitGroup
}

// published is one port of the program, at an address of the host's loopback.
type published struct {
	port uint16
	host net.Listener
}

// beginNetwork reads the config and makes everything that can be refused.
func beginNetwork(control io.Reader) (runService, []string, error) {
	line, err := hostask.ReadLine(control)
	if err != nil {
		return nil, nil, err
	}
	c, err := netask.DecodeConfig(line)
	if err != nil {
		return nil, nil, err
	}
	n := &network{c: &c}
	if err := n.prepare(); err != nil {
		n.end()
		return nil, nil, err
	}
	return n, nil, nil
}

func (n *network) prepare() (err error) {
	rules := make([]allow.Rule, 0, len(n.c.Rules))
	for _, r := range n.c.Rules {
		rules = append(rules, allow.Rule{Name: r.Name, Port: r.Port})
	}
	if n.rules, err = allow.New(rules); err != nil {
		return err
	}
	n.server, err = proxy.New(proxy.Config{
		Rules: n.rules, Record: n.record, Own: n.own, Resolve: proxy.HostResolver(n.c.Resolver),
		Upstream: n.c.Upstream, ResolveUpstream: proxy.HostSearch(n.c.Resolver),
	})
	if err != nil {
		return err
	}
	for _, port := range n.c.Publish {
		hosts, err := publish.Listen(port)
		if err != nil {
			return err
		}
		for _, host := range hosts {
			n.published = append(n.published, published{port, host})
		}
	}
	return nil
}

// own reports whether an address of the host leads back to this run.
func (n *network) own(to netip.AddrPort) bool {
	for _, port := range n.c.Publish {
		if to.Port() == port && to.Addr().Unmap().IsLoopback() {
			return true
		}
	}
	return false
}

// serve takes the descriptors, says that they are served, and serves them. Before that, while
// brainbox makes them, it takes from this process what it has no use for: nothing of the
// program has reached it yet.
func (n *network) serve(control *net.UnixConn) error {
	held, err := confine()
	if err != nil {
		return errors.Join(err, sendReply(control, nil, err))
	}
	var warnings []string
	if !held {
		warnings = []string{"brainbox-host serves the network unconfined: there is no Landlock for it"}
	}
	return n.receive(control, warnings)
}

// receive takes the descriptors, and serves them.
func (n *network) receive(control *net.UnixConn, warnings []string) error {
	_ = control.SetReadDeadline(time.Now().Add(socketsWait))
	raw, err := control.SyscallConn()
	if err != nil {
		return err
	}
	s, err := netask.Receive(raw, n.c.Proxy)
	if err != nil {
		return errors.Join(err, sendReply(control, nil, err))
	}
	n.inside = newInside(netns.NS{User: s.User, Net: s.Net})
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	answered := make(chan struct{})
	n.events = netask.NewSender(&after{answered, control})
	err = n.serveAll(ctx, &s)
	sent := sendReply(control, warnings, err)
	close(answered)
	return errors.Join(err, sent)
}

// after writes when something else has been written.
type after struct {
	other <-chan struct{}
	to    io.Writer
}

func (a *after) Write(p []byte) (int, error) {
	<-a.other
	return a.to.Write(p)
}

// serveAll begins to serve everything: what the program asks for is there when it starts.
func (n *network) serveAll(ctx context.Context, s *netask.Sockets) error {
	published, unpublish := context.WithCancel(ctx)
	n.unpublish = unpublish
	for _, p := range n.published {
		n.running.Go(func() { _ = publish.Serve(published, p.host, publish.Loopback(p.port, n.inside.dial)) })
	}
	if !n.c.Proxy {
		return nil
	}
	front, err1 := listener(s.Proxy, "proxy")
	tcp, err2 := listener(s.LookupTCP, "lookup")
	udp, err3 := packets(s.LookupUDP, "lookup")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	lookup, err := names.New(names.Config{Rules: n.rules, Sockets: n.inside, Carry: n.server.Carry, Record: n.note})
	if err != nil {
		return err
	}
	n.running.Go(func() { n.server.ServeProxy(front) })
	n.running.Go(func() { _ = lookup.Serve(ctx, udp, tcp) })
	return lookup.Literals(ctx)
}

// end passes on what the program said last, closes everything, and then tells the last events.
// After networkEnd it is over.
func (n *network) end() {
	for _, p := range n.published {
		_ = p.host.Close()
	}
	if n.unpublish != nil {
		n.unpublish()
	}
	if n.server != nil {
		_ = n.server.Close() // before cancel, which cuts off
	}
	if n.cancel != nil {
		n.cancel()
	}
	n.running.Wait()
	if n.events != nil {
		n.events.Close()
	}
	if n.inside != nil {
		n.inside.close()
	}
}

// record queues an event for brainbox.
func (n *network) record(e proxy.Event) {
	out := netask.Event{
		ID: e.ID, Path: pathWords[e.Path], Host: e.Host, Port: e.Port, Reason: string(e.Reason), Rule: e.Rule,
		Closed: e.Closed, Sent: e.Sent, Received: e.Received, Duration: e.Duration,
	}
	if e.Address.IsValid() {
		out.Address = e.Address.String()
	}
	n.events.Send(out)
}

// note queues what was refused before any connection: nothing follows it, and it has no number.
func (n *network) note(q allow.Query, v allow.Verdict) {
	host := v.Name
	if host == "" {
		host = q.Host[:min(len(q.Host), 255)]
	}
	n.events.Send(netask.Event{Path: pathWords[q.Path], Host: host, Port: q.Port, Reason: string(v.Reason), Rule: v.Rule})
}

// pathWords are the paths in the words of the records.
var pathWords = [...]string{
	allow.Connect: "connect", allow.Request: "http", allow.Socks: "socks", allow.Direct: "direct", allow.Lookup: "lookup",
}

// listener takes a listening socket over.
func listener(fd int, name string) (net.Listener, error) {
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return net.FileListener(f)
}

// packets takes a bound datagram socket over.
func packets(fd int, name string) (net.PacketConn, error) {
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return net.FilePacketConn(f)
}
