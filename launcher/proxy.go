package launcher

import "brainbox/policy"

// Proxy is who serves the network of a run whose program reaches hosts by name, or whose
// ports are published. The launcher makes the namespaces and the sockets in there, and knows
// nothing of what is said on them.
type Proxy struct {
	// Serve begins to serve a run and does not wait; it is called once for each attempt to
	// start. A check needs none.
	Serve func(NetworkSession) (NetworkService, error)
}

// NetworkSession is the run that somebody serves.
type NetworkSession struct {
	Plan  *Plan
	Facts *Facts
}

// NetworkService serves one run. Its methods are called one after the other, in the order
// in which they stand here; Stop is called whatever went before, and last.
type NetworkService interface {
	// Ready waits until the service can be handed its sockets. It is called when the
	// namespaces are there and before the program starts; an error ends the start.
	Ready() error
	// Hand gives what was made for the program. The descriptors stay the launcher's, which
	// closes them when Hand has returned: who keeps one duplicates it.
	Hand(NetworkSockets) error
	// Stop ends the service. Nothing is reached any more when it has returned.
	Stop()
}

// NetworkSockets are descriptors of the program's network.
type NetworkSockets struct {
	User, Net int // its namespaces (namespaces(7))

	Proxy     int // TCP, listening on [ProxyPort] of 127.0.0.1; -1: mode none
	LookupUDP int // UDP, bound to port 53 of 127.0.0.1; -1: mode none
	LookupTCP int // TCP, listening on the same; -1: mode none
}

// NetworkPlan is what is served, in the order in which it was written.
type NetworkPlan struct {
	Hosts    []policy.Item[policy.Host]
	Upstream string   // http://HOST:PORT; empty: none
	Resolver string   // ADDRESS:PORT of a DNS server in place of the host's; empty: the host's
	Publish  []uint16 // ports of the program that are reached from the host's loopback
	Proxy    bool     // mode proxy; false: mode none, with Publish only
}

// The ports of the program's loopback that are served in mode proxy. No program in there
// can bind them itself: they are privileged, and it has no capability (ip(7)).
const (
	ProxyPort  = 1023
	LookupPort = 53
)
