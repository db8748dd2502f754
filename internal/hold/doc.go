// Package hold is how the one who asks on a terminal has the program that shares it held
// still: between brainbox-host, which asks, and brainbox, which runs the program. They have a
// socket pair (SOCK_SEQPACKET), of which each message is a few words:
//
//	host               brainbox
//	hold 7         →                the program and what copies its output are to stand still
//	               ←  held 7        they do
//	               ←  failed 7 …    they cannot be made to, and go on; the rest is why
//	               ←  lost 7        they do no more: the prompt has to be shown anew
//	release 7      →                they may go on; no answer
//	owns 4711      →                is this process group the program's?
//	               ←  yes 4711, no 4711
//
// The numbers of holds rise. The end of the host's side releases; the end of brainbox's side
// is the end of the program's terminal, and nothing can be held any more.
//
// [Client] is the host's side, and a Program for package gate/tty. [Serve] is brainbox's;
// what holds is package supervise's.
//
// # Limits
//
// Both ends are the operator's own processes and the socket pair is close-on-exec: a message
// that is not understood ends the service and releases, and no more is done against it.
package hold
