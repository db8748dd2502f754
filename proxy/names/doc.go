// Package names lets programs that know nothing of a proxy connect by name: a resolver that
// knows the names of the policy, and listeners at the addresses that it hands out.
//
//	server, err := names.New(names.Config{Rules: rules, Sockets: inside, Carry: egress.Carry, Record: record})
//	…
//	err = server.Literals(ctx) // before the program runs
//	err = server.Serve(ctx, udp, tcp) // 127.0.0.1:53, made inside the program's namespace
//
// A name that the rules list gets an address of its own from 198.18.0.0/15 (RFC 2544, meant
// for benchmarks and routed nowhere) and one from a unique local prefix (RFC 4193). Inside the
// namespace every address is a local one, and before an answer is sent there is a listener at
// that address for each port that the rules list with the name. What is accepted there is
// known by its local address, getsockname(2): the name and the port, and goes to Carry, which
// decides, resolves and connects as for every other way. Every other name does not exist.
//
// No question ever leaves: nothing here asks a resolver. The host's side asks one when a
// connection is made, for a name that was allowed.
//
// # The resolver
//
// A and AAAA of a listed name have one answer; HTTPS, SVCB, MX and all other types have no
// data. Names that are not listed do not exist (NXDOMAIN), with one record each; what has
// bytes that no host name has, ANY, transfers, other classes and other operations are refused
// as a resolver refuses them. The name of an address that was handed out is known (PTR), and
// so are localhost and what is below it (RFC 6761), which is always the program's own
// loopback. Answers hold for 60 seconds, in all parts of the DNS.
//
// # Limits
//
// Listeners are made when a name is first asked for, for the family that is asked for. Beyond
// [Limits].Names or [Limits].Sockets the name that was used longest ago and has no connection
// is forgotten: its listeners are closed, and it gets another address when it is asked for
// again. An address is not given to a second name until all 130 048 were handed out, nor while
// an answer with it may hold: who asks for so many names within 60 seconds gets SERVFAIL for
// new ones. Whoever keeps an address for longer than that may reach another name that is
// allowed, and over TLS is found out by its ClientHello.
//
// A port that the program itself has bound at every address (0.0.0.0 or [::], from 1024 up:
// it can bind none below) can't be listened on at another. The other ports are; what is
// missing has a record with the reason [allow.PortTaken]; if none is left the answer is SERVFAIL.
// The other way round the program's bind(2) of such a port at every address fails with
// EADDRINUSE once a name with that port was asked for; at 127.0.0.1 it succeeds always.
//
// # Addresses in the rules
//
// A listed address has listeners at that very address. One of the loopback, an unspecified or
// a multicast one, and a link-local one of IPv6, which bind(2) wants an interface for, has none:
// it is reachable by the proxy alone, so that the program's loopback stays its own.
package names
