// Package publish makes a port of a program in a network namespace of its own reachable on
// the host's loopback: the way in for a development server.
//
//	hosts, err := publish.Listen(8080) // 127.0.0.1:8080 and [::1]:8080 of the host
//	for _, host := range hosts {
//		go publish.Serve(ctx, host, publish.Loopback(8080, inside.Dial))
//	}
//
// Each connection is joined with one to the same port of the program's own loopback. Nothing
// of the program is outside: it cannot tell this from a connection that it made itself, and
// what it writes reaches only who connected.
//
// # Limits
//
// Only the host's loopback is bound, never an address of a network. But every local user may
// connect there, whoever started the run, and so may every page in a local browser, as with
// any development server: what the program offers on that port is offered to them. There is
// no record of such connections: they are made by the host, not by the program.
//
// TCP only. The program sees its own loopback as the peer.
package publish
