package main

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	seen "brainbox/internal/explain"
	"brainbox/internal/hostask"
	"brainbox/internal/netask"
	"brainbox/launcher"
	"brainbox/policy"
	"brainbox/proxy/allow"
)

// lastWait is how long the last events of a run may take: brainbox-host closes everything
// within five seconds, and as a rule within one.
const lastWait = 7 * time.Second

// networkRun is what brainbox hears of the network of one run.
type networkRun struct {
	w     io.Writer
	lines *statusLines
	begun chan struct{} // closed when "started" is written, or never will be
	once  sync.Once
	seen  refusals
}

// newNetwork is for a run whose program reaches hosts by name or is reached from the host's
// loopback; nil: it is neither.
func newNetwork(c *cli.Context, p *policy.Policy) *networkRun {
	if p.Network.Mode.V != policy.NetProxy && len(p.Network.Publish) == 0 {
		return nil
	}
	return &networkRun{w: c.App.ErrWriter, begun: make(chan struct{})}
}

// asked is what the launcher needs of it.
func (n *networkRun) asked() *launcher.Proxy {
	if n == nil {
		return nil
	}
	return &launcher.Proxy{Serve: n.serve}
}

// listen has events written as status lines.
func (n *networkRun) listen(lines *statusLines) {
	if n != nil {
		n.lines = lines
	}
}

// tell says what was refused.
func (n *networkRun) tell() {
	if n != nil {
		n.seen.tell(n.w)
	}
}

// explain moves what an entry would allow to the report of an explained run.
func (n *networkRun) explain(r *seen.Report) {
	if n == nil {
		return
	}
	n.seen.take(func(one *refusal, times int) {
		name := strings.TrimPrefix(one.hint(), hostFlag)
		d := &seen.Denial{Host: one.host, Count: int64(times)}
		d.Port, d.Certainty = one.port, seen.Proven
		d.Judgement = launcher.Judgement{
			Verdict: launcher.Refused, Clause: "hosts", Reason: one.why(),
			Remedy: launcher.Remedy{Flag: one.hint(), Line: "[network]\nallow_hosts = [" + strconv.Quote(name) + "]"},
		}
		r.Add(d)
	})
}

// begin lets events be told: none comes before the line "started".
func (n *networkRun) begin() {
	if n != nil {
		n.once.Do(func() { close(n.begun) })
	}
}

// serve starts brainbox-host for one run, and does not wait for it.
func (n *networkRun) serve(s launcher.NetworkSession) (launcher.NetworkService, error) {
	h, err := startHost(n.w, "proxy", "the network is closed", nil, true)
	if err != nil {
		return nil, err
	}
	p := s.Plan.Network
	if err := h.tell(networkConfig(p).Encode()); err != nil {
		h.kill()
		return nil, err
	}
	return &networkService{n: n, host: h, plan: p}, nil
}

func networkConfig(p *launcher.NetworkPlan) *netask.Config {
	c := &netask.Config{Upstream: p.Upstream, Resolver: p.Resolver, Publish: p.Publish, Proxy: p.Proxy}
	for _, h := range p.Hosts {
		c.Rules = append(c.Rules, netask.Rule{Name: h.V.Name, Port: h.V.Port})
	}
	return c
}

// hostRules compiles the entries of a plan as brainbox-host does, which a policy may have
// written in a way that names no host.
func hostRules(p *launcher.NetworkPlan) (*allow.Rules, error) {
	list := make([]allow.Rule, 0, len(p.Hosts))
	for _, h := range p.Hosts {
		list = append(list, allow.Rule{Name: h.V.Name, Port: h.V.Port, Source: h.Source})
	}
	rules, err := allow.New(list)
	if err != nil {
		err = ofHosts(refuse("hosts: "+strings.TrimPrefix(err.Error(), "allow: "), "an entry is the name of one host, *.NAME for all below it, or one host's address"))
	}
	return rules, err
}

// networkService is brainbox-host while it serves the network of a run.
type networkService struct {
	n      *networkRun
	host   *hostProcess
	plan   *launcher.NetworkPlan
	handed bool
}

var _ launcher.NetworkService = (*networkService)(nil)

// Ready waits for the answer to the config.
func (s *networkService) Ready() error { return ofHosts(s.host.ready("network")) }

// ofHosts names the clause that refuses.
func ofHosts(err error) error {
	var r *launcher.Refusal
	if errors.As(err, &r) {
		r.Clause = "hosts"
	}
	return err
}

// Hand sends the descriptors, and returns when the host serves them. From then on events come.
func (s *networkService) Hand(l launcher.NetworkSockets) error {
	control, err := s.host.control.SyscallConn()
	if err != nil {
		return err
	}
	sockets := netask.Sockets{User: l.User, Net: l.Net, Proxy: l.Proxy, LookupUDP: l.LookupUDP, LookupTCP: l.LookupTCP}
	if err := sockets.Send(control, s.plan.Proxy); err != nil {
		return ofHosts(unanswered(err))
	}
	events := netask.NewReader(s.host.control)
	line, err := events.Reply()
	if err != nil {
		return ofHosts(unanswered(err))
	}
	reply, err := hostask.DecodeReply(line)
	if err := s.host.judge("network", &reply, err); err != nil {
		return ofHosts(err)
	}
	s.host.served()
	s.handed = true
	go s.host.watch(func() { s.read(events) })
	return nil
}

// read takes the events until the last one. After what cannot be told apart the control socket
// is read on, or the host would wait.
func (s *networkService) read(events *netask.Reader) {
	<-s.n.begun
	for {
		e, err := events.Next()
		if err != nil {
			_, _ = io.Copy(io.Discard, s.host.control)
			return
		}
		s.n.note(&e, s.plan)
	}
}

// note tells one event, and counts it.
func (n *networkRun) note(e *netask.Event, p *launcher.NetworkPlan) {
	entry := ""
	if e.Rule >= 0 && e.Rule < len(p.Hosts) {
		entry = p.Hosts[e.Rule].V.String()
	}
	n.lines.network(e, entry)
	n.seen.add(e)
}

// Stop has the host close everything, takes its last events, and ends it.
func (s *networkService) Stop() {
	s.host.expect()
	s.n.begin()
	if s.handed {
		if control, err := s.host.control.SyscallConn(); err == nil {
			_ = control.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
		}
		late := time.NewTimer(lastWait)
		defer late.Stop()
		select {
		case <-s.host.watched:
		case <-late.C:
			printf(s.n.w, "brainbox: brainbox-host did not end and was killed: what it decided last is not known\n")
		}
	}
	s.host.kill()
}
