// Package proxy lets a program in a network namespace of its own reach what its policy names,
// and nothing else. It runs outside, on listeners that were made inside.
//
//	s, err := proxy.New(proxy.Config{Rules: rules, Record: record})
//	…
//	defer s.Close()
//	go s.Carry(ctx, conn, allow.Query{Host: "ok.test", Port: 443, Path: allow.Direct})
//
// Every way in ends in the same passage:
//
//	query ─► allow.Decide ─► resolve once ─► check every answer ─► dial a checked address
//	                                                                ClientHello ─► tunnel
//
// A name is given to the host's resolver only when it is allowed. The address that was
// checked is the one that is dialled, so a name cannot be bound to another one in between; one
// answer that is not public, nor listed as an address with that port, refuses them all.
// Nothing here speaks HTTP to an origin or follows a redirect: the program asks again.
//
// On port 443 nothing goes to the origin before a ClientHello that names the host. On other
// ports whoever speaks first decides: when it is the program, and with TLS, its ClientHello has
// to name the host or nobody; when it is the origin, or the program speaks something else, the
// connection is let through. So there the decision is recorded when the first byte comes, from
// either side, or an end. What begins like TLS, with the bytes 22 and 3, and is no ClientHello is
// refused.
//
// With an upstream, which the operator alone can name, the name goes there: a request for an
// http URL as it is, everything else by CONNECT. Then nothing is resolved here but the
// upstream's own name, for which alone the host's search list counts, and no answer is checked.
//
// Each decision is one [Event], and the end of each passage that was let through another.
// Between two TCP connections bytes are moved by splice(2) and never come into this process,
// but for what is said first.
//
// # Limits
//
// What goes through TLS is not looked at. A client can be let through with the name of an
// allowed host and then ask that host for another one in the encrypted Host header (domain
// fronting), in an encrypted ClientHello whose outer name is the allowed one, or in a second
// ClientHello after a HelloRetryRequest. It reaches what the addresses of the allowed name
// serve. List no name of a network that serves everybody.
//
// On other ports than 443 the name decides where a connection goes, and what is spoken there
// is between the program and that host. TLS is compared if the connection begins with it: not
// behind STARTTLS, a SOCKS or PROXY head, or whatever an origin says first.
//
// A program can make the record as long as it likes, with one decision for each connection.
// Nothing is left out here: who writes it bounds what it holds, and says how much is missing.
//
// An idle connection is kept until TCP's keep-alive finds its peer gone. Without a connection
// nothing is remembered: each one resolves its name again.
//
// A program that ends its side of a connection of its own before that stands, and has sent
// nothing, is taken for one that has left.
//
// Each connection takes six descriptors, and the buffers of two pipes, which count against
// the user's pipe-user-pages-soft (pipe(7)).
package proxy
