// Package client is the other end of a bridge: for a program inside a sandbox, and for the
// operator outside.
//
//	c, err := client.Open(ctx, client.Options{}) // BRAINBOX_SOCKET, or BRAINBOX_BRIDGE_FD
//	if err != nil {
//		return client.Unavailable("read_file", err), nil // and nothing is done here instead
//	}
//	defer c.Close()
//	res, err := c.Call(ctx, "read_file", &input)
//
// Calls may be made by many goroutines at once; they go over one stream. When a call's
// context ends, the host is told to stop, and has a second to say what became of it.
//
// [OpenUI] is for the operator's socket: events with their gaps, prompts and answers,
// approvals.
//
// # An inherited descriptor
//
// Where no socket can be reached, a sandbox has a connected one as BRAINBOX_BRIDGE_FD. Two
// readers of one stream would steal each other's answers, so one process uses it at a time:
// the client holds a record lock on the socket itself (fcntl(2)), which ends with the
// process, waits up to [Options.Wait] for another one's, and then fails with [InUseError],
// which names that process. It makes the descriptor close-on-exec. After a process that
// ended within a call the stream is taken up again at the next line: ids begin with a name
// that is new for every connection, and what has another one is dropped.
//
// # Limits
//
// Linux only. A client links no package net, no HTTP, no gate and no parser of shell texts;
// a test reads what it links. A call is not made again, whatever its result. What the host
// calls denied, failed, unavailable or timed out is a result and no error.
//
// The record lock is of a process, so a process must not open one descriptor twice by
// another way; and a process of another kind that reads the descriptor without the lock
// breaks the stream for all. A host that never reads ends a connection after ten seconds.
package client
