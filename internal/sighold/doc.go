// Package sighold takes note of signals without os/signal, and passes them on.
//
// os/signal costs three threads, and each signal two switches between them, to take it and
// to give it back: more than a fork, and a tenth of a short run. Blocking the signal does
// not help: other threads of the runtime have it unblocked, and a child would inherit the
// mask. The handler here sets a bit and writes to an eventfd(2), which one goroutine reads.
//
//	held, err := sighold.Hold(unix.SIGTERM, unix.SIGINT)
//	// fork
//	for _, sig := range held.Came() {
//		send(sig)
//	}
//	held.Pass(send)
//	// wait for the end
//	held.Release()
//
// # Limits
//
// A signal that comes twice before it is told is told once, and several are told in no
// order. Only amd64 and arm64.
package sighold
