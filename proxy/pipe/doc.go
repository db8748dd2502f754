// Package pipe takes connections, and copies between two of them, both ways, until both ways
// have ended.
//
//	sent, received := pipe.Both(ctx, program, origin)
//
// Between two TCP connections the bytes do not pass through this process: package net uses
// splice(2). The end of one way is passed on as such (shutdown(2) with SHUT_WR), so that who
// says "that was all" still gets the answer; a reset is passed on as a reset.
//
// # Limits
//
// Nothing here ends a connection that is only idle, nor one of which one way has ended and
// the other goes on: that is for the context, and for whoever bounds the number.
package pipe
