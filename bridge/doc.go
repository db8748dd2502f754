// Package bridge answers the calls that leave a sandbox, and those of its operator.
//
//	s, err := bridge.New(bridge.Config{
//		Session: "s1", Gate: g, Hub: hub, Broker: broker, Key: key,
//		Tools: tools, Redact: redactor.Result,
//	})
//	agent, err := bridge.Listen(filepath.Join(dir, "agent"), "agent.sock")
//	go s.ServeAgent(ctx, agent)
//	…
//	err = s.Shutdown(ctx)
//
// A [Server] serves one session. It has two roles, each with listeners of its own: what a
// connection may do follows from where it came in, never from what it says. An agent calls
// tools; a user interface, which has proved that it can read the launcher's key, reads
// events and answers prompts (contract bridge-and-gate, section E; package wire has the
// frames).
//
// # A call
//
// The order is that of section A.4: frame, strict decoding, validation, session, replay,
// list of tools, capability and operation, gate, dispatch, match, redaction, transcript,
// answer. What fails in the first three is an error of the protocol. From then on there is
// a whole result for every call, and no tool runs that the gate has not allowed for these
// very arguments: a decision is spent on the plan that is carried out, once, and its places
// are let go of on every path.
//
// Tools are of two kinds. Those of the parent ([Parent]) are dispatched somewhere else; a
// rule knows them by their name, and matches the operation. Those of package bridge/tool
// are carried out here; fs.* are calls of some of them.
//
// # Time
//
// A connection says hello within [Limits.Hello]; a frame that was begun ends within
// [Limits.FrameIdle]. All deadlines are monotonic. A call ends when its caller is gone,
// cancels it, or the server shuts down: its context does, and with it the prompt and the
// dispatch. What it had done by then is in its transcript.
//
// # Limits
//
// A peer that ends its side of the connection is gone, also if it would still read. A
// dispatcher that ignores its context keeps its place among the calls in flight until it
// returns. The rates are those of a connection's place, which the next one takes over;
// those of prompts are the broker's.
//
// Peer credentials tell who connected, which tells an agent from an operator only when
// they have different uids; that is why there are two sockets and a key. The pid is for
// logs. A prompt that is too much for a frame is listed in short, and marked.
package bridge
