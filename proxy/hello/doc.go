// Package hello reads whom a TLS client asks for, before anything of it is passed on.
//
//	for {
//		n, err := conn.Read(buf[len(buf):hello.Limit])
//		…
//		switch name, state := hello.ServerName(buf); state {
//		case hello.More:
//			continue
//		case hello.Found:
//			// verdict.Accepts(name)
//		}
//	}
//
// It is a parser of its own. The library's way, a crypto/tls server on a false connection
// that is broken off in GetConfigForClient, takes 8.3 µs, 10 KiB and 42 allocations for the
// hello of a Go client (this: 0.3 µs, 8 bytes, one), blocks in a goroutine while bytes are
// missing, has to be fed through a copy of what it consumes, takes messages of 64 KiB, and
// accepts what stands behind the hello in its record. A test compares the names of both.
//
// # Limits
//
// The name is the client's word, in clear: whoever controls both ends can name one server
// and talk to another behind it (domain fronting), and with Encrypted ClientHello the name
// is the outer one. A second hello, after a HelloRetryRequest or in a renegotiation, is not
// seen. What the peer proves with its certificate is between it and the client.
package hello
