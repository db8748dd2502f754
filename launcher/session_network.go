package launcher

import (
	"errors"

	"golang.org/x/sys/unix"

	"brainbox/internal/netns"
)

// network is who serves the program's network while it lives.
type network struct{ service NetworkService }

// serveNetwork has the service begin; it gets ready while the rest is prepared.
func (s *session) serveNetwork() error {
	if s.plan.Network == nil {
		return nil
	}
	if p := s.facts.Proxy; p == nil || p.Serve == nil {
		return &Refusal{
			Status: StatusRefused, Clause: "hosts", Message: "hosts: nobody serves the network of the program",
			Hint: "brainbox run does",
		}
	}
	service, err := s.facts.Proxy.Serve(NetworkSession{Plan: s.plan, Facts: s.facts})
	if err != nil {
		return networkRefusal("begin", err)
	}
	s.network = &network{service}
	return nil
}

// close ends the service: nothing is reached any more.
func (n *network) close() {
	if n != nil {
		n.service.Stop()
	}
}

// joined is what a start calls when the program's namespaces are there and nothing runs in
// them; nil: nobody serves them.
func (s *session) joined() func(user, net int) error {
	if s.network == nil {
		return nil
	}
	return func(user, net int) error {
		return s.network.connect(netns.NS{User: user, Net: net}, s.plan.Network.Proxy)
	}
}

// connect makes what is served, and hands it over. The program starts when it has returned,
// so that nothing it does comes too early.
func (n *network) connect(ns netns.NS, proxy bool) error {
	out := NetworkSockets{User: ns.User, Net: ns.Net, Proxy: -1, LookupUDP: -1, LookupTCP: -1}
	if proxy {
		fds, err := listeners(ns)
		if err != nil {
			return err
		}
		defer closeAll(fds)
		out.Proxy, out.LookupUDP, out.LookupTCP = fds[0], fds[1], fds[2]
	}
	if err := n.service.Ready(); err != nil {
		return networkRefusal("get ready", err)
	}
	if err := n.service.Hand(out); err != nil {
		return networkRefusal("hand over", err)
	}
	return nil
}

// listeners makes every address one of the program's own, and then the sockets of the proxy
// and of the resolver.
func listeners(ns netns.NS) ([]int, error) {
	fds, err := ns.Sockets(netns.Routing(), netns.TCP4(), netns.UDP4(), netns.TCP4())
	if err != nil {
		return nil, networkRefusal("sockets", err)
	}
	_, err = netns.Up(fds[0])
	unix.Close(fds[0])
	fds = fds[1:]
	if err != nil {
		closeAll(fds)
		return nil, networkRefusal("routes", err)
	}
	for i, port := range [...]int{ProxyPort, LookupPort, LookupPort} {
		if err := netns.Listen(fds[i], &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			closeAll(fds)
			return nil, networkRefusal("port "+itoa(port), err)
		}
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// networkRefusal says which step ended the start, and what starts without. Where the service
// knows better what helps, its own word stands.
func networkRefusal(step string, err error) *Refusal {
	var own *Refusal
	if errors.As(err, &own) {
		return own
	}
	return &Refusal{
		Status: StatusRefused, Clause: "hosts", Message: "hosts: the network of the program: " + step + ": " + err.Error(),
		Hint: "--net none without --publish needs nobody outside; --net ports takes the host's network",
	}
}
