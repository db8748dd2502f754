// Package envelope has the shapes of calls that leave a sandbox: which may (the bridge), what
// is asked (a request), and what became of it (a result). It reads and writes them; it decides
// nothing (contract bridge-and-gate, section A; schemas
// wp-codebox/parent-tool-{bridge,request,result}/v1).
//
//	req, err := envelope.DecodeRequest(line)
//	if err != nil {
//		return err // *strictjson.Error: a protocol error, and nothing else (section E.5)
//	}
//	if !allowed[req.Tool] {
//		return req.Fail(envelope.Denied, envelope.CodeToolNotAllowed, "not a tool of this session")
//	}
//	answer := call(req.Encode())
//	return envelope.DecodeResult(req, answer) // total: what is wrong with it is a result too
//
// The request that goes on is written anew from what was understood, never the bytes that came.
// Encodings are the same for equal envelopes: keys in the order of the contract, numbers of
// opaque parts as they were spelled.
//
// # Limits
//
// A request says who it believes itself to be; that its session, its list of tools and its
// capability are true is for the caller to check. Its id is unique only when the caller
// remembers those it has seen.
//
// A result that was decoded may hold secrets, and its message may be longer than 2048 bytes:
// package bridge/redact takes out the first and cuts the second. The size of an object that was
// built in Go, and not decoded, is that of its encoding.
package envelope
