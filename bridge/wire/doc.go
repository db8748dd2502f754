// Package wire is what goes over a bridge's socket: one JSON object a line, in a subset of
// JSON-RPC 2.0 (contract bridge-and-gate, sections E.2, E.4 and E.5).
//
//	r := wire.NewReader(conn, wire.ReaderOptions{})
//	for {
//		line, err := r.Next() // valid until the next call
//		if wire.Recoverable(err) { … answer wire.Refusal(err), and go on }
//		m, err := wire.DecodeRequest(line) // of a client; strict
//		…
//	}
//
// A [Reader] has one buffer, bounded by the size of a frame; a frame that was begun must
// end in time. An id is a string, there are no batches, params are an object. What a
// client sends is read strictly, since a misspelt restriction must not vanish; what a
// server sends is read leniently ([DecodeReply]).
//
// # The first words
//
// hello is the first request of every connection. A user interface proves in it that it
// can read a key of the launcher's (section E.3.4). The contract leaves open how the
// server's nonce comes to it; here the server greets it with a notification, before
// anything was asked:
//
//	server  {"jsonrpc":"2.0","method":"event","params":{"topic":"bridge:nonce","seq":0,"time":…,"data":{"nonce":"<64 hex>"}}}
//	client  {"jsonrpc":"2.0","id":"1","method":"hello","params":{"protocol":"brainbox/1","client":"…","proof":"<64 hex>"}}
//
// A nonce belongs to one connection and counts for one hello, so that there is no state
// between a first and a second one. The proof is [Proof]: HMAC-SHA256 with the key over a
// label and the nonce. An agent is not greeted.
//
// # Limits
//
// Descriptors that a peer passes are not received: the kernel drops them. On a Unix socket
// the reader notices that and fails with [ErrAncillary]; credentials that are passed are
// dropped unseen, which is right: nothing reads them. The proof does not tell the client
// who the server is; that is the socket's directory to say.
package wire
